import { setTimeout as delay } from 'node:timers/promises'
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
/** Tasks that are looked at in one such look: some ms of work, however many wait. */
const blockedLook = 1_000
const firstId = '00000000-0000-0000-0000-000000000000' as Uuid
/** What is late by so much was passed over by looks: others hold it, one after the other, or there is more than the fleet can fire. */
const heldAfterMs = 200
/** The line for a definition that others hold moves on within some ms for each of them. Who stands still there is not waited for again … */
const heldWaitMs = 500
/** … for so long. */
const heldPauseMs = 10_000
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
  /** Running tasks that were told to stop here, with their definitions: at their end a task is unblocked at once. */
  readonly #awaited = new Map<Uuid, Uuid>()
  /** Definitions of which one has ended. */
  readonly #freed = new Set<Uuid>()
  /** Where the next look at what waits begins. */
  #after = firstId
  /** The instant of the store to which this node sleeps. */
  #sleepsUntilMs = Number.POSITIVE_INFINITY
  /** Before that instant of the store nothing is waited for. */
  #waitsFromMs = Number.NEGATIVE_INFINITY

  constructor(options: CronDutyOptions) {
    this.#options = options
  }

  /** One pass. Answers in how many ms the next one is wanted. */
  async runOnce(): Promise<number> {
    const { store, batch } = this.#options
    this.#sleepsUntilMs = Number.POSITIVE_INFINITY
    const { nowMs, wakeAtMs, isBlocked } = await store.look()
    if (isBlocked) await this.#unblock()
    else {
      this.#awaited.clear()
      this.#freed.clear()
    }
    const idle = isBlocked ? blockedMs : idleMs
    const waitMs = wakeAtMs === null ? idle : Math.min(idle, wakeAtMs - nowMs)
    if (waitMs > 0) {
      this.#sleepsUntilMs = nowMs + waitMs
      return Math.max(1, waitMs)
    }
    const found = await this.#fireAll(nowMs, -waitMs)
    // what is due and was not found is held by others: they fire it
    return found === 0 ? heldMs : found < batch ? 1 : 0
  }

  /** What waits for an end that came here; and of the rest, the next part: that end may have come elsewhere. */
  async #unblock(): Promise<void> {
    const { store, onUnblocked } = this.#options
    const freed = [...this.#freed].slice(0, blockedLook)
    const known = freed.length === 0 ? [] : await store.unblock(freed, blockedLook)
    for (const id of freed) this.#freed.delete(id)
    const { tasks, next } = await store.unblockNext(this.#after, blockedLook)
    this.#after = next ?? firstId
    if (known.length + tasks.length > 0) onUnblocked([...known, ...tasks])
  }

  /** What falls due while the one that is held is waited for does not stand in that line. */
  async #fireAll(nowMs: number, lateMs: number): Promise<number> {
    const held = this.#fireHeld(nowMs, lateMs)
    // until it is waited for below
    held.catch(() => {})
    for (;;) {
      const found = await this.#fire()
      if (await Promise.race([held.then(() => true), delay(heldMs, false)])) return found
    }
  }

  /** Batch after batch while they are full, for a while: what else the duty does waits as long. */
  async #fire(): Promise<number> {
    const { firer, batch } = this.#options
    let found = 0
    for (let n = 0; n < batchesPerPass; n++) {
      found = await firer.fire()
      if (found < batch) break
    }
    return found
  }

  async #fireHeld(nowMs: number, lateMs: number): Promise<void> {
    if (lateMs < heldAfterMs || nowMs < this.#waitsFromMs) return
    if (!(await this.#options.firer.fireHeld(heldWaitMs))) this.#waitsFromMs = nowMs + heldPauseMs
  }

  /** True when a definition that is due then needs a pass that is not planned yet. */
  isSooner(wakeAtMs: number): boolean {
    return wakeAtMs < this.#sleepsUntilMs
  }

  fired({ stopping }: Fired): void {
    for (const { id, cronId } of stopping) if (this.#awaited.size < maxAwaited) this.#awaited.set(id, cronId)
  }

  /** True when one of these ends was waited for: a task may be unblocked now. */
  ended(ids: readonly Uuid[]): boolean {
    if (this.#awaited.size === 0) return false
    const crons = ids.flatMap((id) => this.#awaited.get(id) ?? [])
    for (const id of ids) this.#awaited.delete(id)
    for (const cron of crons) this.#freed.add(cron)
    return crons.length > 0
  }
}

/** Another node's transaction takes some ms. */
const heldMs = 20
