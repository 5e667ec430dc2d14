import { type Lane, laneKey } from '@duly/domain'
import type { Profile } from './profile.js'

/** How a lane looks to the workers of one profile, who may serve only some of its types. */
interface View {
  /** Ready tasks that they might take, as far as counted here; Infinity: some, uncounted. */
  ready: number
  /** Tasks that takes under way ask for. */
  asked: number
  /** Nothing for them ready before this instant was left at the last look (epoch ms of the store). */
  fromMs: number
  /** When they last looked at the lane from its start (monotonic ms). */
  lookedFromStartMs: number
  /** A take found less than there is: tasks of other types may be in the way. */
  isShort: boolean
}

/** What this node believes of one lane. */
export interface LaneEntry {
  readonly lane: Lane
  /** Raised by every hint, so that an older look does not overrule a newer hint. */
  version: number
  /** The last hint that brought no count. */
  uncountedAt: number
  /** Tasks that counted hints told of, in all. */
  marked: number
  /** Ready tasks, for profiles that have no view of the lane yet. */
  ready: number
  readonly views: Map<Profile, View>
}

/** A take that is under way. */
export interface LaneAsk {
  readonly entry: LaneEntry
  readonly profile: Profile
  readonly count: number
  readonly version: number
  readonly marked: number
  /** From where it reads the lane (epoch ms). */
  readonly fromMs: number
}

/** A mark stays this far behind the store's clock: a commit under way may still bring an earlier ready_at. */
const markLagMs = 2_000
/** Below the mark is looked at least this often. */
const fromStartEveryMs = 1_000

/**
 * The lanes that may have work, as hints: counted from this node's own commits, uncounted from other nodes' signals and from a
 * slow look at the ready queue. Counts let a new task go straight to a free worker while a claim fetches the ones before it.
 * Holds only lanes believed not empty, so it is bounded by what the looks return.
 */
export class LaneDirectory {
  readonly #queues = new Map<string, Map<string, LaneEntry>>()
  #version = 0

  /** The number of hints so far; `replace` compares with it. */
  get version(): number {
    return this.#version
  }

