import type { Uuid } from '@duly/domain'

/** A lease of one session. */
export interface Lease {
  readonly id: Uuid
  readonly attempt: number
  readonly token: bigint
}

/**
 * The leases of one session that no report has ended, as its node knows them. Each takes a slot, also one whose handler has
 * ended already. While the node serves the session it knows of every lease that the store holds, so that slots are never exceeded;
 * of one that ended elsewhere it may believe that it is held, until the store is asked ({@link Recounts}).
 */
export class HeldLeases {
  readonly #held = new Map<bigint, Lease>()
  /** Reports on these are under way: they take no slot any more, and do again if the report does not land. */
  readonly #reported = new Map<bigint, Lease>()

  /** How many slots are taken. */
  get size(): number {
    return this.#held.size
  }

  tokens(): bigint[] {
    return [...this.#held.keys()]
  }

  /** How many of these are held still. */
  countOf(tokens: readonly bigint[]): number {
    return tokens.reduce((count, token) => (this.#held.has(token) ? count + 1 : count), 0)
  }

  add(lease: Lease): void {
    const { id, attempt, token } = lease
    if (!this.#reported.has(token)) this.#held.set(token, { id, attempt, token })
  }

  /** A report on the lease came in. */
  report(lease: Lease): void {
    const held = this.#held.get(lease.token)
    // a report that names another task or attempt beside this token ends nothing
    if (held === undefined || held.id !== lease.id || held.attempt !== lease.attempt) return
    this.#held.delete(lease.token)
    this.#reported.set(lease.token, held)
  }

  /** The report on it was judged, or failed. What was not accepted may be held still. */
  settle(token: bigint, isAccepted: boolean): void {
    const lease = this.#reported.get(token)
    if (lease === undefined) return
    this.#reported.delete(token)
    if (!isAccepted) this.#held.set(token, lease)
  }

  /** It ended, by whoever's hand. */
  end(token: bigint): void {
    this.#held.delete(token)
  }

  /** The store's word, asked for when `before` was what this node believed: of that, only what the word names is held still. */
  replace(leases: readonly Lease[], before: readonly bigint[]): void {
    const named = new Set(leases.map(({ token }) => token))
    for (const token of before) if (!named.has(token)) this.#held.delete(token)
    for (const lease of leases) this.add(lease)
  }
}
