import { type Lane, laneKey } from '@duly/domain'
import type { Profile } from './profile.js'

/** What this node believes of one lane that may have ready tasks. */
export interface LaneEntry {
  readonly lane: Lane
  /** Raised by every hint, so that an older look does not overrule a newer hint. */
  version: number
  /** Nothing ready before this instant was left at the last look (epoch ms of the store). */
  fromMs: number
  /** When it was last looked at from its start (monotonic ms). */
  lookedFromStartMs: number
  /** A take that its filter left short: tasks of other types may be in the way. */
  isShort: boolean
}

/** A mark stays this far behind the store's clock: a commit under way may still bring an earlier ready_at. */
const markLagMs = 2_000
/** Below the mark is looked at least this often. */
const fromStartEveryMs = 1_000

/**
 * The lanes that may have work, as hints: from this node's own submissions and promotions, from other nodes' signals and
 * from a slow look at the ready queue. Holds only lanes believed not empty, so it is bounded by what the looks return.
 */
export class LaneDirectory {
  readonly #queues = new Map<string, Map<string, LaneEntry>>()
  /** Lanes given up since the last look because a take from their start came back short. */
  readonly #short = new Set<string>()
  #version = 0

  /** Lanes that a worker of this profile may take from. */
  lanesFor(profile: Profile): LaneEntry[] {
    const found: LaneEntry[] = []
    for (const queue of profile.queues) {
      for (const entry of this.#queues.get(queue)?.values() ?? []) {
        if (profile.mayTake(entry.lane)) found.push(entry)
      }
    }
    return found
  }

  /** True when nothing is known to wait for this profile. */
  isIdleFor(profile: Profile): boolean {
    for (const queue of profile.queues) {
      for (const entry of this.#queues.get(queue)?.values() ?? []) {
        if (profile.mayTake(entry.lane)) return false
      }
    }
    return true
  }

  mark(lane: Lane): void {
    let lanes = this.#queues.get(lane.queue)
    if (!lanes) {
      lanes = new Map()
      this.#queues.set(lane.queue, lanes)
    }
    const key = laneKey(lane)
    const entry = lanes.get(key)
    this.#version++
    if (entry) entry.version = this.#version
    else {
      const fresh = {
        lane,
        version: this.#version,
        fromMs: 0,
        lookedFromStartMs: Number.NEGATIVE_INFINITY,
        isShort: false,
      }
      lanes.set(key, fresh)
    }
  }

  /** From where the next take reads the lane: its mark, or once a second its start. */
  startOf(entry: LaneEntry, monotonicMs: number): number {
    if (monotonicMs - entry.lookedFromStartMs < fromStartEveryMs) return entry.fromMs
    entry.lookedFromStartMs = monotonicMs
    entry.fromMs = 0
    return 0
  }

  /** A take found as many as it asked for, the last one ready at `lastReadyAtMs`. */
  found(entry: LaneEntry, lastReadyAtMs: number, storeNowMs: number): void {
    entry.fromMs = Math.max(entry.fromMs, Math.min(lastReadyAtMs, storeNowMs - markLagMs))
    entry.isShort = false
  }

  /** A take that began at `version` and read from `fromMs` found less than it asked for: the lane is empty unless hinted at since. */
  foundShort(entry: LaneEntry, take: { version: number; fromMs: number }): void {
    if (take.fromMs > 0) {
      // below the mark something may be left: look there before giving the lane up
      entry.lookedFromStartMs = Number.NEGATIVE_INFINITY
      return
    }
    entry.isShort = true
    this.#short.add(laneKey(entry.lane))
    if (entry.version === take.version) this.#remove(entry)
  }

  /**
   * What a look at these queues found; lanes not found that were not hinted at since `version` go. A lane that was given up as
   * empty and has tasks all the same is short.
   */
  replace(queues: readonly string[], lanes: readonly Lane[], version: number): void {
    const listed = new Set(lanes.map(laneKey))
    for (const queue of queues) {
      for (const [key, entry] of this.#queues.get(queue) ?? []) {
        if (!listed.has(key) && entry.version <= version) this.#remove(entry)
      }
    }
    for (const lane of lanes) {
      const key = laneKey(lane)
      if (!this.#queues.get(lane.queue)?.has(key)) this.mark(lane)
      const entry = this.#queues.get(lane.queue)?.get(key)
      if (entry && this.#short.has(key)) entry.isShort = true
    }
    this.#short.clear()
  }

  /** The number of hints so far; `replace` compares with it. */
  get version(): number {
    return this.#version
  }

  #remove(entry: LaneEntry): void {
    const lanes = this.#queues.get(entry.lane.queue)
    lanes?.delete(laneKey(entry.lane))
    if (lanes?.size === 0) this.#queues.delete(entry.lane.queue)
  }
}
