import { afterEach, beforeEach, expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type StandardSchema, type } from '../standard-schema.js'
import { WorkerBench } from '../testing/worker-bench.js'
import { PermanentError } from './handler-errors.js'
import type { TaskContext } from './task-context.js'

let bench: WorkerBench
beforeEach(async () => {
  bench = await WorkerBench.open()
})
afterEach(() => bench.close())

/** Takes objects with a numeric text `n` and gives the number. */
const numberText: StandardSchema<{ n: string }, { n: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const n = Number((value as { n?: unknown } | null)?.n)
      return Number.isNaN(n) ? { issues: [{ message: 'must be a number', path: ['n'] }] } : { value: { n } }
    },
  },
}

it('runs a task and reports its result', async () => {
  await bench
    .worker()
    .handle('greet', (payload) => ({ hello: payload }))
    .start()
  const id = bench.broker.push('greet', 'world')
  expect(await bench.broker.outcome(id)).toMatchObject({ outcome: 'succeeded', result: { hello: 'world' } })
})

it('registers with what it serves', async () => {
  await bench
    .worker({ name: 'mailer', version: '1.2', queues: ['a', 'b'], slots: 3, heartbeat: '2s' })
    .handle('x', () => null)
    .handle(defineTask('y'), () => null)
    .start()
  expect(bench.broker.server.callsTo('/workers')[0]?.body).toEqual({
    name: 'mailer',
    version: '1.2',
    host: expect.any(String),
    queues: ['a', 'b'],
    task_types: ['x', 'y'],
    slots: 3,
    heartbeat_seconds: 2,
  })
})

it('serves the queues of its definitions unless it is told others', async () => {
  await bench
    .worker()
    .handle(defineTask('a', { queue: 'mail' }), () => null)
    .handle(defineTask('b', { queue: 'mail' }), () => null)
    .handle('c', () => null)
    .start()
  expect(bench.broker.server.callsTo('/workers')[0]?.body.queues).toEqual(['mail', 'default'])
})

it('never holds more leases than slots, and uses them all', async () => {
  const ids = Array.from({ length: 200 }, (_, n) => bench.broker.push('n', n))
  await bench
    .worker({ slots: 7 })
    .handle('n', async (n) => n)
    .start()
  for (const id of ids) await bench.broker.outcome(id)
  expect(bench.broker.reports).toHaveLength(200)
  expect(bench.broker.mostLeases).toBe(7)
})

it("gives the handler the schema's output, and a payload that does not fit fails for good", async () => {
  const seen: number[] = []
  await bench
    .worker()
    .handle(defineTask('double', { payload: numberText }), ({ n }) => {
      seen.push(n)
      return n * 2
    })
    .start()
  const good = bench.broker.push('double', { n: '21' })
  const bad = bench.broker.push('double', { n: 'x' })
  expect(await bench.broker.outcome(good)).toMatchObject({ outcome: 'succeeded', result: 42 })
  expect(await bench.broker.outcome(bad)).toMatchObject({
    outcome: 'failed',
    error: { class: 'InvalidPayloadError', message: expect.stringContaining('n: must be a number'), retryable: false },
  })
  expect(seen).toEqual([21])
})

it('waits for a schema that validates asynchronously', async () => {
  const later: StandardSchema<string, string> = {
    '~standard': { version: 1, vendor: 'test', validate: async (value) => ({ value: `${value}!` }) },
  }
  await bench
    .worker()
    .handle(defineTask('shout', { payload: later }), (text) => text)
    .start()
  expect(await bench.broker.outcome(bench.broker.push('shout', 'hey'))).toMatchObject({ result: 'hey!' })
})

it('fails a result that does not fit its schema for good', async () => {
  await bench
    .worker()
    .handle(defineTask('r', { result: numberText }), () => ({ n: 'x' }))
    .start()
  expect(await bench.broker.outcome(bench.broker.push('r'))).toMatchObject({
    outcome: 'failed',
    error: { class: 'InvalidResultError', retryable: false },
  })
})

it('tells the handler about its attempt', async () => {
  const contexts: TaskContext[] = []
  await bench
    .worker()
    .handle('look', (_, context) => {
      contexts.push(context)
    })
    .start()
  const id = bench.broker.push('look', null, {
    attempt: 3,
    failures: 2,
    idempotency_key: 'welcome-1',
    lease: 'fence-3',
    metadata: { tenant_id: 'acme' },
    checkpoint: { page: 7 },
    traceparent: '00-1-2-01',
    deadline_at: '2026-04-04T09:00:00.000Z',
  })
  await bench.broker.outcome(id)
  const [context] = contexts
  expect(context).toMatchObject({
    taskId: id,
    taskType: 'look',
    queue: 'default',
    attempt: 3,
    failures: 2,
    idempotencyKey: 'welcome-1',
    fence: 'fence-3',
    metadata: { tenant_id: 'acme' },
    traceparent: '00-1-2-01',
    deadline: new Date('2026-04-04T09:00:00.000Z'),
  })
  expect(context?.checkpoint.value).toEqual({ page: 7 })
  expect(context?.signal.aborted).toBe(false)
})

