import type { Clock, Uuid } from '@duly/domain'
import type { Reservation } from '../dispatch/dispatcher.js'
import type { DueTimer, Promoted, TimerStore } from '../store/timer-store.js'
import { TimerHeap } from './timer-heap.js'

export interface PromoterOptions {
  readonly store: TimerStore
  readonly clock: Clock
  readonly storeNowMs: () => number
  readonly partitions: readonly number[]
  readonly reserve: (task: { queue: string; taskType: string; tenant: string }) => Reservation | null
  readonly onReady: (promoted: readonly Promoted[]) => void
  readonly onExpired: (ids: readonly Uuid[]) => void
}

/** The store is asked for the timers of this much ahead … */
const horizonMs = 2_000
/** … this often; earlier ones that arrive at this node are added as they come. */
const peekEveryMs = 1_000
const peekLimit = 5_000
const batchLimit = 500
/** A timer that the store does not find due is tried for this long, every some ms, then left to the next look. */
const clockErrorMs = 50
const retryMs = 2

/**
 * Promotes tasks whose time has come. The next two seconds are held in memory as hints, so a task is promoted within
 * milliseconds of its instant by a sleep until just then, not by a tick; whether it is due is the store's decision (I8).
 */
export class Promoter {
  readonly #options: PromoterOptions
  readonly #heap = new TimerHeap(20_000)
  #peekedAtMs = Number.NEGATIVE_INFINITY
  #wasFull = false

  constructor(options: PromoterOptions) {
    this.#options = options
  }

  /** A timer that was set at this node. True when it is due before the next look, so that the caller wakes the duty. */
  add(timer: DueTimer): boolean {
    return timer.wakeAtMs - this.#options.storeNowMs() < horizonMs && this.#heap.add(timer)
  }

  /** Another node set a timer that is due soon: the next pass looks. */
  lookSoon(): void {
    this.#peekedAtMs = Number.NEGATIVE_INFINITY
  }

  /** One pass: a look if it is time for one, then what is due, in bounded batches. Answers in how many ms to come again. */
  async runOnce(): Promise<number> {
    const { clock } = this.#options
    if (this.#wasFull || clock.monotonicMs() - this.#peekedAtMs >= peekEveryMs) await this.#peek()
    const due = this.#heap.takeDue(this.#options.storeNowMs(), batchLimit)
    if (due.length > 0) await this.#act(due)
    const nextPeekMs = this.#wasFull ? 0 : this.#peekedAtMs + peekEveryMs - clock.monotonicMs()
    const nextDueMs = this.#heap.nextMs - this.#options.storeNowMs()
    return Math.max(0, Math.min(nextPeekMs, nextDueMs))
  }

  async #peek(): Promise<void> {
    const { store, partitions, clock } = this.#options
    const perPartition = Math.max(50, Math.ceil(peekLimit / partitions.length))
    const timers = await store.peek(partitions, { horizonMs, perPartition, limit: peekLimit })
    this.#peekedAtMs = clock.monotonicMs()
    const nowMs = this.#options.storeNowMs()
    for (const timer of timers) this.#heap.add(timer)
    // a full look of overdue timers is followed by another one at once; otherwise the horizon covers the pause
    this.#wasFull = timers.length === peekLimit && (timers.at(-1)?.wakeAtMs ?? 0) < nowMs
  }

  async #act(timers: readonly DueTimer[]): Promise<void> {
    const promotable = timers.filter((timer) => timer.status === 'SCHEDULED' || timer.status === 'RETRYING')
    if (promotable.length > 0) await this.#promote(promotable)
    const expiring = timers.map((timer) => timer.id)
    const mayExpire = timers.some(
      (timer) => timer.status === 'PENDING' || timer.status === 'BLOCKED' || timer.mayExpire,
    )
    if (!mayExpire) return
    const expired = await this.#options.store.expire(expiring)
    if (expired.length > 0) this.#options.onExpired(expired)
  }

  /** This node's idea of the store's time is off by up to some ms: what came too early is tried again at once. */
  #again(timers: readonly DueTimer[], done: ReadonlySet<Uuid>): void {
    const nowMs = this.#options.storeNowMs()
    for (const timer of timers) {
      const firstMs = timer.firstMs ?? timer.wakeAtMs
      if (done.has(timer.id) || nowMs - firstMs > clockErrorMs) continue
      this.#heap.add({ ...timer, firstMs, wakeAtMs: nowMs + retryMs })
    }
  }

  async #promote(timers: readonly DueTimer[]): Promise<void> {
    const reservations = new Map<Uuid, Reservation>()
    for (const timer of timers) {
      const reservation = timer.suspect ? null : this.#options.reserve(timer)
      if (!reservation) continue
      reservations.set(timer.id, reservation)
    }
    try {
      const result = await this.#options.store.promote(
        timers.map((timer) => ({ id: timer.id, handoff: reservations.get(timer.id) ?? null })),
      )
      for (const task of result.handedOff) {
        reservations.get(task.id)?.settle(task)
        reservations.delete(task.id)
      }
      if (result.ready.length > 0) this.#options.onReady(result.ready)
      this.#again(timers, new Set([...result.ready, ...result.handedOff].map((task) => task.id)))
    } finally {
      for (const reservation of reservations.values()) reservation.settle(null)
    }
  }
}
