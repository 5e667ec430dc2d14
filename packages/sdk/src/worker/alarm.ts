/** Longest delay that a timer of Node takes, ms; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * One timer for the earliest of many instants, of the monotonic clock. Setting a later instant costs a comparison, so an
 * attempt that ends in time never costs a timer of its own.
 */
export class Alarm {
  readonly #ring: (now: number) => number
  #at = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | null = null

  /** `ring` acts on what is due and tells the next instant (`Infinity`: none). */
  constructor(ring: (now: number) => number) {
    this.#ring = ring
  }

  /** Makes sure that it rings at this instant or before. */
  setAt(instant: number): void {
    if (instant >= this.#at) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#at = instant
    const delay = Math.min(LONGEST_MS, Math.max(0, Math.ceil(instant - performance.now())))
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#at = Number.POSITIVE_INFINITY
      this.setAt(this.#ring(performance.now()))
    }, delay)
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#at = Number.POSITIVE_INFINITY
  }
}
