import { Worker } from '@duly/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import { startTestServer, type TestServer } from './index.js'

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

function deferred() {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** A worker whose handler is in mid-task when `begun` resolves, and goes on when it is released. */
async function startHanging(queue: string) {
  const [begun, held] = [deferred(), deferred()]
  const worker = new Worker(server.client, { queues: [queue], logger: null })
  worker.handle('work', async () => {
    begun.resolve()
    await held.promise
    return 'too late'
  })
  await worker.start()
  return { worker, begun: begun.promise, release: held.resolve }
}

/** A worker that does what it is given. */
async function startWorking(queue: string): Promise<Worker> {
  const worker = new Worker(server.client, { queues: [queue], logger: null })
  worker.handle('work', (_payload, { attempt }) => `attempt ${attempt}`)
  await worker.start()
  return worker
}

const record = (id: string) => server.client.tasks.get(id)

test('keeps its task until its lease is over, to the millisecond; then another one runs it', async () => {
  const queue = 'lease'
  const dying = await startHanging(queue)
  const handle = await server.client.submit('work', {}, { queue })
  await dying.begun
  const lostAt = server.now().getTime()
  await server.loseWorker(dying.worker)
  const other = await startWorking(queue)
  await server.advance('14999ms')
  expect(await record(handle.id)).toMatchObject({ status: 'RUNNING', attempts: 1 })
  dying.release()
  await server.advance('5m')
  expect(await handle.result()).toBe('attempt 2')
  expect((await record(handle.id)).crashes).toBe(1)
  const attempts = await server.client.tasks.attempts(handle.id)
  expect(attempts.map(({ outcome }) => outcome)).toEqual(['lost', 'succeeded'])
  expect(attempts.map(({ endedAt }) => (endedAt?.getTime() ?? 0) - lostAt)).toEqual([15_000, 15_000])
  await other.stop()
})

test('whose place nobody takes leaves its task waiting; the third one takes it down for good', async () => {
  const queue = 'thrice'
  const { id } = await server.client.submit('work', {}, { queue })
  for (let crashes = 1; crashes <= 3; crashes++) {
    const { worker, begun, release } = await startHanging(queue)
    await begun
    await server.loseWorker(worker)
    release()
    await server.advance('1h')
    expect(await record(id)).toMatchObject({ status: crashes < 3 ? 'PENDING' : 'DEAD', crashes })
  }
})

test('a recurring task that must not overlap goes on when its worker is lost', async () => {
  const queue = 'recurring'
  const endsAt = new Date(server.now().getTime() + 30_000)
  const options = { queue, every: '5s', overlap: 'skip', endsAt, payload: null } as const
  const { id } = await server.client.cron.upsert('no-overlap', 'work', options)
  const dying = await startHanging(queue)
  const passing = server.advance('5s')
  await dying.begun
  await server.loseWorker(dying.worker)
  await passing
  const other = await startWorking(queue)
  await server.advance('25s')
  const { items } = await server.client.cron.firings(id)
  const outcomes = items.map(({ outcome }) => outcome).reverse()
  // the lease is over after 15 s; the one of that instant may come before its end
  expect(outcomes.slice(0, 3)).toEqual(['fired', 'skipped_overlap', 'skipped_overlap'])
  expect(outcomes.slice(4)).toEqual(['fired', 'fired'])
  const { items: tasks } = await server.client.tasks.list({ cronId: id }, { limit: 100 })
  expect(new Set(tasks.map(({ status }) => status))).toEqual(new Set(['SUCCEEDED']))
  const [first, ...rest] = tasks.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
  expect([first?.crashes, ...rest.map(({ crashes }) => crashes)]).toEqual([1, ...rest.map(() => 0)])
  dying.release()
  await other.stop()
})

test('takes nothing more, and others live on', async () => {
  const [idle, other] = [await startHanging('idle'), await startWorking('other')]
  const id = other.workerId
  await server.loseWorker(idle.worker)
  const handle = await server.client.submit('work', {}, { queue: 'idle' })
  await server.advance('90d')
  expect((await record(handle.id)).status).toBe('PENDING')
  expect(other.workerId).toBe(id)
  await other.stop()
})

test('must be connected', async () => {
  const { worker } = await startHanging('gone')
  await server.loseWorker(worker)
  await expect(server.loseWorker(worker)).rejects.toThrow('not connected')
  await expect(server.loseWorker(new Worker(server.client))).rejects.toThrow('not connected')
})
