import { type Clock, DulyError, encodeLease, type IdMinter, type TenantScope, type Uuid } from '@duly/domain'
import { Batcher } from '../base/batcher.js'
import { busy } from '../base/busy.js'
import { groupBy } from '../base/group-by.js'
import type { HeartbeatAnswer, HeartbeatRequest, SessionRef, WorkerRegistration, WorkerSession } from '../model.js'
import type { ProgressStore } from '../store/progress-store.js'
import type { BeatAnswer, HeldLease, SessionStore } from '../store/session-store.js'
import { storeHandlerWrites } from './handler-writes.js'
import { Profile } from './profile.js'
import { SessionState } from './session-state.js'

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
}

interface Beating {
  readonly state: SessionState
  readonly request: HeartbeatRequest
}

interface BeatResult {
  readonly answer: BeatAnswer | null
  readonly held: readonly HeldLease[]
}

/** Sessions kept in memory at most; beyond, the ones without an open poll are forgotten and loaded again when needed. */
const maxStates = 20_000
const maxTold = 10_000
const maxConfirmed = 200
/** Sessions whose leases one statement reads, where nobody waits for the answer. */
const heldLimit = 500
/** Grants are numbered by a PostgreSQL integer. */
const maxGrant = 2 ** 31 - 1

/** Live sessions as this node knows them, and their heartbeats. */
export class Sessions {
  readonly #options: SessionsOptions
  readonly #states = new Map<Uuid, SessionState>()
  readonly #profiles = new Map<string, Profile>()
  readonly #loading = new Map<Uuid, Promise<SessionState>>()
  readonly #unsaved = new Map<Uuid, number>()
  readonly #sleepers = new Map<Uuid, Set<() => void>>()
  readonly #beats: Batcher<Beating, BeatResult>

