/**
 * Delays between tries that fail in a row: full jitter over an exponentially growing ceiling, so that many clients that
 * fail together do not come back together, with a floor, so that no row of failures becomes a hot loop.
 */
export class Backoff {
  readonly #floorMs: number
  readonly #baseMs: number
  readonly #capMs: number
  readonly #random: () => number
  #failures = 0

  constructor(options: BackoffOptions) {
    this.#floorMs = options.floorMs ?? 10
    this.#baseMs = options.baseMs
    this.#capMs = options.capMs
    this.#random = options.random ?? Math.random
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures
  }

  /** The delay before the next try, ms. A `Retry-After` of the server is waited out, up to the cap, and spread upwards. */
  next(retryAfterMs: number | null = null): number {
    const ceiling = Math.min(this.#capMs, this.#baseMs * 2 ** Math.min(this.#failures, 30))
    this.#failures += 1
    const drawn = Math.max(this.#floorMs, this.#random() * ceiling)
    return retryAfterMs === null ? drawn : Math.min(retryAfterMs, this.#capMs) + this.#random() * this.#baseMs
  }

  reset(): void {
    this.#failures = 0
  }
}

export interface BackoffOptions {
  /** Ceiling of the first delay, ms; it doubles with each failure. */
  readonly baseMs: number
  /** Highest ceiling, ms. */
  readonly capMs: number
  /** Shortest delay, ms; 10 unless given. */
  readonly floorMs?: number
  readonly random?: () => number
}

/** Waits, or rejects with the signal's reason as soon as it aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
