import type { Clock, Uuid } from '@duly/domain'
import { groupBy } from '../base/group-by.js'
import type { HeldLease, SessionStore } from '../store/session-store.js'
import type { Excess, SessionState } from './session-state.js'

export interface RecountsOptions {
  readonly store: SessionStore
  readonly clock: Clock
  /** What the session holds was counted anew: it may have room now. */
  readonly onCounted: (state: SessionState) => void
}

/** A report that left the worker beside its poll is here by then. */
const reportsWithinMs = 10
/** Sessions whose leases one statement reads. */
const heldLimit = 500

/**
 * Workers that ask for more slots than their sessions have room for: most have just reported, over this node or another, or have
 * lost an attempt to its time limit. So the store is asked what they hold; whoever holds it still waits until it has reported.
 */
export class Recounts {
  readonly #options: RecountsOptions
  /** To be asked about when a report has had its time. */
  #fresh = new Map<SessionState, Excess>()
  /** Were asked about, in vain, and poll still. */
  #standing = new Map<SessionState, Excess>()

  constructor(options: RecountsOptions) {
    this.#options = options
  }

  add(state: SessionState, excess: Excess): void {
    if (this.#fresh.size === 0) {
      void this.#options.clock.sleep(reportsWithinMs).then(() => {
        const fresh = this.#fresh
        this.#fresh = new Map()
        // the slow look asks again
        return this.count(fresh).catch(() => {})
      })
    }
    this.#fresh.set(state, excess)
  }

  /** Asks once more about those that wait; once a second. */
  look(): Promise<void> {
    const polling = [...this.#standing].filter(([state]) => state.isPolling)
    this.#standing = new Map(polling)
    return this.count(this.#standing)
  }

  /** Asks the store about those of them whose excess no report has ended. */
  async count(asked: ReadonlyMap<SessionState, Excess>): Promise<void> {
    const entries = [...asked].filter(([state, excess]) => isExcess(state, excess))
    for (let from = 0; from < entries.length; from += heldLimit) {
      const some = new Map(entries.slice(from, from + heldLimit))
      for (const [state, excess] of some) this.#standing.set(state, excess)
      await recount(this.#options.store, [...some.keys()])
      for (const [state, excess] of some) {
        if (!isExcess(state, excess)) this.#standing.delete(state)
        this.#options.onCounted(state)
      }
    }
  }
}

/** Brings what these sessions hold up to date, by the store's word, and answers it. */
export async function recount(
  store: SessionStore,
  states: readonly SessionState[],
): Promise<ReadonlyMap<Uuid, readonly HeldLease[]>> {
  if (states.length === 0) return new Map()
  const before = new Map(states.map((state) => [state, state.leases.tokens()]))
  const held = groupBy(await store.held([...before.keys()].map(({ row }) => row.id)), ({ session }) => session)
  for (const [state, tokens] of before) state.leases.replace(held.get(state.row.id) ?? [], tokens)
  return held
}

const isExcess = (state: SessionState, { tokens, allowed }: Excess): boolean => state.leases.countOf(tokens) > allowed
