import { afterEach, beforeEach, expect, it } from 'vitest'
import { Duly } from '../client/duly.js'
import { FakeBroker } from '../testing/fake-broker.js'
import { problem } from '../testing/scripted-server.js'
import { gate, untilAborted, WorkerBench } from '../testing/worker-bench.js'
import { Worker } from './worker.js'

let bench: WorkerBench
beforeEach(async () => {
  bench = await WorkerBench.open()
})
afterEach(() => bench.close())

it('aborts its handlers, drops their outcomes and registers anew when its session is lost', async () => {
  const started = gate()
  const reason = gate<unknown>()
  const worker = bench.worker()
  const lost = new Promise((resolve) => worker.once('session_lost', resolve))
  await worker
    .handle('long', async (_, { signal }) => {
      started.open()
      await untilAborted(signal).catch((error: unknown) => reason.open(error))
      return 'for nobody'
    })
    .handle('after', () => 'ok')
    .start()
  const id = bench.broker.push('long')
  await started.promise
  bench.broker.loseSession()
  expect(await lost).toBe('worker-1')
  expect(await reason.promise).toMatchObject({ name: 'LeaseLostError' })
  expect(await bench.broker.outcome(bench.broker.push('after'))).toMatchObject({ outcome: 'succeeded' })
  expect(bench.broker.reportOf(id)).toBeUndefined()
  expect(worker.workerId).toBe('worker-2')
})

it('hears of a lost session from its heartbeat alone', async () => {
  const worker = bench.worker()
  await worker.handle('x', () => null).start()
  bench.broker.intercept = ({ path }) => (path.endsWith('/heartbeat') ? problem(409, 'session_lost') : undefined)
  await new Promise((resolve) => worker.once('session_lost', resolve))
  bench.broker.intercept = () => undefined
  await bench.broker.server.until(() => bench.broker.sessions >= 2)
})

it('keeps trying to register while the server is away', async () => {
  const { port } = bench.broker.server
  await bench.broker.stop()
  const worker = bench.worker().handle('x', () => 'x')
  const starting = worker.start()
  const late = await FakeBroker.start(port)
  try {
    await starting
    expect(await late.outcome(late.push('x'))).toMatchObject({ outcome: 'succeeded' })
  } finally {
    await worker.stop({ graceMs: 0 })
    await late.stop()
  }
})

it('rejects its start when the server refuses it', async () => {
  bench.broker.intercept = () => problem(401, 'unauthorized')
  const worker = bench.worker().handle('x', () => null)
  await expect(worker.start()).rejects.toMatchObject({ name: 'DulyApiError', code: 'unauthorized' })
  expect(worker.state).toBe('stopped')
})

it('sends its key with every call', async () => {
  const duly = new Duly({ url: bench.broker.url, apiKey: 'secret' })
  const worker = new Worker(duly, { slots: 1 }).handle('x', () => null)
  await worker.start()
  await bench.broker.server.until(() => bench.broker.server.callsTo('/heartbeat').length > 0)
  await bench.broker.outcome(bench.broker.push('x'))
  await worker.stop()
  duly.close()
  expect(new Set(bench.broker.server.calls.map(({ headers }) => headers.authorization))).toEqual(
    new Set(['Bearer secret']),
  )
})
