/** Leases remembered at least, after they arrived. */
const REMEMBERED = 10_000

/**
 * Leases that arrived lately: a grant whose acknowledgement crossed the server's answer comes a second time. Two
 * generations bound the memory without moving an entry: the older one is dropped when the younger is full.
 */
export class SeenLeases {
  #young = new Set<string>()
  #old = new Set<string>()

  /** Whether the lease is new; it is remembered from now on. */
  add(lease: string): boolean {
    if (this.#young.has(lease) || this.#old.has(lease)) return false
    if (this.#young.size >= REMEMBERED) {
      this.#old = this.#young
      this.#young = new Set()
    }
    this.#young.add(lease)
    return true
  }
}
