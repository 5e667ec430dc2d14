import { FairGroup, FairShare } from './fair-share.js'
import type { Lane, Priority } from './lane.js'

/** How a queue's starts are shared among the priorities that have work; `strict` serves the most urgent one alone. */
export type PriorityWeights = Readonly<Record<Priority, number>> | 'strict'

/** 70 / 25 / 5: low always moves. */
export const defaultPriorityWeights: PriorityWeights = { 1: 70, 2: 25, 3: 5 }

/** Weights are asked for at each selection, so that a change is obeyed at once. A weight that is not above 0 counts as the smallest. */
export interface LaneSelectorOptions {
  readonly priorityWeights?: (queue: string) => PriorityWeights
  readonly tenantWeight?: (tenant: string) => number
}

/** A lane with the number of its tasks that could start. */
export interface LaneOffer {
  readonly lane: Lane
  readonly available: number
}

/** How many tasks to take from a lane. */
export interface LaneGrant {
  readonly lane: Lane
  readonly count: number
}

/** State of lanes that are not on offer is kept up to this number (about 1 KB each), beyond twice the lanes on offer. */
export const maxIdleLanes = 16_384

const weightBounds = { min: 0.001, max: 1_000_000 } as const

class LaneShare extends FairShare {
  lane: Lane
  available = 0
  count = 0

  constructor(lane: Lane) {
    super()
    this.lane = lane
  }
}

type TenantGroup = FairGroup<LaneShare>
type PriorityGroup = FairGroup<TenantGroup>
type QueueGroup = FairGroup<PriorityGroup>

/**
 * Decides which lanes get how many of the free slots. Hierarchical weighted fair queueing: queues share alike, in each queue its
 * priorities by weight (or strictly), in each priority its tenants by weight, in each tenant its gates alike.
 *
 * Pure and deterministic: the same calls give the same answers. Keeps its position from call to call, so that shares hold over any run of
 * starts. It does not promise order within a lane, nor that a take finds what was offered: `refund` what it did not find.
 */
export class LaneSelector {
  readonly #priorityWeights: (queue: string) => PriorityWeights
  readonly #tenantWeight: (tenant: string) => number
  readonly #queues: FairGroup<QueueGroup> = new FairGroup()
  /** Groups on offer in this selection, whose heaps are to be ordered. */
  readonly #open: { close(): void }[] = []
  #selection = 0
  #starts = 0
  #offered = 0
  #lanes = 0

  constructor(options: LaneSelectorOptions = {}) {
    this.#priorityWeights = options.priorityWeights ?? (() => defaultPriorityWeights)
    this.#tenantWeight = options.tenantWeight ?? (() => 1)
  }

  /** Lanes whose position is remembered. */
  get size(): number {
    return this.#lanes
  }

