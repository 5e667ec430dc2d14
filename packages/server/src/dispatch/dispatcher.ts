import { type Clock, DulyError, type Uuid } from '@duly/domain'
import type { Logger } from 'pino'
import type { PollRequest } from '../model.js'
import type { ReadyQueue, TakenTask } from '../queue/port.js'
import type { SessionStore } from '../store/session-store.js'
import { BetweenPolls } from './between-polls.js'
import { Claims } from './claims.js'
import type { Wanting } from './hand-offs.js'
import { Healer } from './healer.js'
import { LaneDirectory } from './lane-directory.js'
import { Lookout } from './lookout.js'
import { Others, type ReadyLane } from './others.js'
import { Recounts } from './recounts.js'
import type { Reservation } from './reservation.js'
import { Reservations } from './reservations.js'
import type { OpenPoll, SessionState } from './session-state.js'
import { type Sessions, sessionLost } from './sessions.js'
import { Waiting } from './waiting.js'

export interface DispatcherOptions {
  readonly queue: ReadyQueue
  readonly store: SessionStore
  readonly sessions: Sessions
  readonly clock: Clock
  readonly storeNowMs: () => number
  readonly log: Logger
  readonly onTaken: (tasks: readonly TakenTask[], tookMs: number) => void
  /** Other nodes are to hear that the queue has tasks. */
  readonly tellOthers: (queue: string) => void
  /** Gives back tasks that a worker did not fetch; answers those that another node has given it, or will. */
  readonly giveBack: (state: SessionState, tasks: readonly TakenTask[]) => Promise<readonly TakenTask[]>
}

