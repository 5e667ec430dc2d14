import { defineTask, type TaskRecord, Worker } from '@duly/sdk'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import { RestlessError, startTestServer, type TestServer } from './index.js'

let server: TestServer
let drop: () => Promise<void>
beforeAll(async () => {
  const database = await createDatabase({ empty: true })
  drop = database.drop
  server = await startTestServer({ at: '2026-01-01T00:00:00Z', databaseUrl: database.url, patience: '60s' })
})
afterAll(async () => {
  await server.stop()
  await drop()
})

const workers: Worker[] = []
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop()
})

type Handlers = Readonly<Record<string, Parameters<Worker['handle']>[1]>>

let names = 0

/** A queue of its own with a worker for it. */
async function serve(handlers: Handlers, slots = 10) {
  const queue = `q-${names++}`
  const worker = new Worker(server.client, { queues: [queue], slots, logger: null })
  for (const [type, handler] of Object.entries(handlers)) worker.handle(defineTask(type, { queue }), handler)
  workers.push(worker)
  await worker.start()
  return { queue, worker }
}

const at = () => server.now().toISOString()
const days = (n: number) => n * 86_400_000
const after = (ms: number) => new Date(server.now().getTime() + ms)
const record = (id: string): Promise<TaskRecord> => server.client.tasks.get(id)

describe('time', () => {
  test('stands still unless it is told to pass, for records and ids too', async () => {
    const before = server.now()
    const { id } = await server.client.submit('nobody', {}, { delay: '5s' })
    expect(await record(id)).toMatchObject({
      status: 'SCHEDULED',
      createdAt: before,
      scheduledAt: after(5_000),
    })
    await server.runUntilIdle()
    expect(server.now()).toEqual(before)
    expect((await record(id)).status).toBe('SCHEDULED')
    expect(await server.advance('4999ms')).toEqual(new Date(before.getTime() + 4_999))
    expect((await record(id)).status).toBe('SCHEDULED')
    await server.advance(1)
    expect((await record(id)).status).toBe('PENDING')
  })

  test('passes to an instant, and never back', async () => {
    const target = after(days(1))
    expect(await server.advanceTo(target)).toEqual(target)
    expect(await server.advanceTo('2020-01-01T00:00:00Z')).toEqual(target)
    await expect(server.advanceTo('soon')).rejects.toThrow(RangeError)
    await expect(server.advance(-1)).rejects.toThrow(RangeError)
  })

  test('calls run one after the other', async () => {
    const before = server.now().getTime()
    await Promise.all([server.advance('1h'), server.advance('2h'), server.runUntilIdle()])
    expect(server.now().getTime() - before).toBe(3 * 3_600_000)
  })
})

describe('what falls due meanwhile', () => {
  test('happens at its instant and in its order, and what handlers submit is part of it', async () => {
    const seen: string[] = []
    const begin = server.now().getTime()
    const hours = () => (server.now().getTime() - begin) / 3_600_000
    const { queue } = await serve({
      step: async (payload, context) => {
        seen.push(`${hours()} ${payload}`)
        if (payload === 'first') await context.submit('step', 'follow-up', { queue, delay: '30m' })
      },
    })
    const submit = (payload: string, delay: `${number}h`) => server.client.submit('step', payload, { queue, delay })
    await submit('third', '3h')
    await submit('first', '1h')
    await submit('second', '2h')
    await submit('too late', '5h')
    await server.advance('4h')
    expect(seen).toEqual(['1 first', '1.5 follow-up', '2 second', '3 third'])
    expect(hours()).toBe(4)
  })

  test('of tasks that were submitted one after the other, the first runs first', async () => {
    const seen: unknown[] = []
    const { queue } = await serve({ step: (payload) => void seen.push(payload) }, 1)
    const instant = after(days(2))
    const numbers = Array.from({ length: 30 }, (_, n) => n)
    for (const n of numbers) await server.client.submit('step', n, { queue, scheduledAt: instant })
    await server.advance('2d')
    expect(seen).toEqual(numbers)
  })

  test('retries come after hours of delay, on the record by virtual time', async () => {
    const begin = server.now()
    const { queue } = await serve({
      flaky: (_payload, context) => {
        if (context.attempt < 4) throw new Error('away')
        return context.attempt
      },
    })
    const retry = { limit: 5, backoff: 'exponential', delay: '6h', maxDelay: '24h', jitter: 'none' } as const
    const handle = await server.client.submit('flaky', {}, { queue, retry })
    await server.advance('2d')
    expect(await handle.result()).toBe(4)
    const attempts = await server.client.tasks.attempts(handle.id)
    const hours = attempts.map(({ startedAt }) => ((startedAt?.getTime() ?? 0) - begin.getTime()) / 3_600_000)
    expect(hours).toEqual([0, 6, 18, 42])
  })

  test('snoozes, expiries and dead tasks', async () => {
    const seen: string[] = []
    const { queue } = await serve({
      later: (_payload, context) => {
        seen.push(at())
        return seen.length < 3 ? context.snooze('12h') : 'done'
      },
      doomed: () => {
        throw new Error('never')
      },
    })
    const begin = server.now().getTime()
    const snoozing = await server.client.submit('later', {}, { queue })
    const expiring = await server.client.submit('nobody', {}, { expiresAt: after(3_600_000) })
    const dying = await server.client.submit('doomed', {}, { queue, retry: { limit: 2, delay: '1h', jitter: 'none' } })
    await server.advance('2d')
    expect(seen).toEqual([0, 12, 24].map((hours) => new Date(begin + hours * 3_600_000).toISOString()))
    expect(await snoozing.result()).toBe('done')
    expect(await record(expiring.id)).toMatchObject({
      status: 'CANCELLED',
      reason: 'expired',
      completedAt: new Date(begin + 3_600_000),
    })
    expect(await record(dying.id)).toMatchObject({ status: 'DEAD' })
    expect(await server.client.tasks.attempts(dying.id)).toHaveLength(3)
  })

  test('timers beyond the longest of the machine (24.8 days), and beyond days without partitions', async () => {
    const seen: string[] = []
    const { queue } = await serve({ far: () => void seen.push(at()) })
    const instant = after(days(400) + 1)
    await server.client.submit('far', {}, { queue, scheduledAt: instant })
    await server.advance('400d')
    expect(seen).toEqual([])
    await server.advance('1s')
    expect(seen).toEqual([instant.toISOString()])
  })
})

