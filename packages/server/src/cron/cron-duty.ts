import type { Uuid } from '@duly/domain'
import type { FiringStore, Unblocked } from '../store/firing-store.js'
import type { Fired, Firer } from './firer.js'

export interface CronDutyOptions {
  readonly firer: Firer
  readonly store: FiringStore
  readonly batch: number
  readonly onUnblocked: (tasks: readonly Unblocked[]) => void
}

/** An idle node looks this often: what another one set and did not tell of is at most that late. */
export const idleMs = 5_000
/** … and this often while a task waits for an older one's end, which may come at another node. */
const blockedMs = 1_000
const unblockLimit = 500
/** Half a second of work. */
const batchesPerPass = 10
/** Ends that this node listens for; beyond that, tasks are unblocked by the look. */
const maxAwaited = 10_000

/**
 * Every scheduler fires, none leads: one statement tells when the next definition is due, and the node sleeps until then. Who comes
 * second finds the rows locked or moved on.
 */
export class CronDuty {
  readonly #options: CronDutyOptions
  /** Running tasks that were told to stop here: at their end a task is unblocked at once. */
  readonly #awaited = new Set<Uuid>()
  /** The instant of the store to which this node sleeps. */
  #sleepsUntilMs = Number.POSITIVE_INFINITY

  constructor(options: CronDutyOptions) {
    this.#options = options
  }

  /** One pass. Answers in how many ms the next one is wanted. */
  async runOnce(): Promise<number> {
    const { firer, store, batch, onUnblocked } = this.#options
    this.#sleepsUntilMs = Number.POSITIVE_INFINITY
    const { nowMs, wakeAtMs, isBlocked } = await store.look()
    if (isBlocked) {
      const tasks = await store.unblock(unblockLimit)
      if (tasks.length > 0) onUnblocked(tasks)
      if (tasks.length === unblockLimit) return 0
    } else this.#awaited.clear()
    const idle = isBlocked ? blockedMs : idleMs
    const waitMs = wakeAtMs === null ? idle : Math.min(idle, wakeAtMs - nowMs)
    if (waitMs > 0) {
      this.#sleepsUntilMs = nowMs + waitMs
      return Math.max(1, waitMs)
    }
    const found = await this.#fire(firer, batch)
    // what is due and was not found is held by others: they fire it
    return found === 0 ? heldMs : found < batch ? 1 : 0
  }

  /** Batch after batch while they are full, for a while: what else the duty does waits as long. */
  async #fire(firer: Firer, batch: number): Promise<number> {
    let found = 0
    for (let n = 0; n < batchesPerPass; n++) {
      found = await firer.fire()
      if (found < batch) break
    }
    return found
  }

  /** True when a definition that is due then needs a pass that is not planned yet. */
  isSooner(wakeAtMs: number): boolean {
    return wakeAtMs < this.#sleepsUntilMs
  }

  fired({ stopping }: Fired): void {
    for (const { id } of stopping) if (this.#awaited.size < maxAwaited) this.#awaited.add(id)
  }

  /** True when one of these ends was waited for: a task may be unblocked now. */
  ended(ids: readonly Uuid[]): boolean {
    if (this.#awaited.size === 0) return false
    return ids.filter((id) => this.#awaited.delete(id)).length > 0
  }
}

/** Another node's transaction takes some ms. */
const heldMs = 20
