import type { Clock } from '@duly/domain'

/** The node stops: what is under way ends between two steps, and the next pass begins it anew. */
export class Interrupted extends Error {
  constructor() {
    super('the pass was interrupted')
  }
}

export interface PaceOptions {
  readonly clock: Clock
  /** How much of the time may be spent on it, above 0 to 1 (no pauses). */
  readonly share: number
  readonly signal: AbortSignal
}

/** The longest pause between two steps. */
const longestPauseMs = 10_000

/** Spreads work over time: after each step a pause, so that steps take no more than their share of one connection. */
export class Pace {
  readonly #options: PaceOptions

  constructor(options: PaceOptions) {
    this.#options = options
  }

  /** Runs a step, then pauses in proportion to what it took. Rejects with `Interrupted` when the node stops. */
  async step<T>(work: () => Promise<T>): Promise<T> {
    const { clock, share, signal } = this.#options
    if (signal.aborted) throw new Interrupted()
    const beganMs = clock.monotonicMs()
    const result = await work()
    const pauseMs = (clock.monotonicMs() - beganMs) * (1 / share - 1)
    if (pauseMs > 0) await this.pause(Math.min(pauseMs, longestPauseMs))
    return result
  }

  async pause(ms: number): Promise<void> {
    await this.#options.clock.sleep(ms, this.#options.signal)
    if (this.#options.signal.aborted) throw new Interrupted()
  }
}