  /**
   * Shares out the slots: in all min(slots, what is available), never more of a lane than it has. Lanes come in the order of their first
   * start. Cost: linear in the offers, and logarithmic in the siblings for each slot.
   */
  select(offers: readonly LaneOffer[], slots: number): LaneGrant[] {
    this.#selection++
    this.#offered = 0
    this.#open.length = 0
    this.#openGroup(this.#queues, false)
    for (const { lane, available } of offers) if (available >= 1) this.#offer(lane, Math.floor(available))
    for (const group of this.#open) group.close()
    const grants = this.#startAll(slots)
    if (this.#lanes > maxIdleLanes + 2 * this.#offered) this.forget()
    return grants
  }

  /** Gives back starts that `select` charged to a lane and a take did not find. */
  refund(lane: Lane, unused: number): void {
    if (!(unused > 0)) return
    const queue = this.#queues.children.get(lane.queue)
    const priority = queue?.children.get(lane.priority)
    const tenant = priority?.children.get(lane.tenant)
    const share = tenant?.children.get(lane.gate)
    if (queue === undefined || priority === undefined || tenant === undefined || share === undefined) return
    tenant.refund(share, unused)
    priority.refund(tenant, unused)
    queue.refund(priority, unused)
    this.#queues.refund(queue, unused)
  }

  /**
   * Drops the state of all that the last selection did not offer. `select` calls it when idle lanes are too many, so that memory is bounded
   * by the lanes at work. Forgetting costs a lane at most what it had waited for its next start.
   */
  forget(): void {
    this.#lanes = 0
    this.#dropIdle(this.#queues, (queue) =>
      this.#dropIdle(queue, (priority) =>
        this.#dropIdle(priority, (tenant) =>
          this.#dropIdle(tenant, () => {
            this.#lanes++
          }),
        ),
      ),
    )
  }

  #dropIdle<Child extends FairShare>(group: FairGroup<Child>, visit: (child: Child) => void): void {
    for (const [key, child] of group.children) {
      if (child.offeredAt === this.#selection) visit(child)
      else group.children.delete(key)
    }
  }

  #openGroup<Child extends FairShare>(group: FairGroup<Child>, strict: boolean): void {
    group.open(strict)
    this.#open.push(group)
  }

  #offer(lane: Lane, available: number): void {
    const tenant = this.#tenantOf(lane)
    let share = tenant.children.get(lane.gate)
    if (share === undefined) {
      share = tenant.admit(lane.gate, new LaneShare(lane))
      this.#lanes++
    }
    if (share.offeredAt !== this.#selection) {
      share.offeredAt = this.#selection
      share.lane = lane
      share.available = 0
      share.count = 0
      tenant.offer(share, 1, 0)
      this.#offered++
    }
    share.available += available
  }

  #tenantOf(lane: Lane): TenantGroup {
    const priority = this.#priorityOf(lane)
    const tenant = priority.children.get(lane.tenant) ?? priority.admit(lane.tenant, new FairGroup())
    if (tenant.offeredAt !== this.#selection) {
      tenant.offeredAt = this.#selection
      priority.offer(tenant, usableWeight(this.#tenantWeight(lane.tenant)), 0)
      this.#openGroup(tenant, false)
    }
    return tenant
  }

  #priorityOf(lane: Lane): PriorityGroup {
    const queue = this.#queueOf(lane)
    const priority = queue.children.get(lane.priority) ?? queue.admit(lane.priority, new FairGroup())
    if (priority.offeredAt !== this.#selection) {
      priority.offeredAt = this.#selection
      const weights = this.#priorityWeights(lane.queue)
      queue.offer(priority, weights === 'strict' ? 1 : usableWeight(weights[lane.priority]), lane.priority)
      this.#openGroup(priority, false)
    }
    return priority
  }

  #queueOf(lane: Lane): QueueGroup {
    const queue = this.#queues.children.get(lane.queue) ?? this.#queues.admit(lane.queue, new FairGroup())
    if (queue.offeredAt !== this.#selection) {
      queue.offeredAt = this.#selection
      this.#queues.offer(queue, 1, 0)
      this.#openGroup(queue, this.#priorityWeights(lane.queue) === 'strict')
    }
    return queue
  }

  #startAll(slots: number): LaneGrant[] {
    const started: LaneShare[] = []
    for (let left = Math.floor(slots); left > 0; left--) {
      const share = this.#startNext()
      if (share === undefined) break
      if (share.count === 1) started.push(share)
    }
    return started.map(({ lane, count }) => ({ lane, count }))
  }

  #startNext(): LaneShare | undefined {
    const queue = this.#queues.next
    const priority = queue?.next
    const tenant = priority?.next
    const share = tenant?.next
    if (queue === undefined || priority === undefined || tenant === undefined || share === undefined) return undefined
    share.count++
    this.#starts++
    tenant.serve(share, share.count < share.available, this.#starts)
    priority.serve(tenant, tenant.next !== undefined, this.#starts)
    queue.serve(priority, priority.next !== undefined, this.#starts)
    this.#queues.serve(queue, queue.next !== undefined, this.#starts)
    return share
  }
}

function usableWeight(weight: number): number {
  return weight > weightBounds.min ? Math.min(weight, weightBounds.max) : weightBounds.min
}
