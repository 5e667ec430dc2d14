import { randomUUID } from 'node:crypto'
import { systemClock } from '@duly/domain'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { makeStoreBench, type StoreBench } from '../../queue/testing/store-bench.js'
import { StatsStore } from '../../store/stats-store.js'
import { Recorder } from '../recorder.js'
import { Stats } from '../stats.js'

export const hourMs = 3_600_000

/** What the n-th task of a test is counted by. */
export const place = (n: number) => ({ queue: `q${n}`, taskType: `t${n % 2}`, tenant: `n${n % 3}` })

/** A store of the calling test file, empty of figures at the start of each test, and nodes that count into it. */
export class StatsBench {
  bench!: StoreBench
  /** What the nodes take for the store's time; at first the real one. */
  nowMs = Number.NaN
  readonly storeNowMs = (): number => this.nowMs

  constructor() {
    beforeAll(async () => {
      this.bench = await makeStoreBench()
    })
    afterAll(() => this.bench.close())
    beforeEach(async () => {
      await this.bench.sql('truncate stats_rollups')
      const [row] = await this.bench.sql<{ ms: number }>(`select date_part('epoch', now()) * 1000 as ms`)
      this.nowMs = row?.ms ?? Number.NaN
    })
  }

  newStore(): StatsStore {
    return new StatsStore(this.bench.database, { writer: randomUUID() })
  }

  newNode(store = this.newStore()) {
    const { storeNowMs } = this
    const recorder = new Recorder({ store, storeNowMs })
    // its answers are kept for a second of a clock that moves on with each look
    let readMs = 0
    const clock = { ...systemClock, monotonicMs: () => (readMs += 10_000) }
    return { store, recorder, stats: new Stats({ store, recorder, clock, storeNowMs }) }
  }
}
