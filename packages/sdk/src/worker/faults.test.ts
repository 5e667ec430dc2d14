import { afterEach, beforeEach, expect, it } from 'vitest'
import { problem } from '../testing/scripted-server.js'
import { WorkerBench } from '../testing/worker-bench.js'

let bench: WorkerBench
beforeEach(async () => {
  bench = await WorkerBench.open()
})
afterEach(() => bench.close())

/** Mulberry32: the same seed makes the same faults. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

for (const { seed, slots } of [
  { seed: 1, slots: 1 },
  { seed: 2, slots: 3 },
  { seed: 3, slots: 16 },
  { seed: 4, slots: 64 },
]) {
  it(`runs each lease once and reports each task once, whatever requests and answers get lost (seed ${seed})`, async () => {
    const random = randomOf(seed)
    const runs = new Map<string, number>()
    let mostAtOnce = 0
    let atOnce = 0
    const isProtocol = (path: string) => /\/(poll|exchange|report|heartbeat)$/.test(path)
    bench.broker.intercept = ({ path }) => {
      if (!isProtocol(path)) return undefined
      const drawn = random()
      if (drawn < 0.05) return { cut: true }
      return drawn < 0.1 ? problem(503, 'store_unavailable', { 'retry-after': '0' }) : undefined
    }
    bench.broker.losesAnswer = ({ path }) => isProtocol(path) && random() < 0.1
    const ids = Array.from({ length: slots * 25 }, (_, n) =>
      bench.broker.push('work', n % 4, n % 10 === 0 ? { suspect: true } : {}),
    )
    await bench
      .worker({ slots })
      .handle('work', async (pauses, { fence }) => {
        runs.set(fence, (runs.get(fence) ?? 0) + 1)
        atOnce += 1
        mostAtOnce = Math.max(mostAtOnce, atOnce)
        for (let n = 0; n < Number(pauses); n += 1) await new Promise((resolve) => setImmediate(resolve))
        atOnce -= 1
      })
      .start()
    for (const id of ids) await bench.broker.outcome(id)
    expect(bench.broker.reports.map(({ task_id }) => task_id).sort()).toEqual([...ids].sort())
    expect([...runs.values()].filter((count) => count !== 1)).toEqual([])
    expect(mostAtOnce).toBeLessThanOrEqual(slots)
    expect(bench.broker.reports.filter(({ outcome }) => outcome !== 'succeeded')).toEqual([])
  })
}
