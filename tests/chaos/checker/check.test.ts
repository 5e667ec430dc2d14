import { describe, expect, test } from 'vitest'
import { checkLogs } from './check.js'
import type { Call, SubmitCall, TaskCall } from './client-log.js'
import type { HandlerRecord } from './handler-log.js'
import type { AttemptHistory, EventHistory, TaskHistory } from './history.js'
import { aTask } from './testing/a-task.js'

/** A small run in which every promise was kept; each test breaks one thing in it and must be told so. */
interface Logs {
  clientLog: Call[]
  handlerLog: HandlerRecord[]
  history: TaskHistory[]
}

const GOOD = uuid(1)
const FLAKY = uuid(2)
const REPLAYED = uuid(3)
const CANCELLED = uuid(4)

function uuid(n: number): string {
  return `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`
}

function submit(mark: string, over: Partial<SubmitCall> = {}): SubmitCall {
  const ids = over.outcome === undefined || over.outcome === 'ok' ? [uuid(Number(mark.slice(1)))] : []
  const base = { verb: 'submit', outcome: 'ok', status: 202, code: null, startedAt: 0, endedAt: 1 } as const
  return { ...base, marks: [mark], keys: [null], ids, ...over }
}

function call(verb: TaskCall['verb'], id: string, over: Partial<TaskCall> = {}): TaskCall {
  const base = {
    outcome: 'ok',
    status: 200,
    code: null,
    startedAt: 100,
    endedAt: 101,
    observed: null,
    completedAt: null,
  }
  return { ...base, verb, id, ...over } as TaskCall
}

function ran(id: string, attempt: number, over: Partial<HandlerRecord> = {}): HandlerRecord[] {
  const base = { at: attempt * 10, pid: 7, id, mark: `m${id.at(-1)}`, lease: { attempt, token: 5n } }
  const end = { ...base, at: base.at + 5, left: 'returned', aborted: false } as const
  return [
    { ...base, event: 'start', ...over },
    { ...end, event: 'end', ...over },
  ]
}

function attempt(number: number, over: Partial<AttemptHistory> = {}): AttemptHistory {
  return { attempt: number, outcome: 'failed', startedAt: number * 10 - 1, endedAt: number * 10 + 6, ...over }
}

function event(
  transition: EventHistory['transition'],
  from: EventHistory['from'],
  to: EventHistory['to'],
): EventHistory {
  return { transition, from, to }
}

const task = (n: number, over: Partial<TaskHistory> = {}): TaskHistory => aTask(uuid(n), over)

function keptPromises(): Logs {
  const flaky = { attempt: 2, failures: 1, result: '{"attempt":2}', startedAt: 19, completedAt: 26 }
  const died = [
    event('exhaust', 'RUNNING', 'DEAD'),
    event('replay', 'DEAD', 'PENDING'),
    event('exhaust', 'RUNNING', 'DEAD'),
  ]
  const doomed = {
    plan: 'doomed',
    status: 'DEAD',
    maxRetries: 0,
    failures: 1,
    attempt: 2,
    run: 2,
    pastRuns: [{ status: 'DEAD', reason: null, attempt: 1, completedAt: 16, archivedAt: 17 }],
  } as const
  return {
    clientLog: [
      submit('m1'),
      submit('m1', { startedAt: 2, endedAt: 3, status: 200 }),
      submit('m2', { outcome: 'unknown', status: null, code: 'ECONNRESET' }),
      submit('m3'),
      submit('m4'),
      submit('m5', { outcome: 'fail', status: 503, code: 'store_unavailable' }),
      call('get', GOOD, { observed: 'SUCCEEDED', completedAt: 'a' }),
      call('get', REPLAYED, { observed: 'DEAD', completedAt: 'a' }),
      call('replay', REPLAYED, { startedAt: 110, endedAt: 111 }),
      call('get', REPLAYED, { observed: 'RUNNING', startedAt: 120, endedAt: 121 }),
      call('cancel', CANCELLED),
    ],
    handlerLog: [
      ran(GOOD, 1),
      ran(FLAKY, 1, { left: 'threw' }),
      ran(FLAKY, 2),
      ran(REPLAYED, 1),
      ran(REPLAYED, 2),
    ].flat(),
    history: [
      task(1),
      task(2, { plan: 'flaky', ...flaky, attempts: [attempt(1)], events: [event('retry', 'RUNNING', 'RETRYING')] }),
      task(3, { ...doomed, attempts: [attempt(1), attempt(2)], events: died, startedAt: 19, completedAt: 26 }),
      task(4, { status: 'CANCELLED', attempt: 0, startedAt: null, events: [event('cancel', 'PENDING', 'CANCELLED')] }),
    ],
  }
}

function change(logs: Logs, id: string, over: Partial<TaskHistory>): void {
  logs.history = logs.history.map((each) => (each.id === id ? { ...each, ...over } : each))
}

test('a run in which every promise was kept has no findings', () => {
  expect(checkLogs(keptPromises())).toEqual([])
})

