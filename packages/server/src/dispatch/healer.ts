import type { SessionStore } from '../store/session-store.js'
import type { SessionState } from './session-state.js'
import type { Sessions } from './sessions.js'

export interface HealerOptions {
  readonly store: SessionStore
  readonly sessions: Sessions
  readonly storeNowMs: () => number
  /** The poll of a session that was looked into may wait for tasks now. */
  readonly onHealed: (state: SessionState) => void
}

/** What was handed out so long ago may have been ended by others: the store's word comes first. */
const staleMs = 5_000
/** Sessions that are looked into at one look. */
const maxDoubted = 200

/** Finds out what sessions were given that this node knows nothing of, so that each gets it, and no more than it has slots for. */
export class Healer {
  readonly #options: HealerOptions
  /** Poll, and are not served. */
  readonly #doubted = new Set<SessionState>()
  readonly #healing = new Map<SessionState, Promise<void>>()

  constructor(options: HealerOptions) {
    this.#options = options
  }

  /**
   * A worker polls, and acknowledges so much: what it was given beyond that waits in its mailbox then, and this node serves its
   * session.
   */
  async fetch(state: SessionState, acknowledged: number): Promise<void> {
    const { sessions } = this.#options
    let lastGrant = state.isServed ? null : await sessions.serve(state)
    const received = await sessions.acknowledge(state, acknowledged, lastGrant ?? 0)
    // it acknowledged what another node gave it
    if (!state.isServed) lastGrant = await sessions.serve(state)
    const isCertain = received >= state.grants.highestSent && state.leaving.length === 0 && !this.#isStale(state)
    if (lastGrant === null && isCertain) return
    await this.repeat(state, received, lastGrant ?? 0)
  }

  #isStale(state: SessionState): boolean {
    const nowMs = this.#options.storeNowMs()
    return state.mailbox.some((task) => nowMs - task.startedAtMs > staleMs)
  }

  /** Gives out again what was granted and not acknowledged. All is known then up to `lastGrant` and what had been seen. */
  async repeat(state: SessionState, received: number, lastGrant = 0): Promise<void> {
    const before = state.unfetched
    const seen = Math.max(lastGrant, state.grants.highest)
    const tasks = await this.#options.store.repeat(state.row.id, received)
    if (tasks.length === 0) state.grants.nothingAbove(received)
    state.grants.known(seen)
    state.refill(tasks, before)
  }

  /** Looks for what the session was given that this node never saw, and serves it if it polls here. One look at a time. */
  heal(state: SessionState, lastGrant = 0): Promise<void> {
    const healing = this.healing(state)
    if (healing) return healing
    const fresh = this.#heal(state, lastGrant).finally(() => this.#healing.delete(state))
    this.#healing.set(state, fresh)
    return fresh
  }

  /** The look that is under way. */
  healing(state: SessionState): Promise<void> | undefined {
    return this.#healing.get(state)
  }

  async #heal(state: SessionState, seen: number): Promise<void> {
    const { sessions, onHealed } = this.#options
    const lastGrant = state.isPolling && !state.isServed ? await sessions.serve(state) : seen
    await this.repeat(state, state.received, Math.max(seen, lastGrant))
    onHealed(state)
  }

  /** The same without waiting for it; the slow look tries again. */
  start(state: SessionState, lastGrant = 0): void {
    void this.heal(state, lastGrant).catch(() => {
      this.#options.sessions.doubt(state)
      this.note(state)
    })
  }

  /** If the session polls and is not served, the next look sees to it. */
  note(state: SessionState): void {
    if (state.isPolling && !state.isServed) this.#doubted.add(state)
  }

  look(): void {
    for (const state of [...this.#doubted].slice(0, maxDoubted)) {
      this.#doubted.delete(state)
      if (state.isPolling && !state.isServed) this.start(state)
    }
  }
}
