import { type Clock, gates, type Lane } from '@duly/domain'
import type { BetweenPolls } from './between-polls.js'
import type { LaneDirectory } from './lane-directory.js'
import type { Profile } from './profile.js'
import type { Waiting } from './waiting.js'

/** Where a task became ready, and of which type it is if that is known. */
export interface ReadyLane extends Lane {
  readonly taskType?: string
}

export interface OthersOptions {
  readonly directory: LaneDirectory
  readonly waiting: Waiting
  readonly betweenPolls: BetweenPolls
  readonly clock: Clock
  /** A claim for the profile is under way: `claimed` follows. */
  readonly isClaiming: (profile: Profile) => boolean
  /** Other nodes are to hear that the queue has tasks. */
  readonly tell: (queue: string) => void
}

/** A worker that is between two polls is back in less, if all is well. */
const backMs = 10

/**
 * Decides which tasks other nodes hear of. Those for which workers of this node have slots free are claimed here at once, and
 * telling of them would cost every other node a look and, with workers there, a claim for nothing. So their queues are told only
 * when something was left after all. A hint that is kept back by mistake costs a task what a lost one does: the slow look of
 * the others finds it.
 */
export class Others {
  readonly #options: OthersOptions
  /** Queues that were not told of because a claim for the profile will fetch what came. */
  readonly #owed = new Map<Profile, Set<string>>()

  constructor(options: OthersOptions) {
    this.#options = options
  }

  /** These tasks became ready here. The directory knows it, and who waits for them is about to claim. */
  ready(lanes: readonly ReadyLane[]): void {
    const seen = new Set<string>()
    for (const lane of lanes) {
      const key = `${lane.queue} ${lane.taskType} ${lane.tenant} ${lane.gate}`
      if (seen.has(key)) continue
      seen.add(key)
      const taker = this.#takerOf(lane)
      if (taker === null) this.#options.tell(lane.queue)
      else this.#owe(taker, lane.queue)
    }
  }

  /** No claim is under way for the profile any more. */
  claimed(profile: Profile): void {
    const queues = this.#owed.get(profile)
    if (queues === undefined) return
    this.#owed.delete(profile)
    if (!this.#options.directory.isIdleFor(profile)) for (const queue of queues) this.#options.tell(queue)
  }

  #owe(profile: Profile, queue: string): void {
    const owed = this.#owed.get(profile)
    if (owed) {
      owed.add(queue)
      return
    }
    this.#owed.set(profile, new Set([queue]))
    void this.#options.clock.sleep(backMs).then(() => {
      if (!this.#options.isClaiming(profile)) this.claimed(profile)
    })
  }

  /** A session takes one suspect at a time, whatever its slots. */
  #takerOf({ taskType, gate, queue, tenant }: ReadyLane): Profile | null {
    if (taskType === undefined || gate === gates.suspect) return null
    const { waiting, betweenPolls } = this.#options
    const serves = (profile: Profile): boolean => profile.serves({ queue, taskType, tenant })
    return (waiting.find(serves) ?? betweenPolls.find((state) => serves(state.profile)))?.profile ?? null
  }
}
