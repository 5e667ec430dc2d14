import { setTimeout as delay } from 'node:timers/promises'

export interface BacklogOptions {
  /** How many tasks are open now. */
  readonly count: () => Promise<number>
  /** So many may be. */
  readonly limit: number
}

/** A count is believed for so long. */
const LOOK_MS = 200
/** A store that says nothing for so long is what the test is about. */
const PATIENCE_MS = 1_000

/**
 * How much of what clients asked for is not done yet. While it is more than the limit they wait, so that no load runs ahead of a machine
 * that is slow, and all of it can be done in a bounded time once they stop. A store that can't be asked holds nobody up.
 */
export class Backlog {
  readonly #options: BacklogOptions
  #look: Promise<void> = Promise.resolve()
  #isLooking = false
  #lookedAt = Number.NEGATIVE_INFINITY
  #isFull = false
  /** The most that was seen. */
  highest = 0

  constructor(options: BacklogOptions) {
    this.#options = options
  }

  /** Resolves when there is room for more, or when the signal aborts. */
  async untilRoom(signal = new AbortController().signal): Promise<void> {
    for (;;) {
      await this.#renew()
      if (signal.aborted || !this.#isFull) return
      await delay(LOOK_MS, undefined, { signal }).catch(() => {}) // woken early to stop
    }
  }

  async #renew(): Promise<void> {
    if (!this.#isLooking && performance.now() - this.#lookedAt >= LOOK_MS) this.#look = this.#count()
    let isSilent = true
    await Promise.race([this.#look.then(() => (isSilent = false)), delay(PATIENCE_MS, undefined, { ref: false })])
    if (isSilent) this.#isFull = false
  }

  /** One at a time: a store that hangs gets no second question. */
  async #count(): Promise<void> {
    this.#isLooking = true
    try {
      const open = await this.#options.count()
      this.highest = Math.max(this.highest, open)
      this.#isFull = open > this.#options.limit
    } catch {
      this.#isFull = false
    } finally {
      this.#isLooking = false
      this.#lookedAt = performance.now()
    }
  }
}
