import type { Clock, Uuid } from '@duly/domain'
import { HandOffs, type Reserve } from '../dispatch/hand-offs.js'
import type { EndedTask } from '../model.js'
import { faultKind } from '../store/faults.js'
import {
  type DueTimer,
  type Promoted,
  type PromoteResult,
  rescueAfterMs,
  type TimerStore,
} from '../store/timer-store.js'
import { Outlook } from './outlook.js'
import { TimerHeap } from './timer-heap.js'

export interface PromoterOptions {
  readonly store: TimerStore
  readonly clock: Clock
  readonly storeNowMs: () => number
  /** How many partitions there are. */
  readonly partitions: number
  /** Those that this node leads, with their epochs. */
  readonly led: () => ReadonlyMap<number, number>
  readonly reserve: Reserve
  readonly onReady: (promoted: readonly Promoted[]) => void
  readonly onExpired: (tasks: readonly EndedTask[]) => void
  /** Ends tasks of workflows that have expired; answers which. */
  readonly expireNodes: (ids: readonly Uuid[]) => Promise<readonly EndedTask[]>
  /** How late tasks were promoted, ms. */
  readonly onLate: (latenessMs: readonly number[]) => void
  /** The store refuses to act on this one's row. */
  readonly onRefused: (timer: DueTimer, error: unknown) => void
}

/** The store is asked for the timers of this much ahead; nearer ones are told of by whoever sets them. */
const horizonMs = 5_000
const peekLimit = 5_000
/** … and of one partition so many: a burst can be all in one, since a batch of submissions is. */
const partitionLimit = 500
const batchLimit = 500
/** Partitions that others lead are looked at this often for what is late. */
const rescueEveryMs = 3_000
/**
 * A timer that the store does not find due is tried for this long, after pauses that double, then left to the next look: the node's
 * idea of the store's time is off by up to half of the 500 ms that learning it may take.
 */
const clockErrorMs = 300
const retryMs = 2

/**
 * Promotes tasks whose time has come. The next seconds of the partitions that this node leads are held in memory as hints, so a
 * task is promoted within milliseconds of its instant by a sleep until just then, not by a tick; whether it is due, and whether
 * this node still leads, is the store's decision (I8). What is 5 s late in other partitions is promoted as well.
 */
