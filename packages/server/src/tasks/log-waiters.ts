import type { Clock, Uuid } from '@duly/domain'
import { Waiters } from './waiters.js'

/** So long a task counts as followed at another node after that said so, ms: the longest wait of a call, and some. */
const followedMs = 65_000
const maxFollowed = 10_000

/**
 * Callers who wait for lines of tasks, on this node; and which tasks are followed at others, so that only of those is told when lines
 * were written here: most logs nobody follows.
 */
export class LogWaiters {
  readonly #clock: Clock
  readonly #here = new Waiters()
  /** Lines that a task had at the last look, while somebody waits for it. */
  #seen = new Map<Uuid, number>()
  /** Until when a task counts as followed elsewhere (monotonic ms). */
  readonly #elsewhere = new Map<Uuid, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get ids(): Uuid[] {
    return this.#here.ids
  }

  /** Resolves when lines of the task are said to be there, when the time is up, or when the signal aborts. */
  wait(id: Uuid, waitMs: number, signal: AbortSignal): ReturnType<Waiters['wait']> {
    return this.#here.wait(id, waitMs, signal)
  }

  /** Lines were written for these tasks. */
  written(ids: Iterable<Uuid>): void {
    this.#here.finished(ids)
  }

  /** What a look at the store found for those that are waited for: wakes where the log has grown, or where no look was before. */
  looked(lines: ReadonlyMap<Uuid, number>): void {
    const grown = [...lines].flatMap(([id, count]) => (this.#seen.get(id) === count ? [] : [id]))
    this.#seen = new Map(lines)
    this.written(grown)
  }

  /** Somebody waits for lines of these tasks at another node. */
  followedElsewhere(ids: Iterable<Uuid>): void {
    const nowMs = this.#clock.monotonicMs()
    for (const id of ids) {
      this.#elsewhere.delete(id)
      this.#elsewhere.set(id, nowMs + followedMs)
    }
    // the oldest stand first
    for (const [id, untilMs] of this.#elsewhere) {
      if (untilMs > nowMs && this.#elsewhere.size <= maxFollowed) break
      this.#elsewhere.delete(id)
    }
  }

  /** Of these tasks, those that another node is to be told of. */
  toTell(ids: readonly Uuid[]): Uuid[] {
    if (this.#elsewhere.size === 0) return []
    const nowMs = this.#clock.monotonicMs()
    return ids.filter((id) => (this.#elsewhere.get(id) ?? 0) > nowMs)
  }
}
