import type { Uuid } from '@duly/domain'
import type { Logger } from 'pino'
import type { RenewedCron, ZonedCron, ZoneStore } from '../store/zone-store.js'
import { nextAfter, wakeAt } from './schedule.js'

export interface ZoneDataOptions {
  readonly store: ZoneStore
  readonly log: Logger
  readonly node: string
  /** The version of the rules of time zones that this process has, e.g. `2026a`: they sort as text. */
  readonly own: string
  /** Whether this node computes anew what was computed by older rules. */
  readonly renews: boolean
  /** Definitions of one look. */
  readonly batch: number
  /** A definition is due then. */
  readonly onScheduled: (wakeAtMs: number) => void
}

/** While nodes differ, each may write a next time by its own rules. */
const everyMs = 300_000
const firstId = '00000000-0000-0000-0000-000000000000' as Uuid

/**
 * Rules of time zones come with the runtime, and change by law. The deployment remembers by which its next fire times were computed;
 * a node that knows newer ones computes them anew. It is remembered only when no node has older ones any more: those go on computing by
 * theirs.
 */
export class ZoneData {
  readonly #options: ZoneDataOptions

  constructor(options: ZoneDataOptions) {
    this.#options = options
  }

  /** One look. Answers in how many ms the next one is wanted. */
  async runOnce(signal: AbortSignal): Promise<number> {
    const { store, node, own, renews, log } = this.#options
    const remembered = await store.say(node, own)
    if (remembered === own) return everyMs
    if (remembered !== null && own < remembered) {
      // from now on not all are by newer rules: whoever has them looks again
      const isNews = await store.remember(own, remembered)
      if (isNews) log.warn({ timeZoneData: own, remembered }, 'this node has older time zone data than others')
      return everyMs
    }
    if (!renews) return everyMs
    const renewed = await this.#renewAll(signal)
    if (signal.aborted) return everyMs
    await store.remember(own, remembered)
    if (renewed > 0) log.info({ renewed, timeZoneData: own, remembered }, 'fire times were computed anew')
    return everyMs
  }

  async #renewAll(signal: AbortSignal): Promise<number> {
    const { store, batch, onScheduled } = this.#options
    let count = 0
    for (let after: Uuid | null = firstId; after !== null && !signal.aborted; ) {
      const { zoned, next }: Awaited<ReturnType<ZoneStore['page']>> = await store.page(after, batch)
      const renewed = await store.renew(zoned.flatMap((cron) => renewedOf(cron) ?? []))
      for (const { wakeAtMs } of renewed) if (wakeAtMs !== null) onScheduled(wakeAtMs)
      count += renewed.length
      after = next
    }
    return count
  }
}

/** Null: by these rules, too, it comes when it was to come, or it can't be evaluated, which is told when it is due. */
function renewedOf({ id, version, jitterMs, nextFireAtMs, judgedAtMs, ...timing }: ZonedCron): RenewedCron | null {
  try {
    const nextMs = nextAfter({ ...timing, everyMs: null, anchorAtMs: 0 }, Math.round(judgedAtMs))
    if (nextMs === nextFireAtMs) return null
    return { id, version, fromMs: nextFireAtMs, nextMs, wakeAtMs: wakeAt(id, jitterMs, nextMs) }
  } catch {
    return null
  }
}
