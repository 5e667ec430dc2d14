import type { TaskStatus, TriggerRule } from '@duly/domain'
import type { AskedWorkflow } from '../../load/graphs.js'
import type { PlannedNode } from '../../load/plans.js'
import type { Call } from '../client-log.js'
import type { HandlerRecord } from '../handler-log.js'
import type { EventHistory, TaskHistory } from '../history.js'
import type { StoredNode, WorkflowHistory } from '../workflow-history.js'
import type { WorkflowCall, WorkflowLook, WorkflowSubmission } from '../workflow-log.js'

/** Evidence that a test may doctor. */
export interface GraphRun {
  workflowLog: WorkflowCall[]
  clientLog: Call[]
  handlerLog: HandlerRecord[]
  history: TaskHistory[]
  workflows: WorkflowHistory[]
}

export const idOf = (n: number): string => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`

/** How a task came to its end, in short: `CANCELLED skipped`, `FAILED`; `!` behind it: while it waited for others. */
type End = string

interface Spec {
  readonly after?: readonly string[]
  readonly rule?: TriggerRule
  /** Its ends; each but the last was taken back by the retry of that number. */
  readonly ends: readonly End[]
  readonly adds?: readonly string[]
}

const base = { outcome: 'ok', status: 200, code: null } as const
/** Retries come at these instants, in between all ends of a run. */
const retriedAt = (retry: number): number => 1_000 * retry
export const digestOf = (name: string): string => `digest of ${name}`

export function look(verb: WorkflowLook['verb'], id: string, over: Partial<WorkflowLook> = {}): WorkflowLook {
  const at = { startedAt: 500, endedAt: 501 }
  return { ...base, ...at, verb, id, observed: null, completedAt: null, isStopping: false, ...over }
}

export function submission(asked: AskedWorkflow, over: Partial<WorkflowSubmission> = {}): WorkflowSubmission {
  return { ...base, verb: 'submit', startedAt: 0, endedAt: 1, asked, id: null, ...over }
}

/**
 * One workflow that kept all promises, by its nodes in the order of their turns: each attempt starts 10 ms after the one before and takes 5.
 */
export function playedWorkflow(
  number: number,
  over: Partial<WorkflowHistory> & Pick<WorkflowHistory, 'status'>,
  specs: Readonly<Record<string, Spec>>,
): GraphRun {
  const names = Object.keys(specs)
  const taskId = (name: string): string => idOf(100 * number + names.indexOf(name) + 1)
  const adderOf = (name: string) => names.find((each) => specs[each]?.adds?.includes(name)) ?? null
  const planned = (name: string): PlannedNode => {
    const { after = [], rule = 'all_succeeded', adds = [] } = specs[name] as Spec
    const payload = { mark: `w${number}/${name}`, plan: adds.length > 0 ? 'grow' : 'succeed' } as const
    return { name, rule, after, payload: { ...payload, ...(adds.length > 0 ? { adds: adds.map(planned) } : {}) } }
  }
  const stored = (name: string): StoredNode => {
    const { after = [], rule = 'all_succeeded' } = specs[name] as Spec
    return { id: taskId(name), name, rule, parents: after, addedBy: adderOf(name) }
  }
  const failurePolicy = over.failurePolicy ?? 'fail_dependents'
  const asked = { mark: `w${number}`, key: null, failurePolicy, nodes: names.filter((n) => !adderOf(n)).map(planned) }
  const id = idOf(number)
  const retries = Math.max(...Object.values(specs).map(({ ends }) => ends.length)) - 1
  const tasks = names.map((name, place) =>
    taskOf(taskId(name), specs[name] as Spec, { mark: `w${number}/${name}`, place, workflowId: id }),
  )
  const isIn = { id, mark: asked.mark, failurePolicy, run: retries + 1, isCancelRequested: false }
  return {
    workflowLog: [submission(asked, { id })],
    clientLog: [],
    handlerLog: names.flatMap((name, place) => recordsOf(tasks[place] as TaskHistory, specs, name)),
    history: tasks,
    workflows: [{ ...isIn, nodes: names.map(stored), ...over }],
  }
}

interface Place {
  readonly mark: string
  readonly place: number
  readonly workflowId: string
}

const statusOf = (end: End): TaskStatus => end.replace('!', '').split(' ')[0] as TaskStatus
const reasonOf = (end: End): string | null => end.replace('!', '').split(' ')[1] ?? null
const hasRun = (end: End): boolean => reasonOf(end) === null || reasonOf(end) === 'cancel_requested'
/** When an attempt began that runs in the life of that number. */
const startOf = (place: number, life: number): number => retriedAt(life) + 10 * (place + 1)

function taskOf(id: string, { ends }: Spec, { mark, place, workflowId }: Place): TaskHistory {
  const attemptsAfter = ends.map((_, life) => ends.slice(0, life + 1).filter(hasRun).length)
  const last = ends.at(-1) as End
  const life = ends.length - 1
  const attempt = attemptsAfter.at(-1) ?? 0
  const isSuccess = statusOf(last) === 'SUCCEEDED'
  return {
    ...{ id, mark, plan: 'succeed', maxRetries: 3, idempotencyKey: null, cronId: null, workflowId, createdAt: 0 },
    ...{ status: statusOf(last), isOpen: false, attempt, run: ends.length, failures: 0, crashes: 0, token: 5n },
    startedAt: hasRun(last) ? startOf(place, life) : null,
    completedAt: startOf(place, life) + 5,
    ...{ queue: 'chaos', priority: 2, edit: null, discardedAt: null },
    ...{ reason: reasonOf(last), result: isSuccess ? `{"attempt":${attempt}}` : null, error: null },
    attempts: ends.flatMap((end, at) =>
      hasRun(end) && statusOf(end) !== 'SUCCEEDED'
        ? [
            {
              ...{ attempt: attemptsAfter[at] as number, outcome: 'failed' },
              ...{ startedAt: startOf(place, at), endedAt: startOf(place, at) + 5 },
            },
          ]
        : [],
    ),
    events: ends.flatMap((end, at) => [...endEvent(end), ...(at < life ? [replayOf(end)] : [])]),
    pastRuns: ends.slice(0, -1).map((end, at) => ({
      ...{ status: statusOf(end), reason: reasonOf(end), attempt: attemptsAfter[at] as number },
      completedAt: startOf(place, at) + 5,
      archivedAt: retriedAt(at + 1),
    })),
  }
}

function endEvent(end: End): EventHistory[] {
  if (statusOf(end) === 'SUCCEEDED') return []
  const from = end.endsWith('!') ? 'BLOCKED' : hasRun(end) ? 'RUNNING' : 'PENDING'
  return [{ transition: statusOf(end) === 'CANCELLED' ? 'cancel' : 'fail', from, to: statusOf(end) }]
}

const replayOf = (end: End): EventHistory => ({ transition: 'replay', from: statusOf(end), to: 'PENDING' })

/** What the handlers of a node wrote: each was told how its dependencies stood in that run, and given what they returned. */
function recordsOf(task: TaskHistory, specs: Readonly<Record<string, Spec>>, name: string): HandlerRecord[] {
  const { ends, after = [] } = specs[name] as Spec
  let attempt = 0
  return ends.flatMap((end, life): HandlerRecord[] => {
    if (!hasRun(end)) return []
    attempt += 1
    const at = startOf(Object.keys(specs).indexOf(name), life)
    const statuses = Object.fromEntries(after.map((parent) => [parent, statusOf(endIn(specs[parent] as Spec, life))]))
    const succeeded = after.filter((parent) => statuses[parent] === 'SUCCEEDED')
    const line = { pid: 7, id: task.id, mark: task.mark ?? '', lease: { attempt, token: 5n } }
    return [
      { ...line, event: 'start', at, statuses },
      { ...line, event: 'given', at, results: Object.fromEntries(succeeded.map((each) => [each, digestOf(each)])) },
      ...(statusOf(end) === 'SUCCEEDED'
        ? [{ ...line, event: 'end', at: at + 5, left: 'returned', digest: digestOf(name) } as const]
        : []),
    ]
  })
}

/** How a node stood in the run of that number from 0; the test's graphs open each node at the first retries alone. */
const endIn = ({ ends }: Spec, life: number): End => ends[Math.min(life, ends.length - 1)] as End
