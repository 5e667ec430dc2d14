import type { Clock, Uuid } from '@duly/domain'
import type { Reservation } from '../dispatch/reservation.js'
import type { EndedTask } from '../model.js'
import type { DueTimer, Promoted, TimerStore } from '../store/timer-store.js'
import { TimerHeap } from './timer-heap.js'

export interface PromoterOptions {
  readonly store: TimerStore
  readonly clock: Clock
  readonly storeNowMs: () => number
  readonly partitions: readonly number[]
  readonly reserve: (task: { queue: string; taskType: string; tenant: string }) => Reservation | null
  readonly onReady: (promoted: readonly Promoted[]) => void
  readonly onExpired: (tasks: readonly EndedTask[]) => void
}

/** The store is asked for the timers of this much ahead … */
const horizonMs = 2_000
/** … this often; earlier ones that arrive at this node are added as they come. */
const peekEveryMs = 1_000
const peekLimit = 5_000
/** … and of one partition so many: a burst can be all in one, since a batch of submissions is. */
const partitionLimit = 500
const batchLimit = 500
/** A timer that the store does not find due is tried for this long, after pauses that double, then left to the next look. */
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
  /** Timers before this instant were all seen by the last look; behind it there may be more of them (ms of the store). */
  #seenUntilMs = Number.POSITIVE_INFINITY
  /** Timers that came true since the last look. */
  #done = 0

  constructor(options: PromoterOptions) {
    this.#options = options
  }

  /** A timer that was set at this node. True when it is due before the next look, so that the caller wakes the duty. */
  add(timer: DueTimer): boolean {
    return isSoon(timer, this.#options.storeNowMs()) && this.#heap.add(timer)
  }

  /** Another node set a timer that is due soon: the next pass looks. */
  lookSoon(): void {
    this.#peekedAtMs = Number.NEGATIVE_INFINITY
  }

  /** One pass: a look if it is time for one, then what is due, in bounded batches. Answers in how many ms to come again. */
  async runOnce(): Promise<number> {
    if (this.#isTimeToPeek()) await this.#peek()
    const due = this.#heap.takeDue(this.#options.storeNowMs(), batchLimit)
    if (due.length > 0) await this.#act(due)
    if (this.#isTimeToPeek()) return 0
    const nextPeekMs = this.#peekedAtMs + peekEveryMs - this.#options.clock.monotonicMs()
    const nextDueMs = this.#heap.nextMs - this.#options.storeNowMs()
    return Math.max(0, Math.min(nextPeekMs, nextDueMs))
  }

  /**
   * Once a second; and at once when what the last look saw is worked off and it did not see everything, unless nothing came
   * of it (others hold those tasks).
   */
  #isTimeToPeek(): boolean {
    if (this.#options.clock.monotonicMs() - this.#peekedAtMs >= peekEveryMs) return true
    const nowMs = this.#options.storeNowMs()
    return this.#done > 0 && this.#seenUntilMs <= nowMs && this.#heap.nextMs > nowMs
  }

  async #peek(): Promise<void> {
    const { store, partitions, clock } = this.#options
    const timers = await store.peek(partitions, { horizonMs, perPartition: partitionLimit, limit: peekLimit })
    this.#peekedAtMs = clock.monotonicMs()
    this.#seenUntilMs = seenUntil(timers)
    this.#done = 0
    for (const timer of timers) this.#heap.add(timer)
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
    this.#done += expired.length
    if (expired.length > 0) this.#options.onExpired(expired)
  }

  /** This node's idea of the store's time is off by up to some ms: what came too early is tried again at once. */
  #again(timers: readonly DueTimer[], done: ReadonlySet<Uuid>): void {
    const nowMs = this.#options.storeNowMs()
    for (const timer of timers) {
      const firstMs = timer.firstMs ?? timer.wakeAtMs
      if (done.has(timer.id) || nowMs - firstMs > clockErrorMs) continue
      this.#heap.add({ ...timer, firstMs, wakeAtMs: nowMs + Math.max(retryMs, nowMs - firstMs) })
    }
  }

  async #promote(timers: readonly DueTimer[]): Promise<void> {
    const reservations = new Map<Uuid, Reservation & { readonly queue: string }>()
    for (const timer of timers) {
      const reservation = timer.suspect ? null : this.#options.reserve(timer)
      if (!reservation) continue
      reservations.set(timer.id, { ...reservation, queue: timer.queue })
    }
    try {
      const result = await this.#options.store.promote(
        timers.map((timer) => ({ id: timer.id, handoff: reservations.get(timer.id) ?? null })),
      )
      for (const task of result.handedOff) {
        reservations.get(task.id)?.settle(task)
        reservations.delete(task.id)
      }
      this.#done += result.ready.length + result.handedOff.length
      if (result.ready.length > 0) this.#options.onReady(result.ready)
      this.#again(timers, new Set([...result.ready, ...result.handedOff].map((task) => task.id)))
    } finally {
      for (const reservation of reservations.values()) reservation.settle(null)
    }
  }
}

/** Due before the look that finds it anyway: worth a word. */
export const isSoon = (timer: DueTimer, storeNowMs: number): boolean => timer.wakeAtMs - storeNowMs < horizonMs

/** The instant up to which a look saw every timer: the last one of whichever limit cut it short. */
function seenUntil(timers: readonly DueTimer[]): number {
  const last = new Map<number, { count: number; wakeAtMs: number }>()
  for (const { partition, wakeAtMs } of timers) {
    last.set(partition, { count: (last.get(partition)?.count ?? 0) + 1, wakeAtMs })
  }
  const cut = [...last.values()].filter(({ count }) => count === partitionLimit).map(({ wakeAtMs }) => wakeAtMs)
  if (timers.length === peekLimit) cut.push(timers.at(-1)?.wakeAtMs ?? 0)
  return Math.min(...cut, Number.POSITIVE_INFINITY)
}
