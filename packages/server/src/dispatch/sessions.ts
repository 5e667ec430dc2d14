import { type Clock, DulyError, type IdMinter, type TenantScope, type Uuid } from '@duly/domain'
import type { HeartbeatAnswer, HeartbeatRequest, SessionRef, WorkerRegistration, WorkerSession } from '../model.js'
import type { ProgressStore } from '../store/progress-store.js'
import type { SessionStore } from '../store/session-store.js'
import { Acknowledgements } from './acknowledgements.js'
import { Beats } from './beats.js'
import { storeHandlerWrites } from './handler-writes.js'
import { Profiles } from './profile.js'
import { recount } from './recounts.js'
import { SessionState } from './session-state.js'
import { Sleepers } from './sleepers.js'
import { tell } from './tidings.js'

export interface SessionsOptions {
  readonly store: SessionStore
  readonly progress: ProgressStore
  readonly minter: IdMinter
  readonly clock: Clock
  readonly heartbeatMs: number
  readonly leaseMs: number
  /** Called when a session is gone for this node: its polls are answered and its promises end. */
  readonly onLost: (state: SessionState) => void
  /** Called when the store has given grants that this node never saw. */
  readonly onGap: (state: SessionState, lastGrant: number) => void
  /** Called with tasks whose handlers logged lines that are stored now. */
  readonly onLines: (tasks: readonly Uuid[]) => void
  /** Sessions kept in memory at most; beyond, the ones without an open poll are forgotten and loaded again when needed. */
  readonly maxStates?: number
}

const manyStates = 20_000
const maxConfirmed = 200
/** Sessions whose leases one statement reads, where nobody waits for the answer. */
const heldLimit = 500
/** Grants are numbered by a PostgreSQL integer. */
const maxGrant = 2 ** 31 - 1

/** Live sessions as this node knows them, and their heartbeats. */
export class Sessions {
  readonly #options: SessionsOptions
  readonly #states = new Map<Uuid, SessionState>()
  readonly #profiles: Profiles
  readonly #maxStates: number
  readonly #loading = new Map<Uuid, Promise<SessionState>>()
  readonly #serving = new Map<SessionState, Promise<number>>()
  readonly #acknowledgements: Acknowledgements
  readonly #sleepers = new Sleepers()
  readonly #beats: Beats