test('a year of a daily task is 365 runs, each at its time', async () => {
  const begin = server.now().getTime()
  const wrong: string[] = []
  let runs = 0
  const { queue } = await serve({
    daily: async (_payload, context) => {
      if (server.now().getTime() !== begin + ++runs * days(1)) wrong.push(at())
      await context.submit('daily', {}, { queue, delay: '24h' })
    },
  })
  await server.client.submit('daily', {}, { queue, delay: '24h' })
  await server.advance('365d')
  expect([runs, wrong]).toEqual([365, []])
  const { items } = await server.client.tasks.list({ queue, status: 'SUCCEEDED' }, { limit: 1 })
  expect(items[0]?.createdAt).toEqual(new Date(begin + days(364)))
})

describe('workers', () => {
  test('live on, however far time leaps, and keep their session', async () => {
    const { queue, worker } = await serve({ ping: () => 'pong' })
    const id = worker.workerId
    let lost = 0
    worker.on('session_lost', () => lost++)
    for (let n = 0; n < 3; n++) {
      await server.advance('90d')
      const handle = await server.client.submit('ping', {}, { queue })
      expect(await handle.result()).toBe('pong')
    }
    expect([lost, worker.workerId]).toEqual([0, id])
  })

  test('a task that none of them serves rests; it runs when one has come', async () => {
    const waiting = await server.client.submit('orphan', {}, { queue: 'lonely', delay: '1h' })
    await server.advance('2h')
    expect((await record(waiting.id)).status).toBe('PENDING')
    const worker = new Worker(server.client, { queues: ['lonely'], logger: null }).handle('orphan', () => 'found')
    workers.push(worker)
    await worker.start()
    await server.runUntilIdle()
    expect(await waiting.result()).toBe('found')
  })

  test('a handler that does not end is named, and time stands at the instant of its task', async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { queue } = await serve({ endless: () => held })
    const due = after(3_600_000)
    const { id } = await server.client.submit('endless', {}, { queue, scheduledAt: due })
    const failed = await server.advance('1d', { patience: '200ms' }).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(RestlessError)
    expect(failed).toMatchObject({ tasks: [{ taskId: id, status: 'RUNNING', taskType: 'endless', attempt: 1 }] })
    expect(String(failed)).toContain(`${id} endless: attempt 1 runs at worker`)
    expect(server.now()).toEqual(due)
    release()
    await server.runUntilIdle()
    expect((await record(id)).status).toBe('SUCCEEDED')
  })

  test('one that comes back at once for ever is told, though it always gets on', async () => {
    const { queue } = await serve({ again: (_payload, context) => context.snooze(0) })
    const { id } = await server.client.submit('again', {}, { queue })
    await expect(server.advance('1d', { patience: '30ms' })).rejects.toThrow(id)
    await server.client.tasks.cancel(id)
    await server.runUntilIdle()
  })
})

test('stop ends what is under way, twice is once', async () => {
  const database = await createDatabase({ empty: true })
  const short = await startTestServer({ databaseUrl: database.url })
  expect(short.now().toISOString()).toBe('2026-01-01T00:00:00.000Z')
  await Promise.all([short.stop(), short.stop()])
  await expect(short.runUntilIdle()).rejects.toThrow('stopped')
  await expect(startTestServer({ databaseUrl: database.url })).rejects.toThrow('has to be empty')
  await database.drop()
})

test('what is wrong with the options is said before anything starts', async () => {
  const misspelt = startTestServer({ retentiondays: 7 } as object)
  await expect(misspelt).rejects.toThrow(
    'startTestServer: there is no option retentiondays; did you mean retentionDays?',
  )
  await expect(startTestServer({ at: 'yesterday' })).rejects.toThrow('not an instant: yesterday')
  await expect(startTestServer({ patience: '1 moment' as '1s' })).rejects.toThrow(RangeError)
})
