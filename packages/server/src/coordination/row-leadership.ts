import type { Clock, Uuid } from '@duly/domain'
import { type LeaderStore, leaderLeaseMs, type Seat } from '../store/leader-store.js'
import type { Leadership, LeadershipListener } from './leadership.js'
import { planMove } from './shares.js'

/** What the renewal of a node tells. */
export interface Standing {
  /** The store was away, and what else this says was judged before leases were renewed. */
  readonly wasOut: boolean
  /** Nodes that may lead and live, by their numbers. */
  readonly schedulers: readonly Uuid[]
  /** Goes up whenever a partition changes hands. */
  readonly version: number
}

export interface RowLeadershipOptions extends LeadershipListener {
  readonly node: Uuid
  readonly partitions: number
  readonly store: LeaderStore
  readonly clock: Clock
  /** Renews the row of the node: the one write of a pass in which nothing changes hands. */
  readonly renew: () => Promise<Standing>
}

/** So many passes an even spread takes at most after one node came: what moves is looked for anew by its next leader. */
const calmPasses = 16
/** The table is read as often though nothing tells of a change: a hand in the store makes some that raise no epoch. */
const rereadMs = 30_000

/** Leaders by the rows of PostgreSQL: a node lives by its row in `nodes`, a partition says in `partitions` whose it is. */
export class RowLeadership implements Leadership {
  readonly #options: RowLeadershipOptions
  #led: ReadonlyMap<number, number> = new Map()
  #renewedAtMs = Number.NEGATIVE_INFINITY
  /** What the last plan was made from: while it is the same, there is nothing to do. */
  #plannedFor = ''
  #readAtMs = Number.NEGATIVE_INFINITY
  #isResigned = false

  constructor(options: RowLeadershipOptions) {
    this.#options = options
  }

  led(): ReadonlyMap<number, number> {
    const isLate = this.#options.clock.monotonicMs() - this.#renewedAtMs >= leaderLeaseMs
    return isLate || this.#isResigned ? none : this.#led
  }

  async runOnce(): Promise<void> {
    const { store, partitions, clock } = this.#options
    if (this.#isResigned) return
    const { schedulers, version } = await this.#renew()
    const plannedFor = `${version} ${schedulers.join(' ')}`
    const nowMs = clock.monotonicMs()
    if (plannedFor === this.#plannedFor && nowMs - this.#readAtMs < rereadMs) return
    await store.fill(partitions)
    this.#plannedFor = (await this.#spread(schedulers)) ? '' : plannedFor
    this.#readAtMs = nowMs
  }

  async resign(): Promise<void> {
    const { store, node, onFreed } = this.#options
    this.#isResigned = true
    await store.free(node)
    // also when others took it all before: who looks once more loses nothing
    onFreed()
  }

  /** After an outage once more: what is told now was judged after all leases were renewed. */
  async #renew(): Promise<Standing> {
    const { renew, clock } = this.#options
    for (;;) {
      // when it was sent, not when it was answered: others count from an instant in between
      const sentAtMs = clock.monotonicMs()
      const standing = await renew()
      this.#renewedAtMs = sentAtMs
      if (!standing.wasOut) return standing
    }
  }

  /** Answers whether something changed hands, so that the next pass looks again. */
  async #spread(schedulers: readonly Uuid[]): Promise<boolean> {
    const { store, node, partitions, onFreed } = this.#options
    const seats = await store.read()
    const most = Math.max(1, Math.ceil(partitions / calmPasses))
    const { take, give } = planMove(node, schedulers, seats, most)
    const freed = give.length > 0 ? await store.free(node, give) : []
    const taken = take.length > 0 ? await store.take(node, take) : []
    this.#know(withChanges(seats, [...freed, ...taken]))
    if (freed.length > 0) onFreed()
    return take.length > 0 || give.length > 0
  }

  #know(seats: readonly Seat[]): void {
    const { node, onGained } = this.#options
    const before = this.#led
    this.#led = new Map(seats.filter(({ leader }) => leader === node).map(({ partition, epoch }) => [partition, epoch]))
    const gained = [...this.#led.keys()].filter((partition) => before.get(partition) !== this.#led.get(partition))
    if (gained.length > 0) onGained(gained)
  }
}

const none: ReadonlyMap<number, number> = new Map()

function withChanges(seats: readonly Seat[], changes: readonly Seat[]): readonly Seat[] {
  const changed = new Map(changes.map((seat) => [seat.partition, seat]))
  return seats.map((seat) => changed.get(seat.partition) ?? seat)
}
