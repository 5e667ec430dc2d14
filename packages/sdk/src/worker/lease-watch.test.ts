import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { problem } from '../testing/scripted-server.js'
import { gate, untilAborted, WorkerBench } from '../testing/worker-bench.js'
import { LeaseWatch } from './lease-watch.js'

const LEASE_MS = 15_000

/** A watch by a clock that only the test moves; its session registered at 0. */
function watched() {
  let now = 0
  const said: string[] = []
  const lease = new LeaseWatch(LEASE_MS, 0, () => now)
  const note = (what: string) => void said.push(`${now}: ${what}`)
  lease.follow({
    denied: (leftMs) => note(`denied, ${leftMs} left`),
    allowed: () => note('allowed'),
    over: () => note('over'),
  })
  const pass = (ms: number) => {
    now += ms
    vi.advanceTimersByTime(ms)
  }
  return { lease, said, pass }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate'] })
})
afterEach(() => {
  vi.useRealTimers()
})

it('ends a lease as long after its last heartbeat had left as it lasts, once the key is refused', () => {
  const { lease, said, pass } = watched()
  pass(4_000)
  lease.renewed(3_500)
  pass(5_000)
  lease.denied()
  lease.denied()
  pass(9_499)
  expect(said).toEqual(['9000: denied, 9500 left'])
  pass(2)
  expect(said.slice(1)).toEqual(['18501: over'])
  pass(60_000)
  expect(said).toHaveLength(2)
})

it('ends none of a server that is only silent, however long', () => {
  const { said, pass } = watched()
  pass(100 * LEASE_MS)
  expect(said).toEqual([])
})

it('forgets the refusal when a heartbeat that left after it is answered, not for an earlier one', () => {
  const { lease, said, pass } = watched()
  pass(5_000)
  lease.denied()
  lease.renewed(4_900)
  pass(1_000)
  expect(said).toEqual(['5000: denied, 10000 left'])
  lease.renewed(5_500)
  pass(10 * LEASE_MS)
  expect(said.slice(1)).toEqual(['6000: allowed'])
  lease.denied()
  pass(1)
  expect(said.slice(2)).toEqual(['156000: denied, 0 left', '156001: over'])
})

it('hears what was said while the process was busy before it ends the lease', () => {
  const { lease, said, pass } = watched()
  pass(14_000)
  lease.denied()
  // the timer rings, and what waits in the queues of the process comes before its verdict
  setTimeout(() => lease.renewed(14_500), 1_000)
  pass(1_000)
  expect(said.slice(1)).toEqual(['15000: allowed'])
})

it('tells nothing of a session that has ended', () => {
  const { lease, said, pass } = watched()
  lease.denied()
  lease.close()
  lease.denied()
  pass(2 * LEASE_MS)
  expect(said).toEqual(['0: denied, 15000 left'])
})

async function busyWorker() {
  vi.useRealTimers()
  const bench = await WorkerBench.open({ leaseSeconds: 0.4, heartbeatSeconds: 0.1 })
  const started = gate()
  const worker = bench.worker().handle('long', async (_, { signal }) => {
    started.open()
    await untilAborted(signal).catch((error: unknown) => aborted.open(error))
  })
  const aborted = gate<unknown>()
  worker.handle('after', () => 'ok')
  await worker.start()
  const id = bench.broker.push('long')
  await started.promise
  return { bench, worker, id, aborted: aborted.promise }
}

for (const status of [401, 403]) {
  it(`aborts what runs when the key is refused with ${status} past the lease, and registers anew when it works`, async () => {
    const { bench, worker, id, aborted } = await busyWorker()
    const denied = new Promise((resolve) => worker.once('denied', resolve))
    const lost = new Promise((resolve) => worker.once('session_lost', (_, reason) => resolve(reason)))
    bench.broker.intercept = () => problem(status, 'unauthenticated')
    expect(await denied).toMatch(/refuses the key of worker-1: .* aborted in \d s/)
    expect(await lost).toMatch(/its key is refused and its lease is over/)
    expect(await aborted).toMatchObject({ name: 'LeaseLostError' })
    const asked = bench.broker.server.calls.length
    await bench.broker.server.until(() =>
      bench.broker.server.calls.slice(asked).some(({ path }) => path === '/api/v1/workers'),
    )
    bench.broker.intercept = () => undefined
    expect(await bench.broker.outcome(bench.broker.push('after'))).toMatchObject({ outcome: 'succeeded' })
    expect(worker.workerId).toBe('worker-2')
    expect(bench.broker.reportOf(id)).toBeUndefined()
    await bench.close()
  })
}

it('lets what runs go on through an outage that is longer than the lease', async () => {
  const { bench, worker, aborted } = await busyWorker()
  let outage = 0
  bench.broker.intercept = ({ path }) => {
    if (path.endsWith('/heartbeat')) outage += 1
    return outage % 2 === 0 ? { cut: true } : problem(503, 'store_unavailable')
  }
  const leaseOver = performance.now() + 3 * 400
  await bench.broker.server.until(() => outage > 3 && performance.now() > leaseOver)
  bench.broker.intercept = () => undefined
  await new Promise((resolve) => worker.once('recovered', resolve))
  expect(worker.workerId).toBe('worker-1')
  await worker.stop({ graceMs: 0 })
  expect(await aborted).toMatchObject({ name: 'WorkerStoppingError' })
  await bench.close()
})
