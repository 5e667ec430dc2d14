import { type Clock, gates, type Lane, type LaneGrant, LaneSelector, laneKey, type Uuid } from '@duly/domain'
import type { LaneTake, Take, TakenTask } from '../queue/port.js'
import type { LaneAsk, LaneDirectory, LaneEntry } from './lane-directory.js'
import type { Profile } from './profile.js'

/** One lane's part of a claim. */
export interface Round {
  readonly ask: LaneAsk
  readonly take: LaneTake
}

export interface PlannerOptions {
  readonly directory: LaneDirectory
  readonly clock: Clock
  readonly storeNowMs: () => number
  /** The most tasks of one claim. */
  readonly claimLimit: number
}

/** Makes a claim out of free slots and lanes believed to have work, and learns from what it found. */
export class Planner {
  readonly #options: PlannerOptions
  readonly #selector = new LaneSelector()

  constructor(options: PlannerOptions) {
    this.#options = options
  }

  /** Which lanes get how many of the slots; one entry of `slots` a free slot of a session. */
  plan(profile: Profile, slots: readonly Uuid[]): Round[] {
    const { directory, clock, claimLimit } = this.#options
    const entries = new Map<Lane, LaneEntry>()
    const offers = directory.lanesFor(profile).map((entry) => {
      entries.set(entry.lane, entry)
      // a session holds at most one suspect, so that a poison task takes no neighbour with it
      const available = entry.lane.gate === gates.suspect ? 1 : claimLimit
      return { lane: entry.lane, available: Math.min(available, directory.available(entry, profile)) }
    })
    const monotonicMs = clock.monotonicMs()
    let first = 0
    return this.#selector.select(offers, slots.length).map(({ lane, count }: LaneGrant) => {
      const entry = entries.get(lane) as LaneEntry
      const sessions = slots.slice(first, first + count)
      first += count
      const ask = directory.ask(entry, profile, { count, monotonicMs })
      return { ask, take: { lane, sessions, fromMs: ask.fromMs } }
    })
  }

  learn(rounds: readonly Round[], { tasks, refused }: Take): void {
    const found = new Map<string, { count: number; lastReadyAtMs: number }>()
    for (const task of tasks) {
      const key = laneKey(task)
      const sum = found.get(key) ?? { count: 0, lastReadyAtMs: 0 }
      found.set(key, { count: sum.count + 1, lastReadyAtMs: Math.max(sum.lastReadyAtMs, task.readyAtMs) })
    }
    const storeNowMs = this.#options.storeNowMs()
    for (const { ask, take } of rounds) {
      const { count, lastReadyAtMs } = found.get(laneKey(take.lane)) ?? { count: 0, lastReadyAtMs: 0 }
      if (count < ask.count) this.#selector.refund(take.lane, ask.count - count)
      // what a session was refused is there still, for others
      if (take.sessions.some((session) => refused.includes(session))) this.#options.directory.failed(ask)
      else this.#options.directory.found(ask, { count, lastReadyAtMs, storeNowMs })
    }
  }

  /** Sessions that were named for a suspect and got none: they hold one already. */
  laden(rounds: readonly Round[], tasks: readonly TakenTask[]): ReadonlySet<Uuid> {
    const served = new Set(tasks.map(laneKey))
    const short = rounds.filter(({ take: { lane } }) => lane.gate === gates.suspect && !served.has(laneKey(lane)))
    return new Set(short.flatMap(({ take }) => take.sessions))
  }

  /** The claim failed: its starts are given back, and what its lanes hold is not known any more. */
  failed(rounds: readonly Round[]): void {
    for (const { ask, take } of rounds) {
      this.#selector.refund(take.lane, ask.count)
      this.#options.directory.failed(ask)
    }
  }
}
