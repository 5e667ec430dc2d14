import type { TaskStatus, TriggerRule } from '@duly/domain'
import type { AskedWorkflow } from '../load/graphs.js'
import type { PlannedNode } from '../load/plans.js'
import type { Standing } from './graph-rules.js'
import type { TaskHistory } from './history.js'
import type { StoredNode, WorkflowHistory } from './workflow-history.js'

/** A time of a node in which it was open, from its making or a retry to its end. */
export interface Life {
  /** The run of its workflow, from 1: a retry begins the next one. */
  readonly run: number
  /** The first run in which it was opened again since; infinite: never. */
  readonly until: number
  /** When it was opened, and when it ended, epoch ms. */
  readonly openedAt: number
  readonly endedAt: number
  readonly status: TaskStatus
  readonly reason: string | null
  /** Its attempts; none: the last is lower than the first. */
  readonly attempts: { readonly first: number; readonly last: number }
  /** It waited for others when it ended. */
  readonly wasBlocked: boolean
}

/** A node as it was asked for, with all that became of it. */
export interface NodeLives {
  readonly name: string
  readonly rule: TriggerRule
  readonly parents: readonly string[]
  /** It is to start before this instant; null: whenever. */
  readonly expiresAt: number | null
  readonly task: TaskHistory
  readonly lives: readonly Life[]
}

/** A workflow whose nodes are all there and have ended. */
export interface PlayedWorkflow {
  readonly workflow: WorkflowHistory
  readonly asked: AskedWorkflow
  readonly nodes: ReadonlyMap<string, NodeLives>
  /** How many runs it had by what its nodes tell. */
  readonly runs: number
  /** When each run but the first began: by a retry, or by the replay of a node. */
  readonly openings: readonly number[]
}

const TERMINAL: ReadonlySet<TaskStatus> = new Set(['SUCCEEDED', 'FAILED', 'DEAD', 'CANCELLED'])

/** What was asked for of a workflow, with what its tasks add, by name; what is added without dependencies waits for who adds it. */
export function askedNodes({ nodes }: AskedWorkflow): ReadonlyMap<string, PlannedNode & { readonly adder?: string }> {
  const added = nodes.flatMap(({ name, payload }) =>
    (payload.adds ?? []).map((each) => ({
      ...each,
      after: each.after.length === 0 ? [name] : each.after,
      adder: name,
    })),
  )
  return new Map([...nodes, ...added].map((each) => [each.name, each]))
}

/** Null: a node is not there or has not ended, so that nothing can be said of the rest. */
export function playedOf(
  workflow: WorkflowHistory,
  asked: AskedWorkflow,
  tasks: ReadonlyMap<string, TaskHistory>,
): PlayedWorkflow | null {
  const planned = askedNodes(asked)
  const found = workflow.nodes.flatMap((stored): [StoredNode, TaskHistory, PlannedNode][] => {
    const [task, plan] = [tasks.get(stored.id), planned.get(stored.name)]
    return task && plan && !task.isOpen && task.status !== null ? [[stored, task, plan]] : []
  })
  if (found.length !== workflow.nodes.length) return null
  const retries = [...new Set(found.flatMap(([, { pastRuns }]) => pastRuns.map(({ archivedAt }) => archivedAt)))]
  const boundaries = retries.sort((a, b) => a - b)
  const nodes = found.map(([{ name }, task, { rule, after, expiresAt = null }]): [string, NodeLives] => [
    name,
    { name, rule, parents: after, expiresAt, task, lives: livesOf(task, boundaries) },
  ])
  return { workflow, asked, nodes: new Map(nodes), runs: boundaries.length + 1, openings: boundaries }
}

function livesOf(task: TaskHistory, boundaries: readonly number[]): Life[] {
  // a success leaves no event, and nothing follows it
  const ends = task.events.filter(({ to, transition }) => TERMINAL.has(to) && transition !== 'discard')
  const current = { status: task.status as TaskStatus, reason: task.reason, attempt: task.attempt }
  const runOf = (openedAt: number, isFirst: boolean): number =>
    isFirst ? boundaries.filter((at) => at < openedAt).length + 1 : boundaries.indexOf(openedAt) + 2
  return [...task.pastRuns, current].map(({ status, reason, attempt }, place): Life => {
    const [before, archived] = [task.pastRuns[place - 1], task.pastRuns[place]]
    const openedAt = before?.archivedAt ?? task.createdAt
    const endedAt = archived ? Math.min(archived.completedAt, archived.archivedAt) : (task.completedAt ?? openedAt)
    return {
      ...{ openedAt, endedAt, status, reason },
      run: runOf(openedAt, before === undefined),
      until: archived ? runOf(archived.archivedAt, false) : Number.POSITIVE_INFINITY,
      attempts: { first: (before?.attempt ?? 0) + 1, last: attempt },
      wasBlocked: ends[place]?.from === 'BLOCKED',
    }
  })
}

/** The life of a node that stands at the end of a run; undefined: it was added later. */
export function lifeIn({ lives }: NodeLives, run: number): Life | undefined {
  return lives.findLast((life) => life.run <= run)
}

/** How an ended life stands for those that wait for it. */
export function standingOf(life: Life | undefined): Standing {
  if (life === undefined) return 'open'
  if (life.status === 'SUCCEEDED') return 'succeeded'
  return life.status === 'CANCELLED' && life.reason === 'skipped' ? 'skipped' : 'failed'
}

/** The ends of others decided about it, before it was to run. */
export function wasJudgedAway({ status, reason }: Life): boolean {
  return (status === 'CANCELLED' && reason === 'skipped') || (status === 'FAILED' && reason === 'dependency')
}

/** It had an attempt. */
export const hasRun = ({ attempts: { first, last } }: Life): boolean => last >= first

/** When its attempts were given out, by the store. */
export function startsOf({ task }: NodeLives): ReadonlyMap<number, number> {
  const given = [...task.attempts, { attempt: task.attempt, startedAt: task.startedAt }]
  return new Map(given.flatMap(({ attempt, startedAt }) => (startedAt === null ? [] : [[attempt, startedAt] as const])))
}
