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
  /** When it was opened, epoch ms. */
  readonly openedAt: number
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
  const nodes = found.map(([{ name }, task, { rule, after }]): [string, NodeLives] => [
    name,
    { name, rule, parents: after, task, lives: livesOf(task, boundaries) },
  ])
  return { workflow, asked, nodes: new Map(nodes), runs: boundaries.length + 1 }
}

function livesOf(task: TaskHistory, boundaries: readonly number[]): Life[] {
  // a success leaves no event, and nothing follows it
  const ends = task.events.filter(({ to, transition }) => TERMINAL.has(to) && transition !== 'discard')
  const current = { status: task.status as TaskStatus, reason: task.reason, attempt: task.attempt }
  return [...task.pastRuns, current].map(({ status, reason, attempt }, place): Life => {
    const before = task.pastRuns[place - 1]
    const openedAt = before?.archivedAt ?? task.createdAt
    return {
      ...{ openedAt, status, reason },
      run: before ? boundaries.indexOf(openedAt) + 2 : boundaries.filter((at) => at < openedAt).length + 1,
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

/** How the dependencies of a node stand at the end of a run. */
export function parentsIn(played: PlayedWorkflow, { parents }: NodeLives, run: number): Standing[] {
  return parents.map((name) => {
    const parent = played.nodes.get(name)
    return parent ? standingOf(lifeIn(parent, run)) : 'open'
  })
}
