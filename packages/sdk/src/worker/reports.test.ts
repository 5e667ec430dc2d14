import { expect, it } from 'vitest'
import { type Outcome, reportedError } from './outcome.js'
import { Reports, reportOf } from './reports.js'

const ok = (n: number, result = 'null') => reportOf(`task-${n}`, `lease-${n}`, { kind: 'succeeded', result })
const ids = (load: readonly { taskId: string }[]) => load.map(({ taskId }) => taskId)

it('writes each outcome as the wire wants it', () => {
  const failed: Outcome = {
    kind: 'failed',
    error: { class: 'E', message: '"quoted"', stack: null },
    isRetryable: true,
    retryAfterMs: 1_500,
    isTimedOut: true,
  }
  const texts = [
    { kind: 'succeeded', result: '{"a":1}' },
    failed,
    { kind: 'snoozed', delayMs: 500 },
    { kind: 'released' },
  ]
  expect(texts.map((outcome) => JSON.parse(reportOf('t', 'l', outcome as Outcome).text))).toEqual([
    { task_id: 't', lease: 'l', outcome: 'succeeded', result: { a: 1 } },
    {
      task_id: 't',
      lease: 'l',
      outcome: 'failed',
      error: { class: 'E', message: '"quoted"', retryable: true, timed_out: true },
      retry_after_seconds: 1.5,
    },
    { task_id: 't', lease: 'l', outcome: 'snoozed', delay_seconds: 0.5 },
    { task_id: 't', lease: 'l', outcome: 'released' },
  ])
})

it('loads at most 500 reports, and about a million characters', () => {
  const many = new Reports()
  for (let n = 0; n < 700; n += 1) many.add(ok(n))
  expect(many.take()).toHaveLength(500)
  expect(many.take()).toHaveLength(200)
  const large = new Reports()
  for (let n = 0; n < 3; n += 1) large.add(ok(n, JSON.stringify('x'.repeat(600_000))))
  expect([large.take().length, large.take().length, large.take().length]).toEqual([1, 1, 1])
})

it('keeps what may not have arrived, before what came later', () => {
  const reports = new Reports()
  reports.add(ok(1))
  const load = reports.take()
  reports.add(ok(2))
  reports.putBack(load)
  expect(ids(reports.take())).toEqual(['task-1', 'task-2'])
  expect(reports.unsettled).toBe(2)
})

it('tells when nothing is unsettled', async () => {
  const reports = new Reports()
  await reports.whenEmpty()
  reports.add(ok(1))
  let isEmpty = false
  const empty = reports.whenEmpty().then(() => {
    isEmpty = true
  })
  const load = reports.take()
  await Promise.resolve()
  expect(isEmpty).toBe(false)
  reports.settle(load)
  await empty
})

it('takes a refused load apart, replaces the guilty report, and gives up on its substitute', () => {
  const reports = new Reports()
  const refusal = new Error('no')
  reports.add(ok(1))
  reports.add(ok(2))
  expect(reports.refuse(reports.take(), refusal)).toEqual([])
  expect(reports.isNextAlone).toBe(true)
  const guilty = reports.take()
  expect(ids(guilty)).toEqual(['task-1'])
  expect(reports.refuse(guilty, refusal)).toEqual([])
  const substitute = reports.take()
  expect(JSON.parse(substitute[0]?.text ?? '')).toMatchObject({ task_id: 'task-1', outcome: 'failed' })
  expect(ids(reports.refuse(substitute, refusal))).toEqual(['task-1'])
  expect(ids(reports.take())).toEqual(['task-2'])
})

it('cleans and cuts error texts, whatever was thrown', () => {
  const odd = Object.assign(new Error('a\0b\ud800c'), { name: 'N'.repeat(300) })
  expect(reportedError(odd)).toMatchObject({ class: 'N'.repeat(200), message: 'ab\ufffdc' })
  // The cut must not leave half a character.
  expect(reportedError(new Error(`${'x'.repeat(8_191)}😀`)).message).toBe(`${'x'.repeat(8_191)}\ufffd`)
  const circle: Record<string, unknown> = {}
  circle.self = circle
  for (const thrown of [null, undefined, 5, 'text', { a: 1 }, Symbol('s'), circle]) {
    expect(reportedError(thrown)).toMatchObject({ class: 'Error', message: expect.any(String) })
  }
})
