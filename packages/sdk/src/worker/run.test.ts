import { afterEach, beforeEach, expect, it } from 'vitest'
import { FakeBroker } from '../testing/fake-broker.js'
import { WorkerProcess } from '../testing/worker-process.js'

let broker: FakeBroker
let child: WorkerProcess | null = null
beforeEach(async () => {
  broker = await FakeBroker.start()
  // so long that no beat seems lost, and none is told of, while this process is busy with others
  broker.terms = { heartbeatSeconds: 30, leaseSeconds: 90 }
})
afterEach(async () => {
  child?.signal('SIGKILL')
  await child?.ended
  child = null
  await broker.stop()
})

const QUICK = "worker.handle('x', () => 'ok')"
const OBEDIENT =
  "worker.handle('x', (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))))"
const DEAF = "worker.handle('x', () => new Promise(() => setInterval(() => {}, 1000)))"

it('runs until SIGTERM, leaves, and lets the process end by itself', async () => {
  child = new WorkerProcess(broker.url, QUICK)
  expect(await broker.outcome(broker.push('x'))).toMatchObject({ result: 'ok' })
  await broker.server.until(() => broker.server.callsTo('/heartbeat').length > 0)
  child.signal('SIGTERM')
  expect(await child.ended).toEqual({ code: 0, output: 'run returned\n' })
  expect(broker.left).toBe(1)
})

it('gives back what the grace was too short for, and ends well', async () => {
  child = new WorkerProcess(broker.url, OBEDIENT)
  const id = broker.push('x')
  await broker.server.until(() => broker.received === 1)
  child.signal('SIGINT')
  expect(await child.ended).toMatchObject({ code: 0 })
  expect(broker.reportOf(id)).toMatchObject({ outcome: 'released' })
})

it('ends the process though a handler is deaf, and says so by its exit code', async () => {
  child = new WorkerProcess(broker.url, DEAF)
  const id = broker.push('x')
  await broker.server.until(() => broker.received === 1)
  child.signal('SIGTERM')
  expect(await child.ended).toMatchObject({ code: 1 })
  expect(broker.reportOf(id)).toMatchObject({ outcome: 'released' })
})

it('ends at once at the second signal', async () => {
  child = new WorkerProcess(broker.url, DEAF, '10m')
  broker.push('x')
  await broker.server.until(() => broker.received === 1)
  child.signal('SIGTERM')
  await broker.server.until(() => broker.server.calls.some(({ body }) => body.slots === 0))
  child.signal('SIGTERM')
  expect(await child.ended).toMatchObject({ code: 143 })
})

it('is known to have had a task whose handler takes the process down, though no slot was free', async () => {
  child = new WorkerProcess(broker.url, "worker.handle('x', () => process.abort())")
  broker.push('x')
  broker.push('x')
  await child.ended
  await broker.server.until(() => broker.received === 2)
  expect(broker.reports).toEqual([])
})

it('ends with an error when the server refuses it', async () => {
  broker.intercept = () => ({ status: 403, body: { title: 'Forbidden', code: 'forbidden' } })
  child = new WorkerProcess(broker.url, QUICK)
  expect(await child.ended).toMatchObject({ code: 1, output: expect.stringContaining('Forbidden') })
})
