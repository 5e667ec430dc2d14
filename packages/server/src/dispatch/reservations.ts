import { randomToken } from '../base/random.js'
import type { TakenTask } from '../queue/port.js'
import type { BetweenPolls } from './between-polls.js'
import type { LaneDirectory } from './lane-directory.js'
import type { Profile } from './profile.js'
import type { Reservation } from './reservation.js'
import type { SessionState } from './session-state.js'
import type { Waiting } from './waiting.js'

export interface ReservationsOptions {
  readonly directory: LaneDirectory
  readonly waiting: Waiting
  readonly betweenPolls: BetweenPolls
  readonly onTaken: (tasks: readonly TakenTask[], tookMs: number) => void
  /** What was promised to the session was settled. */
  readonly onSettled: (state: SessionState) => void
}

/** Slots that are promised to tasks which are being committed, and what comes of the promises. */
export class Reservations {
  readonly #options: ReservationsOptions
  /** Sessions whose promises were settled in this turn. */
  readonly #settled = new Set<SessionState>()

  constructor(options: ReservationsOptions) {
    this.#options = options
  }

  /** A slot of a worker that waits, or else of one that will poll again at once; null when none is idle for this task. */
  reserve(task: { queue: string; taskType: string; tenant: string }): Reservation | null {
    const { directory, waiting, betweenPolls } = this.#options
    const suits = (profile: Profile): boolean => profile.serves(task) && directory.isIdleFor(profile)
    const first = waiting.find(suits)
    // the next task goes to the next worker
    if (first) waiting.moveBack(first)
    const state = first ?? betweenPolls.find(({ profile }) => suits(profile))
    return state ? this.#promise(state) : null
  }

  #promise(state: SessionState): Reservation {
    state.promise(1)
    return { session: state.row.id, token: randomToken(), settle: (taken) => this.#settle(state, taken) }
  }

  /** The tasks of one commit are settled in one turn; they leave in one answer a session. */
  #settle(state: SessionState, word: TakenTask | null | 'unknown'): void {
    if (word === 'unknown') state.doubt()
    const tasks = word === null || word === 'unknown' ? [] : [word]
    if (tasks.length > 0) this.#options.onTaken(tasks, 0)
    state.fulfil(1, tasks)
    if (this.#settled.size === 0) queueMicrotask(() => this.#answer())
    this.#settled.add(state)
  }

  #answer(): void {
    const settled = [...this.#settled]
    this.#settled.clear()
    for (const state of settled) {
      state.settle()
      this.#options.onSettled(state)
    }
  }
}
