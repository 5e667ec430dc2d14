import type { TakenTask } from '../queue/port.js'
import type { SessionRow } from '../store/session-store.js'
import { GrantLog } from './grant-log.js'
import { HeldLeases } from './held-leases.js'
import type { Profile } from './profile.js'

/** A poll that waits for tasks. */
export interface OpenPoll {
  readonly slots: number
  /** Answer as soon as nothing is promised to the session any more, with or without tasks. */
  hurry: boolean
  readonly answer: (tasks: readonly TakenTask[]) => void
}

/** What a worker that asked for more slots than its session has room for held, as this node believes. */
export interface Excess {
  readonly tokens: readonly bigint[]
  /** So many of them it may hold: what it registered, less what it asked for. */
  readonly allowed: number
}

/**
 * What this node knows of a live session. Tasks that were committed for it while no poll was open wait in the mailbox for
 * the next one: they are leased already, and cost slots of it.
 */
export class SessionState {
  readonly row: SessionRow
  readonly profile: Profile
  readonly grants: GrantLog
  /** What the session holds: with what is promised never more than its slots. */
  readonly leases = new HeldLeases()
  /** The session gets its tasks from this node, which knows of all that it holds; else it gets nothing here. */
  isServed = false
  /** How often there was reason to doubt that. */
  doubts = 0
  /** Highest grant that the worker acknowledged. */
  received: number
  /** When the store last said that the session lives (monotonic ms). */
  confirmedAtMs: number
  #poll: OpenPoll | null = null
  #mailbox: TakenTask[] = []
  /** Tokens of what stands in the mailbox by the store's word: an earlier answer, lost or not, may have carried it. */
  readonly #repeated = new Set<bigint>()
  /** Whether these still are this worker's, only the store knows. */
  readonly #leaving = new Map<bigint, TakenTask>()
  #promised = 0
  /** Wait until nothing is promised. */
  readonly #unpromised: (() => void)[] = []
  /** Slots that the last answer left free. */
  #spare = 0
  /** It gets nothing more. Never taken back. */
  isDraining = false
  /** The store said that it is dead. Never taken back. */
  isGone = false
  /** Leases whose cancellation or loss the worker was told, and `drain`. */
  readonly told = new Set<string>()

  constructor(row: SessionRow, profile: Profile, options: { received: number; confirmedAtMs: number }) {
    this.row = row
    this.profile = profile
    this.received = options.received
    this.confirmedAtMs = options.confirmedAtMs
    this.grants = new GrantLog(row.lastGrant)
    this.isDraining = row.draining
  }

  /** Slots of the open poll that are not spoken for, as far as the session has room. */
  get free(): number {
    return this.#poll === null || this.#poll.hurry ? 0 : this.#unspoken(this.#poll.slots)
  }

  /** Slots that the last answer left free and that nothing is promised for, until the worker polls again. */
  get spare(): number {
    return this.#poll === null ? this.#unspoken(this.#spare) : 0
  }

