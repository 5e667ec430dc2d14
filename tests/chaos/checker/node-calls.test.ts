import { encodeId } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import { launchMark } from '../load/plans.js'
import type { BulkCall, Call, QueueCall, TaskCall } from './client-log.js'
import { checkDeadLetters } from './dead-letters.js'
import { checkEdits } from './edits.js'
import type { Finding } from './finding.js'
import type { HandlerRecord } from './handler-log.js'
import type { TaskHistory } from './history.js'
import { launchesOf } from './launches.js'
import { checkStops } from './stops.js'
import { aTask } from './testing/a-task.js'
import { idOf } from './testing/graph-run.js'

const [EDITED, DISCARDED, RETRIED, CANCELLED, SWEPT, PAUSED] = [idOf(1), idOf(2), idOf(3), idOf(4), idOf(5), idOf(6)]
const WORKFLOW = idOf(9)
const LONG_AGO = -100_000

interface Run {
  calls: Call[]
  handlerLog: HandlerRecord[]
  history: TaskHistory[]
}

const answered = { outcome: 'ok', status: 200, code: null } as const

function call(verb: TaskCall['verb'], id: string, over: Partial<TaskCall> = {}): TaskCall {
  return { ...answered, verb, id, startedAt: 1, endedAt: 2, observed: null, completedAt: null, ...over }
}

function bulk(over: Partial<BulkCall>): BulkCall {
  const base = { ...answered, verb: 'bulk', action: 'cancel', workflow: WORKFLOW, startedAt: 20, endedAt: 21 } as const
  return { ...base, doneAt: 30, ...over }
}

const turn = (verb: QueueCall['verb'], at: number, over: Partial<QueueCall> = {}): QueueCall => ({
  ...{ ...answered, verb, queue: 'side', startedAt: at, endedAt: at + 1 },
  ...over,
})

const start = (id: string, edit?: number): HandlerRecord => ({
  ...{ event: 'start', at: 10, pid: 7, id, mark: '', lease: { attempt: 1, token: 5n } },
  ...(edit === undefined ? {} : { edit }),
})

/** Tasks that were edited, discarded, retried with all dead letters, cancelled and held up as they were to be. */
function keptPromises(): Run {
  const discard = [{ transition: 'discard', from: 'DEAD', to: 'DEAD' }] as const
  const ran = { status: 'CANCELLED', startedAt: 9, completedAt: 40 } as const
  return {
    calls: [
      call('edit', EDITED, { change: { edit: 1, priority: 'high' } }),
      call('edit', EDITED, { startedAt: 3, endedAt: 4, change: { edit: 2, queue: 'side' } }),
      call('edit', EDITED, { startedAt: 3, endedAt: 4, outcome: 'fail', status: 409, change: { edit: 3 } }),
      call('discard', DISCARDED),
      bulk({ action: 'retry', workflow: null, startedAt: LONG_AGO, endedAt: LONG_AGO + 1, doneAt: LONG_AGO + 2 }),
      call('cancel', CANCELLED, { startedAt: 12, endedAt: 13 }),
      bulk({ startedAt: 20, endedAt: 21 }),
      ...[turn('pause', 2), turn('resume', 8), turn('pause', 100), turn('resume', 200)],
    ],
    handlerLog: [start(EDITED, 2)],
    history: [
      aTask(EDITED, { edit: 2, priority: 1, queue: 'side' }),
      aTask(DISCARDED, { status: 'DEAD', discardedAt: 50, events: discard }),
      aTask(RETRIED, { status: 'DEAD' }),
      aTask(CANCELLED, ran),
      aTask(SWEPT, { ...ran, workflowId: WORKFLOW, createdAt: LONG_AGO }),
      aTask(PAUSED, { queue: 'side' }),
    ],
  }
}

function findingsOf({ calls, handlerLog, history }: Run): Finding[] {
  return [
    ...checkEdits(calls, handlerLog, history),
    ...checkDeadLetters(calls, history, () => true),
    ...checkStops(calls, history),
  ]
}

