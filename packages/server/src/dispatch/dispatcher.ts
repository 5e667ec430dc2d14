import { type Clock, DulyError, type Lane } from '@duly/domain'
import type { Logger } from 'pino'
import { groupBy } from '../base/group-by.js'
import { randomToken } from '../base/random.js'
import type { PollRequest } from '../model.js'
import type { ReadyQueue, TakenTask } from '../queue/port.js'
import type { SessionStore } from '../store/session-store.js'
import { BetweenPolls } from './between-polls.js'
import { LaneDirectory } from './lane-directory.js'
import { Lookout } from './lookout.js'
import { Planner } from './planner.js'
import type { Profile } from './profile.js'
import type { Reservation } from './reservation.js'
import type { OpenPoll, SessionState } from './session-state.js'
import type { Sessions } from './sessions.js'
import { countBySession, spread } from './slots.js'

export interface DispatcherOptions {
  readonly queue: ReadyQueue
  readonly store: SessionStore
  readonly sessions: Sessions
  readonly clock: Clock
  readonly storeNowMs: () => number
  readonly log: Logger
  readonly onTaken: (tasks: readonly TakenTask[], tookMs: number) => void
  /** Gives back tasks that a worker did not fetch; answers those that another node has given it, or will. */
  readonly giveBack: (state: SessionState, tasks: readonly TakenTask[]) => Promise<readonly TakenTask[]>
}

/** The most tasks of one claim. */
const claimLimit = 500
const staleMs = 5_000

