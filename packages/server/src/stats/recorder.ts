import type { StatsStore } from '../store/stats-store.js'
import { Minute } from './cells.js'

export interface RecorderOptions {
  readonly store: StatsStore
  /** Null while the store's clock is not known: what happens then counts in the minute before. */
  readonly storeNowMs: () => number | null
}

const minuteMs = 60_000
/** Minutes that are kept for a store that is away; older ones are given up. */
const maxMinutes = 10

/**
 * Counts what this node's parts tell, minute by minute, and writes it down every few seconds. A node that is killed takes with it
 * what it counted since it last wrote.
 */
export class Recorder {
  readonly #options: RecorderOptions
  readonly #minutes = new Map<number, Minute>()
  #current = new Minute(0)
  #flushing: Promise<void> = Promise.resolve()

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  /** The minute that it is now, to count in. Never an earlier one than before: what is done with is not begun anew. */
  now(): Minute {
    const nowMs = this.#options.storeNowMs()
    if (nowMs !== null && nowMs >= this.#current.startMs + minuteMs) this.#current = this.#begin(nowMs)
    if (nowMs !== null && nowMs > this.#current.atMs)
      this.#current.atMs = Math.min(nowMs, this.#current.startMs + minuteMs)
    return this.#current
  }

  /** Writes what changed. Rows are whole, not differences: one that is written twice, or whose answer is lost, counts once. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.catch(() => {}).then(() => this.#flush())
    return this.#flushing
  }

  #begin(nowMs: number): Minute {
    const minute = new Minute(Math.floor(nowMs / minuteMs) * minuteMs)
    this.#minutes.set(minute.startMs, minute)
    for (const startMs of this.#minutes.keys()) {
      if (this.#minutes.size <= maxMinutes) break
      this.#minutes.delete(startMs)
    }
    return minute
  }

  async #flush(): Promise<void> {
    for (const minute of [...this.#minutes.values()]) {
      if (minute.isDirty) await this.#write(minute)
      if (minute !== this.now() && !minute.isDirty) this.#minutes.delete(minute.startMs)
    }
  }

  async #write(minute: Minute): Promise<void> {
    const { rows, again } = minute.take(this.#options.storeNowMs() ?? minute.atMs)
    try {
      await this.#options.store.writeMinute(rows)
    } catch (error) {
      again()
      throw error
    }
  }
}
