import { isAllowed, type TaskStatus } from '@duly/domain'
import type { Call, TaskCall } from './client-log.js'
import { isOfTask } from './client-log.js'
import type { Finding } from './finding.js'
import { groupBy } from './group-by.js'
import type { HandlerRecord } from './handler-log.js'
import type { TaskHistory } from './history.js'
import { ROUNDING_MS, TURN_MS } from './instants.js'

const TERMINAL: ReadonlySet<TaskStatus> = new Set(['SUCCEEDED', 'FAILED', 'DEAD', 'CANCELLED'])
/** A task that took its worker down this often is DEAD. */
const MAX_CRASHES = 3

export interface LifecycleInput {
  readonly calls: readonly Call[]
  readonly handlerLog: readonly HandlerRecord[]
  readonly history: readonly TaskHistory[]
}

/**
 * Point 3: every step is one of the lifecycle table, each run ends once and its end is never left but by a replay, and no
 * task failed, crashed or ran more often than it may.
 */
export function checkLifecycle({ calls, handlerLog, history }: LifecycleInput): Finding[] {
  const starts = groupBy(
    handlerLog.filter(({ event }) => event === 'start'),
    ({ id }) => id,
  )
  const seen = groupBy(calls.filter(isOfTask), ({ id }) => id)
  const hasOperations = calls.some(({ verb }) => verb === 'bulk')
  return history.flatMap((task) => [
    ...checkCounts(task, starts.get(task.id)?.length ?? 0),
    ...checkEvents(task),
    ...checkObservations(task, seen.get(task.id) ?? [], hasOperations),
  ])
}

function checkCounts(task: TaskHistory, starts: number): Finding[] {
  const findings: Finding[] = []
  const { id, failures, maxRetries, crashes, attempt } = task
  if (failures > maxRetries + 1)
    findings.push(finding('too many failures', id, `${failures} with max_retries ${maxRetries}`))
  if (crashes > MAX_CRASHES) findings.push(finding('too many crashes', id, `${crashes}, the limit is ${MAX_CRASHES}`))
  if (starts > attempt) findings.push(finding('more starts than attempts', id, `${starts} starts, ${attempt} attempts`))
  return findings
}

function checkEvents(task: TaskHistory): Finding[] {
  const findings = task.events
    .filter(({ transition, from, to }) => !isAllowed(transition, from, to))
    .map(({ transition, from, to }) =>
      finding('a step outside the lifecycle table', task.id, `${transition} from ${from} to ${to}`),
    )
  // A success leaves no event; it can't be replayed, so it is at most the last end.
  const ends = task.events.filter(({ to, transition }) => TERMINAL.has(to) && transition !== 'discard').length
  const endedNow = task.status !== null && TERMINAL.has(task.status) && task.status !== 'SUCCEEDED' ? 1 : 0
  const replays = task.events.filter(({ transition }) => transition === 'replay').length
  const archived = task.pastRuns.length
  if (replays !== archived) {
    findings.push(finding('replays and archived runs differ', task.id, `${replays} replays, ${archived} runs`))
  }
  if (ends !== replays + endedNow) {
    findings.push(
      finding('a run did not end exactly once', task.id, `${ends} ends with ${replays} replays, now ${task.status}`),
    )
  }
  return findings
}

const LOOKS: ReadonlySet<TaskCall['verb']> = new Set(['get', 'cancel'])

/**
 * A client that saw an end (by looking, or as the answer to its cancellation) never sees anything else afterwards, unless a
 * replay was asked for before its second look ended. What a retry of many or of a workflow opened is judged with that.
 */
function checkObservations(task: TaskHistory, calls: readonly TaskCall[], hasOperations: boolean): Finding[] {
  const looks = calls
    .filter(({ verb, outcome }) => LOOKS.has(verb) && outcome === 'ok')
    .sort((a, b) => a.endedAt - b.endedAt)
  const replays = calls.filter((call) => call.verb === 'replay' && call.outcome !== 'fail')
  const opened = hasOperations || task.workflowId !== null ? task.pastRuns.map(({ archivedAt }) => archivedAt) : []
  return looks.flatMap((second, index) => {
    const first = looks.slice(0, index).findLast(({ endedAt }) => endedAt <= second.startedAt)
    if (!first?.observed || !TERMINAL.has(first.observed)) return []
    const isSame = second.observed === first.observed && second.completedAt === first.completedAt
    const isReplayed = replays.some(({ startedAt, endedAt }) => startedAt < second.endedAt && endedAt > first.startedAt)
    const isOpened = opened.some((at) => at > first.startedAt - TURN_MS && at < second.endedAt + ROUNDING_MS)
    if (isSame || isReplayed || isOpened) return []
    return [
      finding(
        'an end was left again',
        second.id,
        `${first.observed} of ${first.completedAt} became ${second.observed}`,
      ),
    ]
  })
}

function finding(rule: string, subject: string, detail: string): Finding {
  return { point: 3, rule, subject, detail }
}
