import { expect } from 'vitest'
import type { HttpNode } from './http-node.js'

const middle = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN

/** So many plain reads of a node may take as long as what is measured, on a machine so slow that they take longer than the limit. */
const reads = 20

/**
 * Measures something that takes some ms, so often, and expects the median below the limit. A machine that is short of time for a while
 * is given another while; one that is slow is given as much more time as it takes for all else.
 *
 * @param once does it once and says how long it took, ms
 */
export async function expectPace(
  what: string,
  { limitMs, count, node }: { readonly limitMs: number; readonly count: number; readonly node: HttpNode },
  once: (n: number) => Promise<number>,
): Promise<void> {
  let [median, allowed] = [Number.POSITIVE_INFINITY, limitMs]
  for (let round = 0; round < 4 && median >= allowed; round++) {
    const [times, plain]: [number[], number[]] = [[], []]
    for (let n = 0; n < count; n++) {
      times.push(await once(n))
      const beganMs = performance.now()
      await node.api.call('GET', '/queues?limit=1')
      plain.push(performance.now() - beganMs)
    }
    median = middle(times)
    allowed = Math.max(limitMs, reads * middle(plain))
    console.info(`${what}: median ${median.toFixed(0)}, worst ${Math.max(...times).toFixed(0)} ms`)
  }
  expect(median).toBeLessThan(allowed)
}