  constructor(options: SessionsOptions) {
    const { store, maxStates = manyStates } = options
    this.#options = options
    this.#maxStates = maxStates
    this.#profiles = new Profiles(maxStates)
    this.#acknowledgements = new Acknowledgements(store)
    this.#beats = new Beats({
      ...{ store, acknowledgements: this.#acknowledgements, limit: maxStates },
      onAlive: (state, answer) => this.#confirm(state, answer),
    })
  }

  /** Opens a session, which gets this tenant's tasks only. The lease is three heartbeats, unless the defaults say otherwise. */
  async register(registration: WorkerRegistration, tenant: TenantScope): Promise<WorkerSession> {
    const { store, minter } = this.#options
    const heartbeatMs = registration.heartbeatMs ?? this.#options.heartbeatMs
    const leaseMs = registration.heartbeatMs === null ? this.#options.leaseMs : registration.heartbeatMs * 3
    const { name, host, version, queues, taskTypes, slots } = registration
    const id = minter.mint()
    const row = { id, name, queues, taskTypes, tenant, slots, heartbeatMs, leaseMs }
    await store.register({ ...row, host, version })
    const state = new SessionState(
      { ...row, draining: false, lastGrant: 0, received: 0 },
      this.#profiles.of(row),
      this.#confirmed(0),
    )
    state.isServed = true
    this.#remember(state)
    return { id, heartbeatMs, leaseMs }
  }

  /** The state of a live session. Rejects with `session_lost` when it is dead, unknown, or was opened under another binding. */
  async require({ id, tenant }: SessionRef): Promise<SessionState> {
    const state = await this.#live(id)
    if (state.row.tenant !== tenant) throw sessionLost(id)
    return state
  }

  async #live(id: Uuid): Promise<SessionState> {
    const known = this.#states.get(id)
    const { clock } = this.#options
    if (known && clock.monotonicMs() - known.confirmedAtMs < known.row.leaseMs / 3) return known
    const loading = this.#loading.get(id) ?? this.#load(id).finally(() => this.#loading.delete(id))
    this.#loading.set(id, loading)
    return loading
  }

  /**
   * Asks the store about sessions of which it was silent for half a lease, some at a time: a worker that died with its poll
   * open must not keep slots, and one that beats over another node may have been given grants there.
   */
  async confirm(states: Iterable<SessionState>): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs()
    const silent = [...states].filter((state) => nowMs - state.confirmedAtMs > state.row.leaseMs / 2)
    await Promise.allSettled(silent.slice(0, maxConfirmed).map((state) => this.#live(state.row.id)))
  }

  /**
   * From now on the session gets its tasks from this node, which then knows all that it holds. Answers its last grant. Rejects with
   * `session_lost` when it lives no more. One take-over at a time: who asks meanwhile gets the same answer.
   */
  serve(state: SessionState): Promise<number> {
    const serving = this.#serving.get(state)
    if (serving) return serving
    const fresh = this.#takeOver(state).finally(() => this.#serving.delete(state))
    this.#serving.set(state, fresh)
    return fresh
  }

  async #takeOver(state: SessionState): Promise<number> {
    const { store, clock } = this.#options
    // what was begun when another node had the session must be refused, not be granted beside what that node gave
    state.isServed = false
    await state.untilUnpromised()
    const { doubts } = state
    const answer = await store.serve(state.row.id)
    if (!answer) throw this.#lose(state)
    state.confirmedAtMs = clock.monotonicMs()
    if (answer.draining) state.isDraining = true
    await recount(store, [state])
    // else another node, or a lost answer, came in between
    if (state.doubts === doubts) state.isServed = true
    return answer.lastGrant
  }

  /** Leases of these sessions ended, by whoever's hand. Answers the sessions that are known here. */
  ended(leases: readonly { readonly session: Uuid; readonly token: bigint }[]): Set<SessionState> {
    const states = new Set<SessionState>()
    for (const { session, token } of leases) {
      const state = this.#states.get(session)
      state?.leases.end(token)
      if (state) states.add(state)
    }
    return states
  }

  /** Forgets what the store last said, so that the next call asks it again. */
  doubt(state: SessionState): void {
    state.confirmedAtMs = Number.NEGATIVE_INFINITY
  }

  all(): Iterable<SessionState> {
    return this.#states.values()
  }

  /**
   * Takes a worker's word on what arrived and answers up to where it counts, knowing of grants up to `lastGrant`. A number above the last grant that the session was given
   * is no acknowledgement, of nothing: cut to that one, it would free the slots of grants that may never have arrived. The store
   * is asked only about a number that this node has not heard of. Rejects with `session_lost` when it knows the session no more.
   */
  async acknowledge(state: SessionState, received: number, lastGrant = 0): Promise<number> {
    if (received <= state.received) return received
    if (received <= Math.max(lastGrant, state.grants.highest)) return this.#count(state, received)
    // a number that no grant can have would fail the write that it shares with other workers' acknowledgements
    if (received > maxGrant) return state.received
    const row = await this.#options.store.load(state.row.id)
    if (!row) throw this.#lose(state)
    // before the look for what this node never saw, so that nothing acknowledged is repeated
    const counted = received <= row.lastGrant ? this.#count(state, received) : state.received
    this.#confirm(state, row)
    return counted
  }

  #count(state: SessionState, received: number): number {
    if (received > state.received) {
      state.received = received
      this.#acknowledgements.note(state.row.id, received)
    }
    return received
  }

  /** Writes the acknowledgements that no beat has written yet; once a second. */
  saveAcknowledgements(): Promise<void> {
    return this.#acknowledgements.save()
  }

  /** Keeps the session alive; held open until there is something to say, at most `waitMs`. */
  async heartbeat(session: SessionRef, request: HeartbeatRequest, signal: AbortSignal): Promise<HeartbeatAnswer> {
    const { id, tenant } = session
    const beganMs = this.#options.clock.monotonicMs()
    const known = this.#states.get(id)
    // whether one that is known still lives is what the beat asks
    const state = known?.row.tenant === tenant ? known : await this.require(session)
    await this.acknowledge(state, request.received)
    const { answer, held } = await this.#beats.write(state, request)
    if (!answer) throw this.#lose(state)
    const grown = await storeHandlerWrites(this.#options.progress, id, { request, held })
    if (grown.length > 0) this.#options.onLines(grown)
    const first = tell(state, request.leases, held)
    if (first.isNews || request.waitMs <= 0) return first.answer
    // the lease is renewed when a beat arrives: one that is held longer than a heartbeat, also by a slow store, would outlive it
    const leftMs = state.row.heartbeatMs - (this.#options.clock.monotonicMs() - beganMs)
    if (leftMs <= 0) return first.answer
    const woken = await this.#sleepers.sleep(id, Math.min(request.waitMs, leftMs), signal)
    if (!woken) return first.answer
    return tell(state, request.leases, await this.#options.store.held([id])).answer
  }

  /** There is something to tell this session's worker. */
  wake(id: Uuid): void {
    this.#sleepers.wake(id)
  }

  /** The session gets nothing more, as the store says; its worker is told at once if its heartbeat is held here. */
  drained(id: Uuid): void {
    const state = this.#states.get(id)
    if (state) state.isDraining = true
    this.wake(id)
  }

  /** Wakes the held beats that have a cancellation to tell of: the word of it may have been lost. */
  async wakeCancelled(): Promise<void> {
    const sleeping = this.#sleepers.ids
    for (let from = 0; from < sleeping.length; from += heldLimit) {
      const held = await this.#options.store.held(sleeping.slice(from, from + heldLimit))
      for (const { session, cancelReason } of held) if (cancelReason !== null) this.wake(session)
    }
  }

  wakeAll(): void {
    this.#sleepers.wakeAll()
  }

  forget(state: SessionState): void {
    state.isGone = true
    this.#states.delete(state.row.id)
    this.#acknowledgements.forget(state.row.id)
    this.wake(state.row.id)
    this.#options.onLost(state)
  }

  #lose(state: SessionState): DulyError {
    this.forget(state)
    return sessionLost(state.row.id)
  }

  async #load(id: Uuid): Promise<SessionState> {
    const row = await this.#options.store.load(id)
    const known = this.#states.get(id)
    if (!row) {
      if (known) this.forget(known)
      throw sessionLost(id)
    }
    if (known) {
      this.#confirm(known, row)
      return known
    }
    const state = new SessionState(row, this.#profiles.of(row), this.#confirmed(row.received))
    this.#remember(state)
    return state
  }

  /** The store says that the session lives and has been given grants up to `lastGrant`. */
  #confirm(state: SessionState, { lastGrant, draining }: { lastGrant: number; draining: boolean }): void {
    state.confirmedAtMs = this.#options.clock.monotonicMs()
    if (draining) state.isDraining = true
    if (state.promised > 0 || !state.grants.hasGap(lastGrant)) return
    state.doubt()
    this.#options.onGap(state, lastGrant)
  }

  #confirmed(received: number): { received: number; confirmedAtMs: number } {
    return { received, confirmedAtMs: this.#options.clock.monotonicMs() }
  }

  #remember(state: SessionState): void {
    if (this.#states.size >= this.#maxStates) this.#makeRoom()
    this.#states.set(state.row.id, state)
  }

  /** What one that goes was handed and did not fetch is given out again by whoever knows the session next. */
  #makeRoom(): void {
    for (const old of this.#states.values()) {
      if (old.isPolling || old.promised > 0) continue
      this.#states.delete(old.row.id)
      // between two polls it could be promised something still, beside what it gets under its next state
      old.doubt()
      this.#options.onLost(old)
      return
    }
  }
}

/** A session is never revived: the worker registers anew. */
export function sessionLost(_id: Uuid): DulyError {
  return new DulyError('session_lost', 'This session is dead or unknown. Abort its handlers and register anew.')
}