it('turns what a handler throws or returns into outcomes', async () => {
  await bench
    .worker({ slots: 10 })
    .handle('permanent', () => {
      throw new PermanentError('no such user')
    })
    .handle('transient', async () => {
      throw new TypeError('oops')
    })
    .handle('snooze', (_, { snooze }) => snooze('10m'))
    .handle('later', (_, { retryAfter }) => {
      throw retryAfter('30s', new RangeError('too many'))
    })
    .handle('text', () => Promise.reject('plain text'))
    .start()
  const ids = ['permanent', 'transient', 'snooze', 'later', 'text'].map((name) => bench.broker.push(name))
  expect(await Promise.all(ids.map((id) => bench.broker.outcome(id)))).toMatchObject([
    { outcome: 'failed', error: { class: 'PermanentError', message: 'no such user', retryable: false } },
    { outcome: 'failed', error: { class: 'TypeError', retryable: true, stack: expect.stringContaining('TypeError') } },
    { outcome: 'snoozed', delay_seconds: 600 },
    { outcome: 'failed', retry_after_seconds: 30, error: { class: 'RangeError', message: 'too many' } },
    { outcome: 'failed', error: { class: 'Error', message: 'plain text', retryable: true } },
  ])
})

it('fails a result that is no JSON or too large for good', async () => {
  await bench
    .worker({ maxResultBytes: 100 })
    .handle('big', () => 'x'.repeat(100))
    .handle('circle', () => {
      const circle: Record<string, unknown> = {}
      circle.self = circle
      return circle
    })
    .handle('bigint', () => ({ n: 1n }))
    .handle('function', () => () => 'x')
    .start()
  const ids = ['big', 'circle', 'bigint', 'function'].map((name) => bench.broker.push(name))
  expect(await Promise.all(ids.map((id) => bench.broker.outcome(id)))).toMatchObject([
    { error: { class: 'ResultError', message: expect.stringContaining('larger than 100 bytes'), retryable: false } },
    { error: { class: 'ResultError', message: expect.stringContaining('is not JSON'), retryable: false } },
    { error: { class: 'ResultError', retryable: false } },
    { outcome: 'succeeded', result: null },
  ])
})

it('survives what throws again when it is looked at', async () => {
  const trap = (): never => {
    throw new Error('trap')
  }
  const thrown = {
    getters: Object.defineProperties(new Error('x'), {
      stack: { get: trap },
      message: { get: trap },
      name: { get: trap },
    }),
    proxy: new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap }),
    text: { toString: trap, toJSON: trap },
  }
  const worker = bench.worker()
  for (const [kind, value] of Object.entries(thrown)) {
    worker.handle(kind, () => {
      throw value
    })
    worker.handle(`${kind}-returned`, async () => value)
  }
  worker.handle('next', () => 1)
  await worker.start()
  for (const kind of Object.keys(thrown)) {
    expect(await bench.broker.outcome(bench.broker.push(kind))).toMatchObject({
      outcome: 'failed',
      error: { class: 'Error', message: expect.stringContaining('that cannot be'), retryable: true },
    })
  }
  for (const kind of ['proxy', 'text']) {
    const outcome = await bench.broker.outcome(bench.broker.push(`${kind}-returned`))
    expect(outcome).toMatchObject({ outcome: 'failed' })
  }
  expect(await bench.broker.outcome(bench.broker.push('next'))).toMatchObject({ outcome: 'succeeded', result: 1 })
})

it('tells onError of handler errors, and survives its throwing', async () => {
  const told: unknown[] = []
  await bench
    .worker({
      onError: (error, context) => {
        told.push([String(error), context])
        throw new Error('listener')
      },
    })
    .handle(defineTask('bad', { payload: type<string>() }), () => {
      throw new Error('broken')
    })
    .start()
  const id = bench.broker.push('bad')
  expect(await bench.broker.outcome(id)).toMatchObject({ outcome: 'failed' })
  expect(told).toEqual([['Error: broken', { taskId: id, taskType: 'bad', attempt: 1 }]])
})

it('refuses handlers that can not be registered', async () => {
  const worker = bench.worker().handle('a', () => null)
  expect(worker.taskTypes).toEqual(['a'])
  expect(() => worker.handle('a', () => null)).toThrow('a has a handler already')
  await worker.start()
  expect(() => worker.handle('b', () => null)).toThrow('before the worker starts')
  await expect(bench.worker().start()).rejects.toThrow('nothing to do')
})