function change(run: Run, id: string, over: Partial<TaskHistory>): void {
  run.history = run.history.map((each) => (each.id === id ? { ...each, ...over } : each))
}
const without = (run: Run, verb: Call['verb']): void => {
  run.calls = run.calls.filter((each) => each.verb !== verb)
}

const broken: readonly (readonly [string, (run: Run) => unknown])[] = [
  ['an accepted edit was lost', (run) => change(run, EDITED, { edit: 1 })],
  ['an accepted edit was lost', (run) => change(run, EDITED, { edit: null })],
  ['an accepted edit was lost', (run) => change(run, EDITED, { priority: 2 })],
  ['an accepted edit was lost', (run) => change(run, EDITED, { queue: 'chaos' })],
  ['an edit that nobody made', (run) => change(run, CANCELLED, { edit: 7 })],
  ['ran with a payload that nobody wrote', (run) => run.handlerLog.push(start(EDITED, 3))],
  ['ran with a payload that had been replaced', (run) => run.handlerLog.push(start(EDITED, 1))],
  ['ran with a payload that had been replaced', (run) => run.handlerLog.push(start(EDITED))],
  ['discarded, though nobody asked', (run) => without(run, 'discard')],
  ['an accepted discard was lost', (run) => change(run, DISCARDED, { discardedAt: null })],
  [
    'what was discarded was run again',
    (run) =>
      change(run, DISCARDED, {
        events: [
          { transition: 'discard', from: 'DEAD', to: 'DEAD' },
          { transition: 'replay', from: 'DEAD', to: 'PENDING' },
        ],
      }),
  ],
  ['a retry of all dead letters left one', (run) => change(run, RETRIED, { completedAt: 2 * LONG_AGO })],
  ['started after it was cancelled', (run) => change(run, CANCELLED, { startedAt: 16 })],
  ['started after it was cancelled', (run) => change(run, SWEPT, { startedAt: 33 })],
  ['started from a queue that was paused', (run) => change(run, PAUSED, { startedAt: 150 })],
  [
    'started from a queue that was paused',
    (run) =>
      change(run, PAUSED, {
        attempts: [{ attempt: 1, outcome: 'failed', startedAt: 150, endedAt: 160 }],
        ...{ attempt: 2, startedAt: 300 },
      }),
  ],
]

test('runs in which every promise was kept have no findings', () => {
  expect(findingsOf(keptPromises())).toEqual([])
})

describe('a broken promise is told', () => {
  test.each(broken)('%s', (rule, breakIt) => {
    const run = keptPromises()
    breakIt(run)
    expect(findingsOf(run)).toContainEqual(expect.objectContaining({ point: 3, rule }))
  })
})

test('what may have been run again, moved, or is to go on by a call without an answer is told of nobody', () => {
  const run = keptPromises()
  const past = [{ status: 'CANCELLED', reason: null, attempt: 1, completedAt: 14, archivedAt: 15 }] as const
  change(run, CANCELLED, { startedAt: 16, pastRuns: past })
  change(run, PAUSED, { startedAt: 150 })
  run.calls.push(turn('resume', 90, { outcome: 'unknown', status: null }))
  expect(findingsOf(run)).toEqual([])
})

test('a task that has run launched its workflow; one that succeeded says which', () => {
  const graph = { failurePolicy: 'fail_fast', nodes: [] } as const
  const launched = { plan: 'launch', result: JSON.stringify({ attempt: 1, launched: encodeId('wf', WORKFLOW) }) }
  const history = [
    aTask(EDITED, launched),
    aTask(DISCARDED, { plan: 'launch', status: 'RUNNING', isOpen: true, result: null }),
    aTask(RETRIED, { plan: 'launch', attempt: 0 }),
    aTask(PAUSED),
  ]
  const mark = (id: string) => launchMark(encodeId('task', id))
  expect(launchesOf(history, graph)).toMatchObject([
    { outcome: 'ok', id: WORKFLOW, asked: { mark: mark(EDITED), failurePolicy: 'fail_fast' } },
    { outcome: 'unknown', id: null, asked: { mark: mark(DISCARDED) } },
  ])
  expect(launchesOf(history, undefined)).toEqual([])
})
