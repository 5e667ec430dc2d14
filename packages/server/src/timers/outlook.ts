import type { Clock } from '@duly/domain'
import type { DueTimer, TimerStore } from '../store/timer-store.js'

export interface OutlookOptions {
  readonly store: TimerStore
  readonly clock: Clock
  readonly storeNowMs: () => number
  readonly horizonMs: number
  readonly peekLimit: number
  readonly partitionLimit: number
}

/** So often, when nothing asks for more: twice in a horizon, so that what is set beyond it is seen before its time. */
const peekEveryMs = 2_500
/** Looks that are asked for are that far apart, however many ask … */
const gapMs = 10
/** … and that far ahead of what they are asked for. */
const aheadMs = 20

/** When to look at the store for the timers to come: every other second, when what was seen is worked off, and when told to. */
export class Outlook {
  readonly #options: OutlookOptions
  #lookedAtMs = Number.NEGATIVE_INFINITY
  /** The earliest timer that was told of and not looked for (ms of the store). */
  #toldMs = Number.POSITIVE_INFINITY
  /** Timers before this instant were all seen by the last look; behind it there may be more of them (ms of the store). */
  #seenUntilMs = Number.POSITIVE_INFINITY
  /** Timers that came true since the last look. */
  #done = 0

  constructor(options: OutlookOptions) {
    this.#options = options
  }

  /** Told of a timer at that instant; of minus infinity: at once. */
  lookFor(atMs: number): void {
    this.#toldMs = Math.min(this.#toldMs, atMs)
  }

  done(count: number): void {
    this.#done += count
  }

  /** @param nextMs the earliest timer that is known */
  isTime(nextMs: number): boolean {
    return this.pauseMs(nextMs) <= 0
  }

  /** In how many ms the next look is wanted. */
  pauseMs(nextMs: number): number {
    const sinceMs = this.#options.clock.monotonicMs() - this.#lookedAtMs
    if (this.#toldMs === Number.NEGATIVE_INFINITY || this.#isWorkedOff(nextMs)) return 0
    const toldMs = Math.max(gapMs - sinceMs, this.#toldMs - aheadMs - this.#options.storeNowMs())
    return Math.min(peekEveryMs - sinceMs, toldMs)
  }

  /** The last look did not see everything, and what it saw is done; unless nothing came of it (others hold those tasks). */
  #isWorkedOff(nextMs: number): boolean {
    const nowMs = this.#options.storeNowMs()
    return this.#done > 0 && this.#seenUntilMs <= nowMs && nextMs > nowMs
  }

  async look(partitions: readonly number[]): Promise<DueTimer[]> {
    const { store, clock, horizonMs, partitionLimit, peekLimit } = this.#options
    const toldMs = this.#toldMs
    this.#toldMs = Number.POSITIVE_INFINITY
    try {
      const timers = await store.peek(partitions, { horizonMs, perPartition: partitionLimit, limit: peekLimit })
      this.#lookedAtMs = clock.monotonicMs()
      this.#seenUntilMs = this.#seenUntil(timers)
      this.#done = 0
      return timers
    } catch (error) {
      this.lookFor(toldMs)
      throw error
    }
  }

  /** The instant up to which a look saw every timer: the last one of whichever limit cut it short. */
  #seenUntil(timers: readonly DueTimer[]): number {
    const { partitionLimit, peekLimit } = this.#options
    const last = new Map<number, { count: number; wakeAtMs: number }>()
    for (const { partition, wakeAtMs } of timers) {
      last.set(partition, { count: (last.get(partition)?.count ?? 0) + 1, wakeAtMs })
    }
    const cut = [...last.values()].filter(({ count }) => count === partitionLimit).map(({ wakeAtMs }) => wakeAtMs)
    if (timers.length === peekLimit) cut.push(timers.at(-1)?.wakeAtMs ?? 0)
    return Math.min(...cut, Number.POSITIVE_INFINITY)
  }
}
