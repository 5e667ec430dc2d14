import { describe } from 'vitest'
import { describeClaims } from './claim-conformance.js'
import { describeLanes } from './lane-conformance.js'
import { QueueBench, type QueueUnderTest } from './queue-bench.js'

/** What every ready queue must do, whatever it is made of. */
export function describeReadyQueue(name: string, makeQueue: () => Promise<QueueUnderTest>): void {
  describe(`ready queue: ${name}`, () => {
    const bench = new QueueBench(makeQueue)
    describeClaims(bench)
    describeLanes(bench)
  })
}
