import type { Clock } from '@duly/domain'
import type { TakenTask } from '../queue/port.js'
import type { SessionState } from './session-state.js'

export interface BetweenPollsOptions {
  readonly clock: Clock
  /** Gives back tasks that no poll fetched; answers those that another node has given the worker, or will. */
  readonly giveBack: (state: SessionState, tasks: readonly TakenTask[]) => Promise<readonly TakenTask[]>
  /** What this worker was given, only the store can tell, and it polls. */
  readonly onUnsure: (state: SessionState) => void
}

/** A worker with free slots polls again within a round trip; for so long it counts as waiting. */
const windowMs = 25
/** What was handed to a worker that did not poll for so long is given to others: it may be busy or dead. */
const unfetchedMs = 300

/**
 * Workers whose poll was just answered and left slots free. A task that comes before their next poll is handed to them like
 * to a waiting one, which spares the claim; it is in the mailbox when they ask.
 */
export class BetweenPolls {
  readonly #options: BetweenPollsOptions
  /** Until when each counts as waiting (monotonic ms), the earliest first. */
  readonly #until = new Map<SessionState, number>()
  readonly #watched = new Map<SessionState, NodeJS.Timeout>()
  /** Could not be given back: nobody knows whether they were. */
  readonly #retries = new Map<SessionState, NodeJS.Timeout>()

  constructor(options: BetweenPollsOptions) {
    this.#options = options
  }

  /** This worker was answered with tasks just now. */
  add(state: SessionState): void {
    this.#until.delete(state)
    this.#until.set(state, this.#options.clock.monotonicMs() + windowMs)
  }

  /** One with a spare slot that the predicate takes. */
  find(suits: (state: SessionState) => boolean): SessionState | undefined {
    const nowMs = this.#options.clock.monotonicMs()
    for (const [state, untilMs] of this.#until) {
      if (untilMs < nowMs || state.isPolling) this.#until.delete(state)
      else if (state.spare > 0 && suits(state)) return state
    }
    return undefined
  }

  /** Whether there may be one. */
  isAny(): boolean {
    return this.#until.size > 0
  }

  /** Sees to it that what waits in the mailbox is fetched, or given back. */
  watch(state: SessionState): void {
    if (state.isPolling || state.mailbox.length === 0 || this.#watched.has(state)) return
    const [first] = state.mailbox
    const check = (): void => {
      this.#watched.delete(state)
      const isFetched = state.mailbox[0] !== first
      if (isFetched) this.watch(state)
      else if (!state.isPolling) void this.#giveBack(state, state.takeUnfetched())
    }
    this.#watched.set(state, setTimeout(check, unfetchedMs).unref())
  }

  remove(state: SessionState): void {
    this.#until.delete(state)
    for (const timers of [this.#watched, this.#retries]) {
      clearTimeout(timers.get(state))
      timers.delete(state)
    }
  }

  /** Gives back at once all that waits to be fetched: this node ends. */
  async giveBackAll(): Promise<void> {
    const states = new Set([...this.#watched.keys(), ...this.#retries.keys()])
    for (const state of states) {
      this.remove(state)
      state.takeUnfetched()
    }
    await Promise.allSettled([...states].map((state) => this.#options.giveBack(state, state.leaving)))
  }

  async #giveBack(state: SessionState, tasks: readonly TakenTask[]): Promise<void> {
    this.#until.delete(state)
    try {
      const elsewhere = new Set(await this.#options.giveBack(state, tasks))
      state.gaveBack(tasks.filter((task) => !elsewhere.has(task)))
    } catch {
      this.#retry(state)
    }
    // what failed may have been done, or be done yet; what is elsewhere the worker may come back for
    if (state.leaving.length === 0) return
    state.doubt()
    if (state.isPolling) this.#options.onUnsure(state)
  }

  #retry(state: SessionState): void {
    const retry = (): void => {
      this.#retries.delete(state)
      if (state.leaving.length > 0 && !state.isPolling) void this.#giveBack(state, state.leaving)
    }
    clearTimeout(this.#retries.get(state))
    this.#retries.set(state, setTimeout(retry, unfetchedMs).unref())
  }
}