/**
 * Waiting polls meet ready tasks. One claim at a time for each profile serves all polls of this node that serve the same;
 * which lanes get how many of the free slots is the selector's decision, and the claim itself is the queue's.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #directory = new LaneDirectory()
  readonly #planner: Planner
  /** Sessions with an open poll, by what they serve. */
  readonly #waiting = new Map<Profile, Set<SessionState>>()
  readonly #claiming = new Map<Profile, Promise<void>>()
  readonly #again = new Set<Profile>()
  /** Sessions whose promises were settled in this turn. */
  readonly #settled = new Set<SessionState>()
  readonly #betweenPolls: BetweenPolls
  readonly #lookout: Lookout
  #isClosed = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { clock, storeNowMs, giveBack } = options
    this.#planner = new Planner({ directory: this.#directory, clock, storeNowMs, claimLimit })
    this.#betweenPolls = new BetweenPolls({ clock, giveBack })
    this.#lookout = new Lookout({
      queue: options.queue,
      directory: this.#directory,
      onLooked: (queues) => this.#kickQueues(queues),
    })
  }

  /**
   * Waits for tasks for the session, at most `waitMs` and no longer than `until`; what was not acknowledged comes first. A
   * poll that does not wait still gets one claim.
   */
  async poll(
    state: SessionState,
    request: PollRequest & { readonly until?: Promise<unknown> },
    signal: AbortSignal,
  ): Promise<readonly TakenTask[]> {
    if (this.#isClosed) throw new DulyError('shutting_down', 'This node is shutting down.', { retryAfterSeconds: 1 })
    this.#options.sessions.acknowledge(state, request.received)
    if (request.received < state.grants.highestSent || this.#isStale(state)) await this.repeat(state, request.received)
    const isQuick = request.waitMs <= 0
    if (isQuick && request.slots > 0) await this.#lookout.know(state.profile.queues)
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const poll: OpenPoll = {
        slots: request.slots,
        hurry: request.slots === 0,
        answer: (tasks) => {
          clearTimeout(timer)
          signal.removeEventListener('abort', gone)
          this.#waiting.get(state.profile)?.delete(state)
          if (tasks.length > 0) this.#betweenPolls.add(state)
          this.#betweenPolls.watch(state)
          resolve(tasks)
        },
      }
      const gone = (): void => {
        state.abandon(poll)
        poll.answer([])
      }
      if (signal.aborted) return resolve([])
      signal.addEventListener('abort', gone, { once: true })
      const hurry = (): void => state.hurry(poll)
      if (!isQuick) timer = setTimeout(hurry, request.waitMs)
      request.until?.then(hurry, hurry)
      state.open(poll)
      this.#wait(state)
      if (isQuick) void (this.#claiming.get(state.profile) ?? Promise.resolve()).then(hurry)
    })
  }

  /** What waited for long may have been ended by the watchdog: the store's word comes first. */
  #isStale(state: SessionState): boolean {
    const nowMs = this.#options.storeNowMs()
    return state.mailbox.some((task) => nowMs - task.startedAtMs > staleMs)
  }

  #wait(state: SessionState): void {
    if (state.free === 0) return
    void this.#lookout.know(state.profile.queues).catch(() => {})
    const waiting = this.#waiting.get(state.profile) ?? new Set()
    this.#waiting.set(state.profile, waiting.add(state))
    this.#kick(state.profile)
  }

  /** Gives out again what was granted and not acknowledged. All is known then up to `lastGrant` and what had been seen. */
  async repeat(state: SessionState, received: number, lastGrant = 0): Promise<void> {
    const before = state.mailbox
    const seen = Math.max(lastGrant, state.grants.highest)
    const tasks = await this.#options.store.repeat(state.row.id, received)
    if (tasks.length === 0) state.grants.nothingAbove(received)
    state.grants.known(seen)
    state.refill(tasks, before)
  }

  /** Looks for grants of the session that this node never saw. */
  async heal(state: SessionState, lastGrant = 0): Promise<void> {
    if (state.isHealing) return
    state.isHealing = true
    try {
      await this.repeat(state, state.received, lastGrant)
    } finally {
      state.isHealing = false
    }
  }

  /**
   * A slot of a waiting worker, or of one that will poll again at once, for a task that is about to be committed, if nothing
   * else waits for that worker but what a claim under way asks for; else null.
   */
  reserve(task: { queue: string; taskType: string; tenant: string }): Reservation | null {
    // a queue that was not looked at may have a backlog that this node has not heard of
    if (this.#isClosed || !this.#lookout.knows(task.queue) || this.#lookout.isPaused(task.queue)) return null
    for (const [profile, waiting] of this.#waiting) {
      if (waiting.size === 0 || !profile.serves(task)) continue
      if (!this.#directory.isIdleFor(profile)) continue
      for (const state of waiting) {
        if (state.free === 0) continue
        // the next task goes to the next worker
        waiting.delete(state)
        waiting.add(state)
        return this.#promise(state)
      }
    }
    const state = this.#betweenPolls.find(({ profile }) => profile.serves(task) && this.#directory.isIdleFor(profile))
    return state ? this.#promise(state) : null
  }

  #promise(state: SessionState): Reservation {
    state.promise(1)
    return { session: state.row.id, token: randomToken(), settle: (taken) => this.#settle(state, taken) }
  }

  /** The tasks of one commit are settled in one turn; they leave in one answer a session. */
  #settle(state: SessionState, taken: TakenTask | null): void {
    if (taken) this.#options.onTaken([taken], 0)
    state.fulfil(1, taken ? [taken] : [])
    if (this.#settled.size === 0) queueMicrotask(() => this.#answerSettled())
    this.#settled.add(state)
  }

  #answerSettled(): void {
    const settled = [...this.#settled]
    this.#settled.clear()
    for (const state of settled) {
      state.settle()
      this.#afterPromise(state)
    }
  }

  #afterPromise(state: SessionState): void {
    this.#betweenPolls.watch(state)
    if (state.promised === 0 && state.grants.hasGap()) {
      void this.heal(state).catch(() => this.#options.sessions.doubt(state))
    }
    if (state.free > 0) this.#wait(state)
  }

  /** Tasks became ready: the lane of each. */
  ready(lanes: Iterable<Lane>): void {
    const queues = new Set<string>()
    for (const lane of lanes) {
      if (this.#lookout.isPaused(lane.queue)) continue
      this.#directory.mark(lane, 1)
      queues.add(lane.queue)
    }
    this.#kickQueues(queues)
  }

  /** These queues got tasks, or were paused or resumed, by another's hand. */
  async readyElsewhere(queues: readonly string[]): Promise<void> {
    const wanted = new Set([...this.#waitingProfiles()].flatMap((profile) => profile.queues))
    this.#lookout.forget(queues.filter((queue) => !wanted.has(queue)))
    await this.#lookout.lookAt(queues.filter((queue) => wanted.has(queue)))
  }

  /** The slow look: finds what no hint told of. Does nothing while no poll waits. */
  async look(): Promise<void> {
    await this.#options.sessions.confirm([...this.#waiting.values()].flatMap((waiting) => [...waiting]))
    await this.#lookout.look([...this.#waitingProfiles()])
  }

  /** Answers all polls and takes nothing new. */
  close(): void {
    this.#isClosed = true
    for (const waiting of [...this.#waiting.values()]) for (const state of [...waiting]) state.hurryAny()
  }

  /** Gives back what was handed to workers who will not fetch it from this node any more. */
  giveBackUnfetched(): Promise<void> {
    return this.#betweenPolls.giveBackAll()
  }

  drop(state: SessionState): void {
    this.#waiting.get(state.profile)?.delete(state)
    state.close()
    this.#betweenPolls.remove(state)
  }

  *#waitingProfiles(): Generator<Profile> {
    for (const [profile, waiting] of this.#waiting) {
      if (waiting.size > 0) yield profile
      else if (!this.#claiming.has(profile)) this.#waiting.delete(profile)
    }
  }

  #kickQueues(queues: ReadonlySet<string>): void {
    for (const profile of this.#waitingProfiles()) {
      if (profile.queues.some((queue) => queues.has(queue))) this.#kick(profile)
    }
  }

  #kick(profile: Profile): void {
    if (this.#claiming.has(profile)) {
      this.#again.add(profile)
      return
    }
    if (this.#directory.isIdleFor(profile)) return
    // polls of the same turn join this claim
    const turn = new Promise((resolve) => setImmediate(resolve))
    this.#claiming.set(
      profile,
      turn.then(() => this.#claim(profile)),
    )
  }

  async #claim(profile: Profile): Promise<void> {
    try {
      do this.#again.delete(profile)
      while ((await this.#round(profile)) || this.#again.has(profile))
    } catch (error) {
      this.#options.log.debug({ err: error }, 'claim failed; the slow look tries again')
    } finally {
      this.#claiming.delete(profile)
    }
  }

  /** One claim; true when another one is worth it. */
  async #round(profile: Profile): Promise<boolean> {
    const waiting = this.#waiting.get(profile) ?? new Set()
    const states = [...waiting].filter((state) => state.free > 0)
    const slots = spread(states, claimLimit)
    if (slots.length === 0) return false
    const rounds = this.#planner.plan(profile, slots)
    if (rounds.length === 0) return false
    const { queue, clock, onTaken } = this.#options
    const promised = countBySession(rounds.map((round) => round.take))
    for (const state of states) state.promise(promised.get(state.row.id) ?? 0)
    const beganMs = clock.monotonicMs()
    let tasks: readonly TakenTask[] = []
    try {
      tasks = await queue.take({
        takes: rounds.map((round) => round.take),
        taskTypes: profile.taskTypes,
        token: randomToken(),
      })
      this.#planner.learn(rounds, tasks)
      // the next try goes to another worker
      const refused = this.#planner.refused(rounds, tasks)
      for (const state of states) if (refused.has(state.row.id) && waiting.delete(state)) waiting.add(state)
      if (tasks.length > 0) onTaken(tasks, clock.monotonicMs() - beganMs)
    } catch (error) {
      this.#planner.failed(rounds)
      throw error
    } finally {
      const taken = groupBy(tasks, (task) => task.session)
      for (const state of states) {
        state.fulfil(promised.get(state.row.id) ?? 0, taken.get(state.row.id) ?? [])
        state.settle()
        this.#afterPromise(state)
      }
    }
    return true
  }
}