/**
 * Waiting polls meet ready tasks: tasks that wait are claimed for polls ({@link Claims}), tasks that are being committed are
 * promised a slot ({@link Reservations}). What both bring stands in the session's mailbox and leaves in the poll's answer.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #directory = new LaneDirectory()
  readonly #waiting = new Waiting()
  readonly #betweenPolls: BetweenPolls
  readonly #lookout: Lookout
  readonly #claims: Claims
  readonly #others: Others
  readonly #reservations: Reservations
  readonly #recounts: Recounts
  readonly #healer: Healer
  #isClosed = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { queue, clock, giveBack } = options
    const shared = {
      ...{ directory: this.#directory, waiting: this.#waiting },
      onSettled: (state: SessionState) => this.#afterPromise(state),
    }
    this.#betweenPolls = new BetweenPolls({ clock, giveBack, onUnsure: (state) => this.#healer.start(state) })
    this.#lookout = new Lookout({
      queue,
      directory: this.#directory,
      onLooked: (queues) => this.#kickQueues(queues),
    })
    this.#others = new Others({
      ...{ ...shared, clock, betweenPolls: this.#betweenPolls, tell: options.tellOthers },
      isClaiming: (profile) => this.#claims.isUnderWay(profile),
    })
    this.#claims = new Claims({
      ...{ ...options, ...shared, onEnd: (profile) => this.#others.claimed(profile) },
      onRefused: (state) => this.#healer.start(state),
    })
    this.#healer = new Healer({ ...options, onHealed: (state) => this.#wait(state) })
    this.#recounts = new Recounts({ ...{ store: options.store, clock }, onCounted: (state) => this.hasRoom(state) })
    this.#reservations = new Reservations({ ...shared, betweenPolls: this.#betweenPolls, onTaken: options.onTaken })
  }

  /**
   * Waits for tasks for the session, at most `waitMs` and no longer than `until`; what was not acknowledged comes first. A
   * poll that does not wait still gets one claim. None brings the session more than the slots that it registered, what it holds
   * and has not reported counted in. From its poll on, the session is served by this node.
   */
  async poll(
    state: SessionState,
    request: PollRequest & { readonly until?: Promise<unknown> },
    signal: AbortSignal,
  ): Promise<readonly TakenTask[]> {
    if (this.#isClosed) throw new DulyError('shutting_down', 'This node is shutting down.', { retryAfterSeconds: 1 })
    await this.#healer.fetch(state, request.received)
    const isQuick = request.waitMs <= 0
    // a worker that says wrong what it can take must not gather what others could run
    const slots = Math.min(request.slots, state.row.slots)
    const excess = state.excessOf(slots)
    if (excess && isQuick) await this.#recounts.count(new Map([[state, excess]]))
    if (isQuick && slots > 0) await this.#lookout.know(state.profile.queues)
    // it may have been found dead meanwhile, and nothing would end the wait
    if (state.isGone) throw sessionLost(state.row.id)
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const poll: OpenPoll = {
        slots,
        // the node may have closed while the store was asked
        hurry: slots === 0 || this.#isClosed,
        answer: (tasks) => {
          clearTimeout(timer)
          signal.removeEventListener('abort', gone)
          this.#waiting.remove(state)
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
      if (excess && !isQuick) this.#recounts.add(state, excess)
      if (isQuick) void this.#once(state).then(hurry)
    })
  }

  /** One claim for the session; another one if it had gone to another node before this one, or there was reason to think so. */
  async #once(state: SessionState): Promise<void> {
    await this.#claims.settled(state.profile)
    const healing = state.isServed ? this.#healer.healing(state) : this.#healer.heal(state)
    if (healing === undefined) return
    await healing.catch(() => {})
    await this.#claims.settled(state.profile)
  }

  #wait(state: SessionState): void {
    this.#healer.note(state)
    if (state.free === 0) return
    void this.#lookout.know(state.profile.queues).catch(() => {})
    this.#waiting.add(state)
    this.#claims.kick(state.profile)
  }

  /** The store gave the session grants up to this one, of which this node never saw some. */
  heal(state: SessionState, lastGrant: number): void {
    this.#healer.start(state, lastGrant)
  }

  /** Leases ended, by whoever's hand. */
  ended(leases: readonly { readonly session: Uuid; readonly token: bigint }[]): void {
    for (const state of this.#options.sessions.ended(leases)) this.hasRoom(state)
  }

  /** The session holds less than before: its poll may wait for more. */
  hasRoom(state: SessionState): void {
    if (state.free > 0 && !this.#waiting.has(state)) this.#wait(state)
  }

  /**
   * A slot of a waiting worker, or of one that will poll again at once, for a task that is about to be committed, if nothing
   * else waits for that worker but what a claim under way asks for; else null.
   */
  reserve(task: Omit<Wanting, 'id'>): Reservation | null {
    // a queue that was not looked at may have a backlog that this node has not heard of
    if (this.#isClosed || !this.#lookout.knows(task.queue) || this.#lookout.isPaused(task.queue)) return null
    return this.#reservations.reserve(task)
  }

  /** Whether some worker waits at this node, or will again at once. */
  isAnyoneWaiting(): boolean {
    return !this.#isClosed && (this.#waiting.isAny() || this.#betweenPolls.isAny())
  }

  #afterPromise(state: SessionState): void {
    this.#betweenPolls.watch(state)
    if (state.promised === 0 && state.grants.hasGap()) {
      state.doubt()
      this.#healer.start(state)
    }
    this.#wait(state)
  }

  /** Tasks became ready by this node's hand: the lane of each. */
  ready(lanes: readonly ReadyLane[]): void {
    const queues = new Set<string>()
    const marked = lanes.filter((lane) => !this.#lookout.isPaused(lane.queue))
    for (const lane of marked) {
      this.#directory.mark(lane, 1)
      queues.add(lane.queue)
    }
    // a queue that this node takes for paused may have been resumed elsewhere
    if (marked.length < lanes.length) for (const { queue } of lanes) this.#options.tellOthers(queue)
    else this.#others.ready(marked)
    this.#kickQueues(queues)
  }

  /** These queues got tasks, or were paused or resumed, by another's hand. */
  async readyElsewhere(queues: readonly string[]): Promise<void> {
    const wanted = new Set([...this.#waiting.profiles()].flatMap((profile) => profile.queues))
    this.#lookout.forget(queues.filter((queue) => !wanted.has(queue)))
    await this.#lookout.lookAt(queues.filter((queue) => wanted.has(queue)))
  }

  /** The slow look: finds what no hint told of. Does nothing while no poll waits. */
  async look(): Promise<void> {
    await this.#options.sessions.confirm(this.#waiting.all())
    this.#healer.look()
    await this.#recounts.look()
    await this.#lookout.look([...this.#waiting.profiles()])
  }

  /** Answers all polls and takes nothing new. */
  close(): void {
    this.#isClosed = true
    // those too who wait for nothing new: all their slots are promised, or they drain
    for (const state of this.#options.sessions.all()) state.hurryAny()
  }

  /** Gives back what was handed to workers who will not fetch it from this node any more. */
  giveBackUnfetched(): Promise<void> {
    return this.#betweenPolls.giveBackAll()
  }

  drop(state: SessionState): void {
    this.#waiting.remove(state)
    state.close()
    this.#betweenPolls.remove(state)
  }

  #kickQueues(queues: ReadonlySet<string>): void {
    for (const profile of this.#waiting.profiles()) {
      if (profile.queues.some((queue) => queues.has(queue))) this.#claims.kick(profile)
    }
  }
}
