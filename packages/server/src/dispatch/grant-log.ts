/**
 * The numbers of a session's grants as this node saw them. The store counts them up one by one; a number that this node
 * never saw was given by another node (or by a commit whose answer was lost), and its tasks must be looked for.
 */
export class GrantLog {
  #contiguous: number
  readonly #ahead = new Set<number>()
  #sent: number

  /** @param known all grants up to this one are known or acknowledged. */
  constructor(known: number) {
    this.#contiguous = known
    this.#sent = known
  }

  /** All grants up to this one are known or acknowledged. */
  get contiguous(): number {
    return this.#contiguous
  }

  /** The highest number that this node knows of. */
  get highest(): number {
    return Math.max(this.#contiguous, ...this.#ahead)
  }

  /** The highest number that was part of an answer to the worker. */
  get highestSent(): number {
    return this.#sent
  }

  add(grant: number): void {
    if (grant <= this.#contiguous) return
    this.#ahead.add(grant)
    this.#close()
  }

  sent(grant: number): void {
    if (grant > this.#sent) this.#sent = grant
  }

  /** The store holds no grant above `grant` that waits for an acknowledgement. */
  nothingAbove(grant: number): void {
    this.#sent = grant
  }

  /** True when the store has given numbers up to `lastGrant` (default: the highest seen) of which some were never seen here. */
  hasGap(lastGrant = 0): boolean {
    return this.#ahead.size > 0 || lastGrant > this.#contiguous
  }

  /** All numbers up to this one are accounted for. */
  known(grant: number): void {
    if (grant <= this.#contiguous) return
    this.#contiguous = grant
    for (const number of this.#ahead) if (number <= grant) this.#ahead.delete(number)
    this.#close()
  }

  #close(): void {
    while (this.#ahead.delete(this.#contiguous + 1)) this.#contiguous++
  }
}