export class Promoter {
  readonly #options: PromoterOptions
  readonly #heap = new TimerHeap(20_000, (atMs) => this.#outlook.lookFor(atMs))
  readonly #outlook: Outlook
  #rescuedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: PromoterOptions) {
    this.#options = options
    this.#outlook = new Outlook({ ...options, horizonMs, peekLimit, partitionLimit })
  }

  /** A timer that was set at this node, which leads its partition. True when it is the next one: the caller wakes the duty. */
  add(timer: DueTimer): boolean {
    return isSoon(timer, this.#options.storeNowMs()) && this.#heap.add(timer)
  }

  leads(partition: number): boolean {
    return this.#options.led().has(partition)
  }

  /** There may be timers that this node does not know of, the earliest at that instant: it looks before. */
  lookFor(atMs = Number.NEGATIVE_INFINITY): void {
    this.#outlook.lookFor(atMs)
  }

  /** One pass: a look if it is time for one, then what is due, in bounded batches. Answers in how many ms to come again. */
  async runOnce(): Promise<number> {
    const led = this.#options.led()
    if (led.size > 0 && this.#outlook.isTime(this.#heap.nextMs)) {
      for (const timer of await this.#outlook.look([...led.keys()])) this.#heap.add(timer)
    }
    await this.#rescue(led)
    const due = this.#heap.takeDue(this.#options.storeNowMs(), batchLimit)
    if (due.length > 0) await this.#actApart(due, led)
    return this.#pauseMs(led)
  }

  #pauseMs(led: ReadonlyMap<number, number>): number {
    const nextDueMs = this.#heap.nextMs - this.#options.storeNowMs()
    const nextLookMs = led.size > 0 ? this.#outlook.pauseMs(this.#heap.nextMs) : Number.POSITIVE_INFINITY
    return Math.max(0, Math.min(nextDueMs, nextLookMs, rescueEveryMs))
  }

  /** What is late where others lead: nothing waits for a leader that does not come (I3). */
  async #rescue(led: ReadonlyMap<number, number>): Promise<void> {
    const { store, partitions, clock } = this.#options
    if (led.size === partitions || clock.monotonicMs() - this.#rescuedAtMs < rescueEveryMs) return
    const others = Array.from({ length: partitions }, (_, partition) => partition).filter((each) => !led.has(each))
    const limits = { horizonMs: -rescueAfterMs, perPartition: partitionLimit, limit: peekLimit }
    const late = await store.peek(others, limits)
    // as many as were asked for: there are more
    if (late.length < partitionLimit) this.#rescuedAtMs = clock.monotonicMs()
    for (const timer of late) this.#heap.add(timer)
  }

  /** One whose row the store refuses spoils the statement: halves are tried until it stands alone. It keeps no other waiting. */
  async #actApart(timers: readonly DueTimer[], led: ReadonlyMap<number, number>): Promise<void> {
    try {
      await this.#act(timers, led)
    } catch (error) {
      if (faultKind(error) !== 'data') throw error
      const [only] = timers
      if (timers.length === 1 && only) return this.#options.onRefused(only, error)
      const middle = timers.length >> 1
      for (const half of [timers.slice(0, middle), timers.slice(middle)]) await this.#actApart(half, led)
    }
  }

  async #act(timers: readonly DueTimer[], led: ReadonlyMap<number, number>): Promise<void> {
    const lateMs = this.#options.storeNowMs() - rescueAfterMs
    const ours = timers.filter(({ partition, wakeAtMs }) => led.has(partition) || wakeAtMs <= lateMs)
    const promotable = ours.filter((timer) => timer.status === 'SCHEDULED' || timer.status === 'RETRYING')
    if (promotable.length > 0) await this.#promote(promotable, led)
    const mayExpire = ours.some((timer) => timer.status === 'PENDING' || timer.status === 'BLOCKED' || timer.mayExpire)
    if (!mayExpire) return
    const { store, expireNodes, onExpired } = this.#options
    const { ended, nodes } = await store.expire(
      ours.map(({ id, partition }) => ({ id, epoch: led.get(partition) ?? null })),
    )
    const expired = nodes.length > 0 ? [...ended, ...(await expireNodes(nodes))] : ended
    this.#outlook.done(expired.length)
    if (expired.length > 0) onExpired(expired)
  }

  /** What came too early is tried again at once. */
  #again(timers: readonly DueTimer[], done: ReadonlySet<Uuid>): void {
    const nowMs = this.#options.storeNowMs()
    for (const timer of timers) {
      const firstMs = timer.firstMs ?? timer.wakeAtMs
      if (done.has(timer.id) || nowMs - firstMs > clockErrorMs) continue
      this.#heap.add({ ...timer, firstMs, wakeAtMs: nowMs + Math.max(retryMs, nowMs - firstMs) })
    }
  }

  async #promote(timers: readonly DueTimer[], led: ReadonlyMap<number, number>): Promise<void> {
    const { store, reserve, storeNowMs } = this.#options
    const handOffs = new HandOffs(reserve)
    const promotions = timers.map((timer) => ({
      id: timer.id,
      handoff: timer.suspect ? null : handOffs.offer(timer),
      epoch: led.get(timer.partition) ?? null,
    }))
    const atMs = storeNowMs()
    let rest: null | 'unknown' = 'unknown'
    try {
      const result = await store.promote(promotions)
      rest = null
      for (const task of result.handedOff) handOffs.settle(task.id, task)
      this.#tell(result, atMs)
      this.#again(timers, new Set([...result.ready, ...result.handedOff].map((task) => task.id)))
    } finally {
      handOffs.end(rest)
    }
  }

  #tell({ ready, handedOff }: PromoteResult, atMs: number): void {
    this.#outlook.done(ready.length + handedOff.length)
    const dueMs = [...ready.map((task) => task.dueAtMs), ...handedOff.map((task) => task.readyAtMs)]
    if (dueMs.length > 0) this.#options.onLate(dueMs.map((each) => Math.max(0, atMs - each)))
    if (ready.length > 0) this.#options.onReady(ready)
  }
}

/** Due before the look that finds it anyway: worth a word. */
export const isSoon = (timer: DueTimer, storeNowMs: number): boolean => timer.wakeAtMs - storeNowMs < horizonMs
