import { LogHistogram } from '@duly/domain'
import {
  otherName,
  type StatsKind,
  type StatsRow,
  type StatsStore,
  type StatsSum,
  statsCounts,
} from '../store/stats-store.js'
import { namesPerMinute } from './cells.js'
import { type Grain, grains, lateMs, type Segment } from './grains.js'

export interface SummerOptions {
  readonly store: StatsStore
  readonly storeNowMs: () => number
}

const kinds: readonly StatsKind[] = ['queue', 'task_type', 'tenant', 'all']
/** Kinds that have no sums are kept by the minute alone. */
const minuteKinds: readonly StatsKind[] = ['lane', ...kinds]
const pruneBatch = 5_000

/**
 * Sums up each grain from the one below, and deletes what is old. Every scheduler may do it: sums are made anew from all there is and
 * overwrite what was there.
 */
export class Summer {
  readonly #options: SummerOptions

  constructor(options: SummerOptions) {
    this.#options = options
  }

  async runOnce(): Promise<void> {
    for (const [level, below] of grains.entries()) {
      const grain = grains[level + 1]
      if (grain) await this.#sumUp(below.seconds, grain.seconds)
      await this.#prune(below, grain)
    }
  }

  async #sumUp(below: number, seconds: number): Promise<void> {
    for (const { startMs, agoMs, isSummed } of await this.#options.store.spans(below, seconds)) {
      if (!isSummed || agoMs < lateMs)
        await this.#sum({ seconds, fromMs: startMs, toMs: startMs + seconds * 1_000 }, below)
    }
  }

  /** `all` comes last: its row says that the sum is whole. */
  async #sum({ seconds, fromMs, toMs }: Segment, below: number): Promise<void> {
    const { store } = this.#options
    for (const kind of kinds) {
      const sums = await store.sumUp(kind, { seconds: below, fromMs, toMs })
      const named = sums.filter(({ name }) => name !== otherName)
      const rest = [...named.slice(namesPerMinute), ...sums.filter(({ name }) => name === otherName)]
      const rows = named.slice(0, namesPerMinute).map((sum) => merge(sum.name, [sum]))
      if (rest.length > 0) rows.push(merge(otherName, rest))
      await store.writeSums(
        seconds,
        rows.map((row) => ({ ...row, startMs: fromMs })),
      )
    }
  }

  /** Nothing goes that may not be summed up yet. */
  async #prune({ seconds, keepMs }: Grain, above: Grain | undefined): Promise<void> {
    const { store, storeNowMs } = this.#options
    const nowMs = storeNowMs()
    const spanMs = (above?.seconds ?? 1) * 1_000
    const beforeMs = Math.min(nowMs - keepMs, Math.floor((nowMs - lateMs) / spanMs) * spanMs)
    for (const kind of seconds === 60 ? minuteKinds : kinds) {
      while ((await store.prune(seconds, kind, { beforeMs, limit: pruneBatch })) === pruneBatch);
    }
  }
}

/** Several sums as one, its histograms as short as they can be. */
function merge(name: string, sums: readonly StatsSum[]): Omit<StatsRow, 'startMs'> {
  const wait = new LogHistogram()
  const run = new LogHistogram()
  for (const sum of sums) {
    wait.addEncoded(sum.wait)
    run.addEncoded(sum.run)
  }
  const counts = Object.fromEntries(
    statsCounts.map((count) => [count, sums.reduce((total, sum) => total + sum[count], 0)]),
  ) as Record<(typeof statsCounts)[number], number>
  return { kind: sums[0]?.kind ?? 'all', name, ...counts, wait: wait.encode(), run: run.encode() }
}
