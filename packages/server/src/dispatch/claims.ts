import type { Clock, Uuid } from '@duly/domain'
import type { Logger } from 'pino'
import { groupBy } from '../base/group-by.js'
import { randomToken } from '../base/random.js'
import type { ReadyQueue, Take, TakenTask } from '../queue/port.js'
import type { LaneDirectory } from './lane-directory.js'
import { Planner, type Round } from './planner.js'
import type { Profile } from './profile.js'
import type { SessionState } from './session-state.js'
import { countBySession, spread } from './slots.js'
import type { Waiting } from './waiting.js'

export interface ClaimsOptions {
  readonly queue: ReadyQueue
  readonly directory: LaneDirectory
  readonly waiting: Waiting
  readonly clock: Clock
  readonly storeNowMs: () => number
  readonly log: Logger
  readonly onTaken: (tasks: readonly TakenTask[], tookMs: number) => void
  /** What was promised to the session was settled. */
  readonly onSettled: (state: SessionState) => void
  /** The store gave it nothing of what there was for it. */
  readonly onRefused: (state: SessionState) => void
  /** No claim is under way any more for this profile. */
  readonly onEnd: (profile: Profile) => void
}

/** The most tasks of one claim. */
const claimLimit = 500

/**
 * One claim at a time for each profile serves all polls of this node that serve the same; which lanes get how many of the free
 * slots is the selector's decision, and the claim itself is the queue's.
 */
export class Claims {
  readonly #options: ClaimsOptions
  readonly #planner: Planner
  readonly #claiming = new Map<Profile, Promise<void>>()
  readonly #again = new Set<Profile>()

  constructor(options: ClaimsOptions) {
    this.#options = options
    const { directory, clock, storeNowMs } = options
    this.#planner = new Planner({ directory, clock, storeNowMs, claimLimit })
  }

  isUnderWay(profile: Profile): boolean {
    return this.#claiming.has(profile)
  }

  /** The end of the claim under way for this profile; at once when there is none. */
  settled(profile: Profile): Promise<void> {
    return this.#claiming.get(profile) ?? Promise.resolve()
  }

  /** There may be something to claim for those who wait for it. */
  kick(profile: Profile): void {
    if (this.#claiming.has(profile)) {
      this.#again.add(profile)
      return
    }
    if (this.#options.directory.isIdleFor(profile)) return
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
      this.#options.onEnd(profile)
    }
  }

  /** One claim; true when another one is worth it. */
  async #round(profile: Profile): Promise<boolean> {
    const states = this.#options.waiting.free(profile)
    const slots = spread(states, claimLimit)
    if (slots.length === 0) return false
    const rounds = this.#planner.plan(profile, slots)
    if (rounds.length === 0) return false
    const promised = countBySession(rounds.map((round) => round.take))
    for (const state of states) state.promise(promised.get(state.row.id) ?? 0)
    const beganMs = this.#options.clock.monotonicMs()
    let take: Take = { tasks: [], refused: [] }
    try {
      const takes = rounds.map((round) => round.take)
      take = await this.#options.queue.take({ takes, taskTypes: profile.taskTypes, token: randomToken() })
      this.#learn(rounds, take, states)
      if (take.tasks.length > 0) this.#options.onTaken(take.tasks, this.#options.clock.monotonicMs() - beganMs)
    } catch (error) {
      this.#planner.failed(rounds)
      // the answer may have been lost, and not the claim
      for (const state of states) if (promised.has(state.row.id)) state.doubt()
      throw error
    } finally {
      this.#settle(states, promised, take)
    }
    return true
  }

  #settle(states: readonly SessionState[], promised: ReadonlyMap<Uuid, number>, { tasks, refused }: Take): void {
    const taken = groupBy(tasks, (task) => task.session)
    for (const state of states) {
      const { id } = state.row
      state.fulfil(promised.get(id) ?? 0, taken.get(id) ?? [])
      if (refused.includes(id)) state.doubt()
      state.settle()
      this.#options.onSettled(state)
      if (refused.includes(id)) this.#options.onRefused(state)
    }
  }

  #learn(rounds: readonly Round[], take: Take, states: readonly SessionState[]): void {
    this.#planner.learn(rounds, take)
    // the next try goes to another worker
    const laden = this.#planner.laden(rounds, take.tasks)
    for (const state of states) if (laden.has(state.row.id)) this.#options.waiting.moveBack(state)
  }
}
