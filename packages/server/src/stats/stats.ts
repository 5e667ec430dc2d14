import { type Clock, DulyError, LogHistogram, type TenantScope } from '@duly/domain'
import type { FigureRecord, Quantiles, StatsRecord, StatsRequest } from '../model.js'
import type { StatsStore, StatsSum } from '../store/stats-store.js'
import { Depths } from './depths.js'
import { grains, segmentsOf } from './grains.js'
import type { Recorder } from './recorder.js'

export interface StatsOptions {
  readonly store: StatsStore
  readonly recorder: Recorder
  readonly clock: Clock
  readonly storeNowMs: () => number
}

const sums = grains.map(({ seconds }) => seconds).slice(1)
const topNames = 100
/** Any number of dashboards ask the store once in this time. */
const cacheMs = 1_000
const maxCached = 200

interface Cached {
  readonly atMs: number
  readonly answer: Promise<StatsRecord>
}

/** Rates, percentiles and counts over a window, from rollups: the cost follows the window, not the tasks. */
export class Stats {
  readonly #options: StatsOptions
  readonly #depths: Depths
  readonly #cache = new Map<string, Cached>()

  constructor(options: StatsOptions) {
    this.#options = options
    this.#depths = new Depths(options)
  }

  /** Up to a second old. Of one tenant: its own figures, which are not kept by queue or task type. */
  read(tenant: TenantScope, request: StatsRequest): Promise<StatsRecord> {
    if (tenant !== null && (request.by === 'queue' || request.by === 'task_type')) {
      const what = request.by === 'queue' ? 'queue' : 'task type'
      return Promise.reject(
        new DulyError(
          'forbidden',
          `Figures by ${what} are those of all tenants; your key is bound to one: leave out \`by\`.`,
        ),
      )
    }
    const key = JSON.stringify([tenant, request.windowMs, request.by])
    const nowMs = this.#options.clock.monotonicMs()
    const known = this.#cache.get(key)
    if (known && nowMs - known.atMs < cacheMs) return known.answer
    const answer = this.#read(tenant, request)
    answer.catch(() => this.#cache.delete(key))
    if (this.#cache.size >= maxCached) this.#cache.clear()
    this.#cache.set(key, { atMs: nowMs, answer })
    return answer
  }

  async #read(tenant: TenantScope, { windowMs, by }: StatsRequest): Promise<StatsRecord> {
    const { store, recorder, storeNowMs } = this.#options
    await recorder.flush()
    const toMs = storeNowMs()
    const segments = segmentsOf(windowMs, { nowMs: toMs, summedUntilMs: await store.summedUntilMs(sums) })
    const fromMs = segments[0]?.fromMs ?? toMs
    const seconds = (toMs - fromMs) / 1_000
    const all = { name: tenant, limit: 1 }
    const named = by === null ? Promise.resolve([]) : store.read(by, segments, { name: tenant, limit: topNames })
    const names = async () => (await named).map(({ name }) => name)
    const [totals, items, depth, running] = await Promise.all([
      store.read(tenant === null ? 'all' : 'tenant', segments, all),
      named,
      this.#depths.read(tenant, by, names),
      store.runningBy(by ?? 'queue', tenant),
    ])
    const runningInAll = [...running.values()].reduce((sum, count) => sum + count, 0)
    return {
      fromMs,
      toMs,
      by,
      totals: { ...figures(totals[0], seconds), depth: depth.total, running: runningInAll },
      items: items.map((sum) => ({
        name: sum.name,
        ...figures(sum, seconds),
        depth: depth.byName === null ? null : (depth.byName.get(sum.name) ?? 0),
        running: running.get(sum.name) ?? 0,
      })),
    }
  }
}

function figures(sum: StatsSum | undefined, seconds: number): Omit<FigureRecord, 'depth' | 'running'> {
  const { submitted = 0, started = 0, succeeded = 0, failed = 0, dead = 0, cancelled = 0, retried = 0 } = sum ?? {}
  const judged = succeeded + failed + dead
  return {
    ...{ submitted, started, succeeded, failed, dead, cancelled, retried },
    lost: sum?.lost ?? 0,
    timedOut: sum?.timed_out ?? 0,
    submittedPerSecond: submitted / seconds,
    startedPerSecond: started / seconds,
    finishedPerSecond: (judged + cancelled) / seconds,
    errorRate: judged === 0 ? null : (failed + dead) / judged,
    waitMs: quantiles(sum?.wait),
    runMs: quantiles(sum?.run),
  }
}

function quantiles(encoded: Uint8Array | undefined): Quantiles | null {
  const histogram = new LogHistogram()
  if (encoded) histogram.addEncoded(encoded)
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((q) => histogram.quantile(q))
  return p50 == null || p90 == null || p99 == null ? null : { p50, p90, p99 }
}
