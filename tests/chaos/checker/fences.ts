import type { Finding } from './finding.js'
import { groupBy } from './group-by.js'
import type { HandlerRecord } from './handler-log.js'
import type { TaskHistory } from './history.js'

/**
 * Point 2: leases of one task never overlap, attempts only grow, no attempt starts twice, and the outcome that stands is the
 * one of the last lease, with the result which that attempt's handler returned.
 */
export function checkFences(
  handlerLog: readonly HandlerRecord[],
  history: readonly TaskHistory[],
  paused: ReadonlySet<number> = new Set(),
): Finding[] {
  const byTask = groupBy(handlerLog, ({ id }) => id)
  const known = new Set(history.map(({ id }) => id))
  const strangers = [...byTask.keys()].filter((id) => !known.has(id))
  return [
    ...strangers.map((id) => finding('a handler ran a task that the store does not have', id, '')),
    ...history.flatMap((task) => {
      const records = byTask.get(task.id) ?? []
      return [...checkStarts(task, records, paused), ...checkLeases(task), ...checkSuccess(task, records)]
    }),
  ]
}

/**
 * A frozen worker may wake between the grant and the start, and start what another one has long done: that is out of order
 * and harmless, its report is refused. Any other worker must not.
 */
function checkStarts(task: TaskHistory, records: readonly HandlerRecord[], paused: ReadonlySet<number>): Finding[] {
  const findings: Finding[] = []
  let last: HandlerRecord | undefined
  for (const start of records.filter(({ event }) => event === 'start').sort((a, b) => a.at - b.at)) {
    const { attempt } = start.lease
    const what = `attempt ${attempt} in process ${start.pid}`
    if (attempt > task.attempt)
      findings.push(finding('a handler ran an attempt that the store does not know', task.id, what))
    if (last && attempt === last.lease.attempt)
      findings.push(finding('an attempt started twice', task.id, `${what} and in ${last.pid}`))
    if (last && attempt < last.lease.attempt && !paused.has(start.pid)) {
      findings.push(finding('attempts went back', task.id, `${what} started after attempt ${last.lease.attempt}`))
    }
    last = start
  }
  return findings
}

/** The store's own intervals, from when a lease was given to when it ended. */
function checkLeases(task: TaskHistory): Finding[] {
  const ended = task.attempts.map(({ attempt, startedAt, endedAt }) => ({ attempt, startedAt, endedAt }))
  const isLastRecorded = ended.at(-1)?.attempt === task.attempt
  const current = {
    attempt: task.attempt,
    startedAt: task.startedAt,
    endedAt: task.completedAt ?? Number.POSITIVE_INFINITY,
  }
  const leases = isLastRecorded || task.startedAt === null ? ended : [...ended, current]
  return leases.flatMap(({ attempt, startedAt }, index) => {
    const before = leases[index - 1]
    if (!before || startedAt === null || before.endedAt <= startedAt) return []
    const overlap = (before.endedAt - startedAt).toFixed(1)
    return [
      finding(
        'leases overlap',
        task.id,
        `attempt ${attempt} began ${overlap} ms before attempt ${before.attempt} ended`,
      ),
    ]
  })
}

function checkSuccess(task: TaskHistory, records: readonly HandlerRecord[]): Finding[] {
  if (task.status !== 'SUCCEEDED') return []
  const own = records.filter(({ lease }) => lease.attempt === task.attempt)
  const findings: Finding[] = []
  const isReturned = own.some(({ event, left }) => event === 'end' && left === 'returned')
  if (!isReturned) findings.push(finding('a success that no handler returned', task.id, `attempt ${task.attempt}`))
  const foreign = own.find(({ lease }) => lease.token !== task.token)
  if (foreign)
    findings.push(
      finding(
        'a success under a foreign lease',
        task.id,
        `attempt ${task.attempt}: ${task.token} stands, ${foreign.lease.token} ran`,
      ),
    )
  const result: { attempt?: number } | null = JSON.parse(task.result ?? 'null')
  if (result?.attempt !== task.attempt) {
    findings.push(
      finding(
        'the result is not of the last attempt',
        task.id,
        `attempt ${task.attempt} ended it, the result is ${task.result}`,
      ),
    )
  }
  return findings
}

function finding(rule: string, subject: string, detail: string): Finding {
  return { point: 2, rule, subject, detail }
}
