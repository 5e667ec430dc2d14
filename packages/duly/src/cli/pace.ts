import { setTimeout as delay } from 'node:timers/promises'

/** Spaces out what would otherwise happen all at once: evenly, so many a second at most. */
export class Pace {
  readonly #spacingMs: number
  #nextAt = 0

  constructor(
    perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#spacingMs = 1_000 / perSecond
  }

  /** How long from now the next one has to wait, ms; each call takes a place. */
  take(): number {
    const now = this.now()
    const at = Math.max(now, this.#nextAt)
    this.#nextAt = at + this.#spacingMs
    return at - now
  }

  /** Resolves when the next one may happen. Rejects when the signal aborts before. */
  async next(signal: AbortSignal): Promise<void> {
    const waitMs = this.take()
    // A timer of Node may ring up to 1 ms early.
    if (waitMs > 0) await delay(Math.ceil(waitMs), undefined, { signal })
  }
}