const broken: readonly (readonly [number, string, (logs: Logs) => void])[] = [
  [1, 'an accepted task is missing', (logs) => logs.history.shift()],
  [1, 'one submission was answered with two ids', (logs) => logs.clientLog.push(submit('m1', { ids: [FLAKY] }))],
  [1, 'one submission made several tasks', (logs) => logs.history.push(task(9, { mark: 'm1' }))],
  [1, 'one submission made several tasks', (logs) => logs.history.push(task(9, { mark: 'm2' }))],
  [1, 'a refused submission made a task', (logs) => logs.history.push(task(9, { mark: 'm5' }))],
  [1, 'a task that nobody submitted', (logs) => logs.history.push(task(9))],
  [1, 'a task never finished', (logs) => change(logs, GOOD, { isOpen: true, status: 'PENDING' })],
  [2, 'a handler ran a task that the store does not have', (logs) => logs.handlerLog.push(...ran(uuid(8), 1))],
  [2, 'a handler ran an attempt that the store does not know', (logs) => logs.handlerLog.push(...ran(GOOD, 2))],
  [2, 'an attempt started twice', (logs) => logs.handlerLog.push(...ran(GOOD, 1, { pid: 8, at: 12 }))],
  [2, 'attempts went back', (logs) => logs.handlerLog.push(...ran(FLAKY, 1, { at: 99 }))],
  [2, 'leases overlap', (logs) => change(logs, FLAKY, { attempts: [attempt(1, { endedAt: 20 })] })],
  [2, 'leases overlap', (logs) => change(logs, REPLAYED, { attempts: [attempt(1, { endedAt: 25 }), attempt(2)] })],
  [2, 'a success that no handler returned', (logs) => change(logs, FLAKY, { attempt: 3 })],
  [2, 'a success that no handler returned', (logs) => logs.handlerLog.splice(1, 1)],
  [2, 'a success under a foreign lease', (logs) => change(logs, GOOD, { token: 6n })],
  [2, 'the result is not of the last attempt', (logs) => change(logs, FLAKY, { result: '{"attempt":1}' })],
  [3, 'too many failures', (logs) => change(logs, FLAKY, { failures: 5 })],
  [3, 'too many crashes', (logs) => change(logs, FLAKY, { crashes: 4 })],
  [3, 'more starts than attempts', (logs) => logs.handlerLog.push(...ran(GOOD, 1, { at: 12 }))],
  [
    3,
    'a step outside the lifecycle table',
    (logs) => change(logs, GOOD, { events: [event('cancel', 'SUCCEEDED', 'CANCELLED')] }),
  ],
  [3, 'a run did not end exactly once', (logs) => change(logs, CANCELLED, { events: [] })],
  [3, 'a run did not end exactly once', (logs) => change(logs, GOOD, { events: [event('fail', 'RUNNING', 'FAILED')] })],
  [3, 'replays and archived runs differ', (logs) => change(logs, REPLAYED, { pastRuns: [] })],
  [
    3,
    'an end was left again',
    (logs) => logs.clientLog.push(call('get', GOOD, { observed: 'RUNNING', startedAt: 130 })),
  ],
  [
    3,
    'an end was left again',
    (logs) => logs.clientLog.push(call('get', GOOD, { observed: 'SUCCEEDED', startedAt: 130, completedAt: 'b' })),
  ],
  [3, 'an end was left again', (logs) => logs.clientLog.splice(8, 1)],
  [
    3,
    'an end was left again',
    (logs) => logs.clientLog.push(call('cancel', GOOD, { observed: 'CANCELLED', startedAt: 130 })),
  ],
  [3, 'cancelled, though nobody asked', (logs) => logs.clientLog.pop()],
  [3, 'not the end that its plan has', (logs) => change(logs, GOOD, { plan: 'permanent' })],
  [3, 'dead without its retries used up', (logs) => change(logs, REPLAYED, { maxRetries: 1 })],
]

test('a worker that was frozen between grant and start may start late', () => {
  const logs = keptPromises()
  logs.handlerLog = logs.handlerLog.map((each) =>
    each.id === FLAKY && each.lease.attempt === 1 ? { ...each, pid: 8, at: each.at + 50 } : each,
  )
  expect(checkLogs(logs)).toContainEqual(expect.objectContaining({ rule: 'attempts went back' }))
  expect(checkLogs({ ...logs, paused: new Set([8]) })).toEqual([])
})

test('what a recurring task made was submitted by nobody, and is cancelled by its next one only', () => {
  const logs = keptPromises()
  const end = { status: 'CANCELLED', attempt: 0, startedAt: null, result: null } as const
  const events = [event('cancel', 'PENDING', 'CANCELLED')]
  const made = task(9, { mark: 'every second', cronId: uuid(100), ...end, events, reason: 'overlap' })
  logs.history.push(made)
  expect(checkLogs(logs)).toEqual([])
  change(logs, made.id, { reason: 'cancelled' })
  expect(checkLogs(logs)).toMatchObject([{ rule: 'cancelled, though nobody asked' }])
})

describe('a broken promise is told', () => {
  test.each(broken)('(%i) %s', (point, rule, breakIt) => {
    const logs = keptPromises()
    breakIt(logs)
    expect(checkLogs(logs)).toContainEqual(expect.objectContaining({ point, rule }))
  })
})
