import type { Clock, TenantScope } from '@duly/domain'
import type { StatsRequest } from '../model.js'
import type { StatsStore } from '../store/stats-store.js'

export interface DepthsOptions {
  readonly store: StatsStore
  readonly clock: Clock
}

/** A look that took so long stands for so many times as long: at most a twentieth of the time goes into it. */
const standsFor = 20
const standsMostMs = 10_000

interface Look {
  readonly depths: Promise<ReadonlyMap<string, number>>
  untilMs: number
}

/** How many tasks wait. */
export interface Depth {
  readonly total: number
  /** By queue or tenant; null: it is not kept by what was asked for. */
  readonly byName: ReadonlyMap<string, number> | null
}

/**
 * Depths for figures. Those of all tenants are sums over a row for each lane and writer, of which there may be a million: one look
 * serves all who ask within a time that grows with what it took.
 */
export class Depths {
  readonly #options: DepthsOptions
  #look: Look | null = null

  constructor(options: DepthsOptions) {
    this.#options = options
  }

  /** @param names those to tell apart, by tenant */
  async read(tenant: TenantScope, by: StatsRequest['by'], names: () => Promise<readonly string[]>): Promise<Depth> {
    const { store } = this.#options
    if (tenant !== null) {
      const depths = atLeastZero(await store.depthOfTenants([tenant]))
      return { total: depths.get(tenant) ?? 0, byName: by === 'tenant' ? depths : null }
    }
    const [queues, tenants] = await Promise.all([
      this.#ofQueues(),
      by === 'tenant' ? names().then((each) => store.depthOfTenants(each)) : null,
    ])
    const sum = [...queues.values()].reduce((total, depth) => total + depth, 0)
    const byName = by === 'queue' ? queues : tenants
    return { total: Math.max(0, sum), byName: byName && atLeastZero(byName) }
  }

  #ofQueues(): Promise<ReadonlyMap<string, number>> {
    const { store, clock } = this.#options
    const beganMs = clock.monotonicMs()
    if (this.#look !== null && beganMs < this.#look.untilMs) return this.#look.depths
    const look: Look = { depths: store.depthOfQueues(), untilMs: Number.POSITIVE_INFINITY }
    this.#look = look
    const keep = (): void => {
      const nowMs = clock.monotonicMs()
      look.untilMs = nowMs + Math.min(standsMostMs, standsFor * (nowMs - beganMs))
    }
    const forget = (): void => {
      look.untilMs = Number.NEGATIVE_INFINITY
    }
    look.depths.then(keep, forget)
    return look.depths
  }
}

/** A sum of slots that were read while tasks move may be below zero for a moment. */
const atLeastZero = (depths: ReadonlyMap<string, number>): ReadonlyMap<string, number> =>
  new Map([...depths].map(([name, depth]) => [name, Math.max(0, depth)]))
