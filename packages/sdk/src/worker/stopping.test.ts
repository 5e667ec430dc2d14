import { afterEach, beforeEach, expect, it } from 'vitest'
import { startRunningClock } from '../testing/running-time.js'
import { problem } from '../testing/scripted-server.js'
import { gate, untilAborted, WorkerBench } from '../testing/worker-bench.js'

let bench: WorkerBench
beforeEach(async () => {
  bench = await WorkerBench.open()
})
afterEach(() => bench.close())

it('lets handlers finish within the grace, then leaves', async () => {
  const started = gate()
  const release = gate()
  const worker = bench.worker().handle('long', () => {
    started.open()
    return release.promise.then(() => 'finished')
  })
  await worker.start()
  const id = bench.broker.push('long')
  await started.promise
  const stopping = worker.stop({ grace: '10s' })
  expect(worker.state).toBe('stopping')
  release.open()
  expect(await stopping).toEqual({ isClean: true, unreported: 0, stuck: 0 })
  expect(bench.broker.reportOf(id)).toMatchObject({ outcome: 'succeeded', result: 'finished' })
  // A heartbeat, from its own thread, may cross it.
  const calls = bench.broker.server.calls.filter(({ path }) => !path.endsWith('/heartbeat'))
  expect(calls.at(-1)).toMatchObject({ method: 'DELETE' })
  expect(worker.state).toBe('stopped')
})

it('gives back what the grace was too short for, its handler told why', async () => {
  const started = gate()
  const reasons: unknown[] = []
  const worker = bench.worker().handle('long', async (_, { signal }) => {
    started.open()
    await untilAborted(signal).catch((error: Error) => reasons.push(error.name))
    throw new Error('interrupted')
  })
  await worker.start()
  const id = bench.broker.push('long')
  await started.promise
  expect(await worker.stop({ graceMs: 10 })).toMatchObject({ isClean: true })
  expect(bench.broker.reportOf(id)).toMatchObject({ outcome: 'released' })
  expect(reasons).toEqual(['WorkerStoppingError'])
})

it('gives back a task whose handler is deaf, and says that its code still runs', async () => {
  const started = gate()
  const end = gate()
  const worker = bench.worker().handle('deaf', () => {
    started.open()
    return end.promise
  })
  await worker.start()
  const id = bench.broker.push('deaf')
  await started.promise
  expect(await worker.stop({ graceMs: 10 })).toEqual({ isClean: false, unreported: 0, stuck: 1 })
  expect(bench.broker.reportOf(id)).toMatchObject({ outcome: 'released' })
  end.open()
})

it('starts no handler after the stop: a grant that arrives then is given back at once', async () => {
  const asked = gate()
  const answer = gate()
  let starts = 0
  const worker = bench.worker({ slots: 1 }).handle('x', () => {
    starts += 1
  })
  let isFirst = true
  bench.broker.intercept = async ({ path }) => {
    if (!path.endsWith('/poll') || !isFirst) return undefined
    isFirst = false
    asked.open()
    await answer.promise
    // The grant is on its way while the worker stops.
    const grant = { ...template, grant: 1 }
    bench.broker.leases.set(grant.lease, grant)
    return { body: { tasks: [grant] } }
  }
  await worker.start()
  await asked.promise
  bench.broker.intercept = async (call) => {
    if (!call.path.endsWith('/poll')) return undefined
    answer.open()
    await bench.broker.server.until(() => bench.broker.leases.size === 1)
    return undefined
  }
  await worker.stop({ graceMs: 1_000 })
  expect(bench.broker.reports).toMatchObject([{ lease: 'lease-late', outcome: 'released' }])
  expect(starts).toBe(0)
})

const template = {
  task_id: 'task-late',
  lease: 'lease-late',
  attempt: 1,
  failures: 0,
  task_type: 'x',
  queue: 'default',
  payload: null,
  timeout_ms: 60_000,
  deadline_at: '2026-01-01T00:00:00.000Z',
  idempotency_key: 'task-late',
  checkpoint: null,
  metadata: null,
}

it('fetches and gives back what was granted in the instant of the stop', async () => {
  const worker = bench.worker({ slots: 1 }).handle('x', () => null)
  let isFirst = true
  const asked = gate()
  bench.broker.intercept = async ({ path, gone }) => {
    if (!path.endsWith('/poll') || !isFirst) return undefined
    isFirst = false
    asked.open()
    // A grant whose answer never arrives.
    await new Promise((resolve) => gone.addEventListener('abort', resolve))
    return { cut: true }
  }
  await worker.start()
  await asked.promise
  bench.broker.intercept = ({ path, body }) => {
    if (!path.endsWith('/poll') || body.slots !== 0) return undefined
    const grant = { ...template, grant: 1 }
    bench.broker.leases.set(grant.lease, grant)
    return { body: { tasks: [grant] } }
  }
  await worker.stop({ graceMs: 1_000 })
  expect(bench.broker.reports).toMatchObject([{ lease: 'lease-late', outcome: 'released' }])
})

it('ends in time though the server is away, and says what it could not report', async () => {
  const started = gate()
  const worker = bench.worker().handle('long', (_, { signal }) => {
    started.open()
    return untilAborted(signal)
  })
  await worker.start()
  bench.broker.push('long')
  await started.promise
  await bench.broker.stop()
  const elapsed = startRunningClock()
  expect(await worker.stop({ graceMs: 50 })).toMatchObject({ isClean: false, unreported: 1 })
  expect(elapsed()).toBeLessThan(5_500)
})

it('ends in time though the server answers nothing any more', async () => {
  const worker = bench.worker().handle('x', () => null)
  await worker.start()
  await bench.broker.server.until(() => bench.broker.server.callsTo('/poll').length > 0)
  bench.broker.intercept = ({ gone }) =>
    new Promise((resolve) => gone.addEventListener('abort', () => resolve(problem(503, 'late'))))
  const elapsed = startRunningClock()
  await worker.stop({ graceMs: 50 })
  expect(elapsed()).toBeLessThan(5_500)
})

it('stops while it still tries to register', async () => {
  bench.broker.intercept = () => problem(503, 'store_unavailable')
  const worker = bench.worker().handle('x', () => null)
  const starting = worker.start()
  await bench.broker.server.until(() => bench.broker.server.calls.length > 0)
  await worker.stop()
  await expect(starting).rejects.toMatchObject({ name: 'WorkerStoppingError' })
})

it('stops when the server drains it', async () => {
  const worker = bench.worker().handle('x', () => null)
  await worker.start()
  await bench.broker.server.until(() => bench.broker.server.callsTo('/heartbeat').length > 0)
  const stopped = new Promise((resolve) => worker.once('stopped', resolve))
  const drained = new Promise((resolve) => worker.once('drained', resolve))
  const id = worker.workerId
  bench.broker.drain()
  expect(await drained).toBe(id)
  expect(await stopped).toMatchObject({ isClean: true })
  expect(bench.broker.left).toBe(1)
})

it('gives the same promise when stopped twice', async () => {
  const worker = bench.worker().handle('x', () => null)
  await worker.start()
  expect(worker.stop()).toBe(worker.stop())
})
