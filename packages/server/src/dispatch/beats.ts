import type { Uuid } from '@duly/domain'
import { Batcher } from '../base/batcher.js'
import { busy } from '../base/busy.js'
import type { HeartbeatRequest } from '../model.js'
import type { BeatAnswer, HeldLease, SessionStore } from '../store/session-store.js'
import type { Acknowledgements } from './acknowledgements.js'
import { recount } from './recounts.js'
import type { SessionState } from './session-state.js'

export interface BeatsOptions {
  readonly store: SessionStore
  readonly acknowledgements: Acknowledgements
  /** Beats that may wait for their turn. */
  readonly limit: number
  /** The store said that the session lives. */
  readonly onAlive: (state: SessionState, answer: BeatAnswer) => void
}

interface Beating {
  readonly state: SessionState
  readonly request: HeartbeatRequest
}

export interface BeatResult {
  /** Null: the session is dead. */
  readonly answer: BeatAnswer | null
  readonly held: readonly HeldLease[]
}

/** Heartbeats as they are written: those that arrive together share their statements. */
export class Beats {
  readonly #options: BeatsOptions
  readonly #batcher: Batcher<Beating, BeatResult>

  constructor(options: BeatsOptions) {
    this.#options = options
    this.#batcher = new Batcher({
      maxItems: 500,
      maxBytes: Number.POSITIVE_INFINITY,
      full: { items: options.limit, bytes: Number.POSITIVE_INFINITY },
      lanes: 1,
      run: (beats) => this.#writeAll(beats),
    })
  }

  /** Renews the session's lease. Rejects as busy when too many wait for that. */
  async write(state: SessionState, request: HeartbeatRequest): Promise<BeatResult> {
    if (this.#batcher.isFull) throw busy('heartbeats')
    return this.#batcher.add({ state, request })
  }

  async #writeAll(beats: readonly Beating[]): Promise<BeatResult[]> {
    const { store, acknowledgements, onAlive } = this.#options
    const answers = new Map<Uuid, BeatAnswer>()
    for (const answer of await store.beat(rowsOf(beats))) answers.set(answer.session, answer)
    // an acknowledgement that a beat brings is durable before the beat is answered: a suspect starts only then
    await acknowledgements.save(answers.keys())
    const alive = beats.flatMap(({ state }) => (answers.has(state.row.id) ? [state] : []))
    const held = await recount(store, alive)
    return beats.map(({ state }) => {
      const answer = answers.get(state.row.id) ?? null
      if (answer) onAlive(state, answer)
      return { answer, held: held.get(state.row.id) ?? [] }
    })
  }
}

/** One row a session: the last of its beats. */
function rowsOf(beats: readonly Beating[]) {
  const rows = beats.map(({ state, request: { lagMs, rssBytes } }) => ({
    session: state.row.id,
    lagMs,
    // any number comes over the wire, and what the store cannot hold would fail the beats of all
    rssBytes: rssBytes === null ? null : Math.min(Math.round(rssBytes), Number.MAX_SAFE_INTEGER),
  }))
  return [...new Map(rows.map((row) => [row.session, row])).values()]
}