  #unspoken(slots: number): number {
    if (this.isDraining || !this.isServed) return 0
    const room = this.row.slots - this.leases.size
    return Math.max(0, Math.min(slots - this.#mailbox.length, room) - this.#promised)
  }

  /** A worker that asks for so many slots believes to hold less than this node does; null: it has room for them. */
  excessOf(slots: number): Excess | null {
    const waiting = new Set(this.unfetched.map(({ token }) => token))
    const allowed = this.row.slots - slots
    if (this.leases.size - waiting.size <= allowed) return null
    return { tokens: this.leases.tokens().filter((token) => !waiting.has(token)), allowed }
  }

  get isPolling(): boolean {
    return this.#poll !== null
  }

  /** Claims and hand-offs under way for this session. */
  get promised(): number {
    return this.#promised
  }

  /** Resolves when no claim and no hand-off is under way for it. While it is not served here, none is begun. */
  async untilUnpromised(): Promise<void> {
    while (this.#promised > 0) await new Promise<void>((resolve) => this.#unpromised.push(resolve))
  }

  /** It may have been given something that this node knows nothing of: by another node, or by a commit whose answer was lost. */
  doubt(): void {
    this.isServed = false
    this.doubts++
  }

  /** Opens a poll; one that was open is answered empty. */
  open(poll: OpenPoll): void {
    this.close()
    this.#spare = 0
    this.#poll = poll
    this.settle()
  }

  /** Answers the open poll with what there is. */
  close(): void {
    const poll = this.#poll
    this.#poll = null
    if (poll === null) return
    // a poll without slots fetches what is on its way, so that a worker that leaves can give it back
    const tasks = this.#takeMailbox(poll.slots === 0 ? this.#mailbox.length : poll.slots)
    this.#spare = poll.slots - tasks.length
    poll.answer(tasks)
  }

  /**
   * Takes out of the mailbox what no poll fetched, to give it to others. What is repeated stays: the worker may have it and run it.
   * What is leaving goes out with no answer, and nothing acknowledges it, until the store has said whose it is.
   */
  takeUnfetched(): TakenTask[] {
    const tasks = this.#mailbox.filter((task) => !this.#repeated.has(task.token))
    this.#mailbox = this.#mailbox.filter((task) => this.#repeated.has(task.token))
    for (const task of tasks) this.#leaving.set(task.token, task)
    this.#spare = 0
    return tasks
  }

  /** Others have them, or will. */
  gaveBack(tasks: readonly TakenTask[]): void {
    for (const { token } of tasks) this.#leaving.delete(token)
  }

  /** What is being given to others: a worker that polls may get it all the same, if the store says so. */
  get leaving(): readonly TakenTask[] {
    return [...this.#leaving.values()]
  }

  /** Forgets a poll whose client went away; what is in the mailbox stays. */
  abandon(poll: OpenPoll): void {
    if (this.#poll === poll) this.#poll = null
  }

  /** This poll waits no longer than for what is under way; nothing happens when it is not the open one any more. */
  hurry(poll: OpenPoll): void {
    if (this.#poll !== poll) return
    poll.hurry = true
    this.settle()
  }

  /** The same for whichever poll is open. */
  hurryAny(): void {
    if (this.#poll !== null) this.hurry(this.#poll)
  }

  promise(slots: number): void {
    this.#promised += slots
  }

  /** Takes back a promise of `slots`, of which `tasks` came true. The caller settles when it has told all it has. */
  fulfil(slots: number, tasks: readonly TakenTask[]): void {
    this.#promised -= slots
    for (const task of tasks) {
      this.grants.add(task.grant)
      // the store was asked meanwhile and told of it first: it waits already, or the worker has it, and may have ended it
      if (this.#repeated.has(task.token)) continue
      this.leases.add(task)
      this.#mailbox.push(task)
    }
    if (this.#promised === 0) for (const resolve of this.#unpromised.splice(0)) resolve()
  }

  /** What waits for the next poll, as it stands now. */
  get mailbox(): readonly TakenTask[] {
    return [...this.#mailbox]
  }

  /** The same, and what is being given to others: what only the store can judge. */
  get unfetched(): readonly TakenTask[] {
    return [...this.#mailbox, ...this.#leaving.values()]
  }

  /**
   * Takes the store's word on what was granted and not acknowledged. `before` is what was unfetched when the store was
   * asked: of that, only what is part of the word still holds. What came meanwhile stays.
   */
  refill(tasks: readonly TakenTask[], before: readonly TakenTask[]): void {
    const judged = new Set([...before, ...tasks].map((task) => task.token))
    for (const token of judged) this.#leaving.delete(token)
    this.#mailbox = [...tasks, ...this.#mailbox.filter((task) => !judged.has(task.token))]
    const standing = new Set(this.#mailbox.map((task) => task.token))
    for (const token of this.#repeated) if (!standing.has(token)) this.#repeated.delete(token)
    for (const task of tasks) {
      this.#repeated.add(task.token)
      this.grants.add(task.grant)
      this.leases.add(task)
    }
    this.settle()
  }

  /** Answers the open poll if there is something to answer it with, or if it was told not to wait. */
  settle(): void {
    if (this.#poll === null) return
    if (this.#mailbox.length > 0 || (this.#poll.hurry && this.#promised === 0)) this.close()
  }

  /**
   * A worker acknowledges the highest number that it was told, and all below. So no answer tells one of which, or below which,
   * something may be missing: such tasks go out under the last number that is whole, and are repeated until they are told
   * under their own.
   */
  #takeMailbox(limit: number): TakenTask[] {
    const tasks = this.#mailbox.splice(0, limit)
    for (const task of tasks) this.grants.sent(task.grant)
    const whole = Math.min(this.grants.contiguous, ...this.unfetched.map(({ grant }) => grant - 1))
    return tasks.map((task) => (task.grant <= whole ? task : { ...task, grant: whole }))
  }
}