  constructor(options: SessionsOptions) {
    this.#options = options
    this.#beats = new Batcher({
      maxItems: 500,
      maxBytes: Number.POSITIVE_INFINITY,
      full: { items: maxStates, bytes: Number.POSITIVE_INFINITY },
      lanes: 1,
      run: (beats) => this.#beatAll(beats),
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
    this.#remember(
      new SessionState({ ...row, draining: false, lastGrant: 0, received: 0 }, this.#profile(row), this.#confirmed(0)),
    )
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

  /** Forgets what the store last said, so that the next call asks it again. */
  doubt(state: SessionState): void {
    state.confirmedAtMs = Number.NEGATIVE_INFINITY
  }

  all(): Iterable<SessionState> {
    return this.#states.values()
  }

  acknowledge(state: SessionState, received: number): void {
    // a number that no grant can have would fail the write that it shares with other workers' acknowledgements
    if (received <= state.received || received > maxGrant) return
    state.received = received
    this.#unsaved.set(state.row.id, received)
  }

  /** Writes the acknowledgements that no beat has written yet; once a second. */
  saveAcknowledgements(): Promise<void> {
    return this.#saveAcknowledgements(this.#unsaved.keys())
  }

  /** Keeps the session alive; held open until there is something to say, at most `waitMs`. */
  async heartbeat(session: SessionRef, request: HeartbeatRequest, signal: AbortSignal): Promise<HeartbeatAnswer> {
    const { id, tenant } = session
    const beganMs = this.#options.clock.monotonicMs()
    const known = this.#states.get(id)
    // whether one that is known still lives is what the beat asks
    const state = known?.row.tenant === tenant ? known : await this.require(session)
    this.acknowledge(state, request.received)
    if (this.#beats.isFull) throw busy('heartbeats')
    const { answer, held } = await this.#beats.add({ state, request })
    if (!answer) throw this.#lose(state)
    await storeHandlerWrites(this.#options.progress, id, { request, held })
    const first = this.#tell(state, request.leases, held)
    if (first.isNews || request.waitMs <= 0) return first.answer
    // the lease is renewed when a beat arrives: one that is held longer than a heartbeat, also by a slow store, would outlive it
    const leftMs = state.row.heartbeatMs - (this.#options.clock.monotonicMs() - beganMs)
    if (leftMs <= 0) return first.answer
    const woken = await this.#sleep(id, Math.min(request.waitMs, leftMs), signal)
    if (!woken) return first.answer
    return this.#tell(state, request.leases, await this.#options.store.held([id])).answer
  }

  /** There is something to tell this session's worker. */
  wake(id: Uuid): void {
    for (const wake of this.#sleepers.get(id) ?? []) wake()
  }

  /** The session gets nothing more, as the store says; its worker is told at once if its heartbeat is held here. */
  drained(id: Uuid): void {
    const state = this.#states.get(id)
    if (state) state.isDraining = true
    this.wake(id)
  }

  /** Wakes the held beats that have a cancellation to tell of: the word of it may have been lost. */
  async wakeCancelled(): Promise<void> {
    const sleeping = [...this.#sleepers.keys()]
    for (let from = 0; from < sleeping.length; from += heldLimit) {
      const held = await this.#options.store.held(sleeping.slice(from, from + heldLimit))
      for (const { session, cancelReason } of held) if (cancelReason !== null) this.wake(session)
    }
  }

  wakeAll(): void {
    for (const id of this.#sleepers.keys()) this.wake(id)
  }

  forget(state: SessionState): void {
    this.#states.delete(state.row.id)
    this.#unsaved.delete(state.row.id)
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
    const state = new SessionState(row, this.#profile(row), this.#confirmed(row.received))
    this.#remember(state)
    return state
  }

  /** The store says that the session lives and has been given grants up to `lastGrant`. */
  #confirm(state: SessionState, { lastGrant, draining }: { lastGrant: number; draining: boolean }): void {
    state.confirmedAtMs = this.#options.clock.monotonicMs()
    if (draining) state.isDraining = true
    if (state.promised === 0 && state.grants.hasGap(lastGrant)) this.#options.onGap(state, lastGrant)
  }

  #confirmed(received: number): { received: number; confirmedAtMs: number } {
    return { received, confirmedAtMs: this.#options.clock.monotonicMs() }
  }

  #remember(state: SessionState): void {
    if (this.#states.size >= maxStates) {
      for (const old of this.#states.values()) {
        if (old.free === 0 && old.promised === 0) {
          this.#states.delete(old.row.id)
          break
        }
      }
    }
    this.#states.set(state.row.id, state)
  }

  #profile(served: { queues: readonly string[]; taskTypes: readonly string[]; tenant: string | null }): Profile {
    const profile = new Profile(served)
    const shared = this.#profiles.get(profile.key)
    if (shared) return shared
    if (this.#profiles.size >= maxStates) this.#profiles.clear()
    this.#profiles.set(profile.key, profile)
    return profile
  }

  async #beatAll(beats: readonly Beating[]): Promise<BeatResult[]> {
    const { store } = this.#options
    const answers = new Map<Uuid, BeatAnswer>()
    const rows = beats.map(({ state, request: { lagMs, rssBytes } }) => ({
      session: state.row.id,
      lagMs,
      // any number comes over the wire, and what the store cannot hold would fail the beats of all
      rssBytes: rssBytes === null ? null : Math.min(Math.round(rssBytes), Number.MAX_SAFE_INTEGER),
    }))
    for (const answer of await store.beat([...new Map(rows.map((row) => [row.session, row])).values()])) {
      answers.set(answer.session, answer)
    }
    // an acknowledgement that a beat brings is durable before the beat is answered: a suspect starts only then
    await this.#saveAcknowledgements(answers.keys())
    const held = groupBy(answers.size > 0 ? await store.held([...answers.keys()]) : [], (lease) => lease.session)
    return beats.map(({ state }) => {
      const answer = answers.get(state.row.id) ?? null
      if (answer) this.#confirm(state, answer)
      return { answer, held: held.get(state.row.id) ?? [] }
    })
  }

  async #saveAcknowledgements(sessions: Iterable<Uuid>): Promise<void> {
    const received: [Uuid, number][] = []
    for (const session of [...sessions]) {
      const grant = this.#unsaved.get(session)
      if (grant === undefined) continue
      received.push([session, grant])
      this.#unsaved.delete(session)
    }
    if (received.length === 0) return
    await this.#options.store.acknowledge(received).catch((error: unknown) => {
      for (const [session, grant] of received) if (!this.#unsaved.has(session)) this.#unsaved.set(session, grant)
      throw error
    })
  }

  #tell(
    state: SessionState,
    claimed: readonly string[],
    held: readonly HeldLease[],
  ): { isNews: boolean; answer: HeartbeatAnswer } {
    const leases = new Set(held.map(encodeLease))
    const lost = claimed.filter((lease) => !leases.has(lease))
    const cancel = held
      .filter((lease) => lease.cancelReason !== null)
      .map((lease) => ({ lease: encodeLease(lease), reason: lease.cancelReason ?? 'cancel_requested' }))
    if (state.told.size > maxTold) state.told.clear()
    const drain = state.isDraining ? ['drain'] : []
    let isNews = false
    for (const lease of [...drain, ...lost, ...cancel.map((entry) => entry.lease)]) {
      if (!state.told.has(lease)) isNews = true
      state.told.add(lease)
    }
    return { isNews, answer: { cancel, lost, drain: state.isDraining } }
  }

  /** True when woken, false when the time is up or the client is gone. */
  #sleep(id: Uuid, waitMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const sleepers = this.#sleepers.get(id) ?? new Set()
      this.#sleepers.set(id, sleepers)
      const end = (woken: boolean): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        sleepers.delete(wake)
        if (sleepers.size === 0) this.#sleepers.delete(id)
        resolve(woken)
      }
      const wake = (): void => end(true)
      const giveUp = (): void => end(false)
      const timer = setTimeout(giveUp, waitMs)
      sleepers.add(wake)
      signal.addEventListener('abort', giveUp, { once: true })
      if (signal.aborted) giveUp()
    })
  }
}

/** A session is never revived: the worker registers anew. */
export function sessionLost(_id: Uuid): DulyError {
  return new DulyError('session_lost', 'This session is dead or unknown. Abort its handlers and register anew.')
}
