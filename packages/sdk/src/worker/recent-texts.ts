/** Texts remembered at most. */
const MAX_TEXTS = 100

/** Tells whether a text was seen lately, so that what repeats itself is said once in a while only. */
export class RecentTexts {
  readonly #windowMs: number
  readonly #seenAt = new Map<string, number>()

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** True when the text was not seen within the window; it counts as seen from now on. */
  isNew(text: string, now: number = performance.now()): boolean {
    const seenAt = this.#seenAt.get(text)
    if (seenAt !== undefined && now - seenAt < this.#windowMs) return false
    if (this.#seenAt.size >= MAX_TEXTS) this.#seenAt.clear()
    this.#seenAt.set(text, now)
    return true
  }
}