  /** Lanes with tasks that a worker of this profile may take and that no take under way asks for. */
  lanesFor(profile: Profile): LaneEntry[] {
    return [...this.#entriesFor(profile)].filter((entry) => this.available(entry, profile) > 0)
  }

  /** True when nothing waits for this profile that no take under way asks for. */
  isIdleFor(profile: Profile): boolean {
    for (const entry of this.#entriesFor(profile)) if (this.available(entry, profile) > 0) return false
    return true
  }

  /** Lanes in which takes of this profile found less than there is. Each is told once. */
  takeShort(profile: Profile): Lane[] {
    const short: Lane[] = []
    for (const entry of this.#entriesFor(profile)) {
      const view = entry.views.get(profile)
      if (!view?.isShort) continue
      view.isShort = false
      short.push(entry.lane)
    }
    return short
  }

  /** How many tasks of the lane a take could ask for; Infinity: uncounted. */
  available(entry: LaneEntry, profile: Profile): number {
    const view = entry.views.get(profile)
    return view ? Math.max(0, view.ready - view.asked) : entry.ready
  }

  /** Tasks became ready in this lane: so many, or uncounted. */
  mark(lane: Lane, count = Number.POSITIVE_INFINITY): void {
    let lanes = this.#queues.get(lane.queue)
    if (!lanes) {
      lanes = new Map()
      this.#queues.set(lane.queue, lanes)
    }
    const key = laneKey(lane)
    const entry = lanes.get(key) ?? emptyEntry(lane)
    lanes.set(key, entry)
    this.#version++
    entry.version = this.#version
    if (count === Number.POSITIVE_INFINITY) entry.uncountedAt = this.#version
    else entry.marked += count
    entry.ready += count
    for (const view of entry.views.values()) view.ready += count
  }

  /** A take begins: it asks for `count` tasks, from the lane's mark or, once a second, from its start. */
  ask(entry: LaneEntry, profile: Profile, { count, monotonicMs }: { count: number; monotonicMs: number }): LaneAsk {
    const view = this.#viewOf(entry, profile)
    view.asked += count
    if (monotonicMs - view.lookedFromStartMs >= fromStartEveryMs) {
      view.lookedFromStartMs = monotonicMs
      view.fromMs = 0
    }
    const { version, marked } = entry
    return { entry, profile, count, version, marked, fromMs: view.fromMs }
  }

  /** A take ends: it found `count` tasks, the last one ready at `lastReadyAtMs`. */
  found(
    { entry, profile, ...ask }: LaneAsk,
    found: { count: number; lastReadyAtMs: number; storeNowMs: number },
  ): void {
    const view = this.#viewOf(entry, profile)
    view.asked -= ask.count
    entry.ready = Math.max(0, entry.ready - found.count)
    for (const each of entry.views.values()) each.ready = Math.max(0, each.ready - found.count)
    if (found.count >= ask.count) {
      view.fromMs = Math.max(view.fromMs, Math.min(found.lastReadyAtMs, found.storeNowMs - markLagMs))
      view.isShort = false
    } else if (ask.fromMs > 0) {
      // below the mark something may be left: look there before giving the lane up
      view.lookedFromStartMs = Number.NEGATIVE_INFINITY
    } else {
      // nothing was left for them; what there is came since
      view.ready = entry.uncountedAt > ask.version ? Number.POSITIVE_INFINITY : entry.marked - ask.marked
      view.isShort = true
    }
    if (entry.ready === 0 && this.#isQuiet(entry)) this.#remove(entry)
  }

  /** A take failed: what is there is not known any more. */
  failed({ entry, profile, count }: LaneAsk): void {
    const view = this.#viewOf(entry, profile)
    view.asked -= count
    view.ready = Number.POSITIVE_INFINITY
    entry.ready = Number.POSITIVE_INFINITY
  }

  /**
   * What a look at these queues found, uncounted. Lanes not found that were not hinted at since `version` go; lanes found have
   * tasks even for those who found none at their last take.
   */
  replace(queues: readonly string[], lanes: readonly Lane[], version: number): void {
    const listed = new Set(lanes.map(laneKey))
    for (const queue of queues) {
      for (const [key, entry] of this.#queues.get(queue) ?? []) {
        if (!listed.has(key) && entry.version <= version && this.#isQuiet(entry)) this.#remove(entry)
      }
    }
    for (const lane of lanes) this.mark(lane)
  }

  /** Nothing starts from this queue: what was hinted at waits for the next look that says otherwise. */
  forget(queue: string): void {
    for (const entry of [...(this.#queues.get(queue)?.values() ?? [])]) {
      entry.ready = 0
      for (const view of entry.views.values()) {
        view.ready = 0
        view.isShort = false
      }
      if (this.#isQuiet(entry)) this.#remove(entry)
    }
  }

  *#entriesFor(profile: Profile): Generator<LaneEntry> {
    for (const queue of profile.queues) {
      for (const entry of this.#queues.get(queue)?.values() ?? []) if (profile.mayTake(entry.lane)) yield entry
    }
  }

  #viewOf(entry: LaneEntry, profile: Profile): View {
    const view = entry.views.get(profile)
    if (view) return view
    const fresh = {
      ready: entry.ready,
      asked: 0,
      fromMs: 0,
      lookedFromStartMs: Number.NEGATIVE_INFINITY,
      isShort: false,
    }
    entry.views.set(profile, fresh)
    return fresh
  }

  #isQuiet(entry: LaneEntry): boolean {
    for (const view of entry.views.values()) if (view.asked > 0 || (entry.ready === 0 && view.ready > 0)) return false
    return true
  }

  #remove(entry: LaneEntry): void {
    const lanes = this.#queues.get(entry.lane.queue)
    lanes?.delete(laneKey(entry.lane))
    if (lanes?.size === 0) this.#queues.delete(entry.lane.queue)
  }
}

function emptyEntry({ queue, priority, tenant, gate }: Lane): LaneEntry {
  const lane = { queue, priority, tenant, gate }
  return { lane, version: 0, uncountedAt: 0, marked: 0, ready: 0, views: new Map() }
}
