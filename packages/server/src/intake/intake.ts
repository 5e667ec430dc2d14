import { type Clock, type IdMinter, partitionOf, partitionOfKey, type Uuid } from '@duly/domain'
import { Batcher } from '../base/batcher.js'
import { busy } from '../base/busy.js'
import { HandOffs, handedOff, isDue, isUnsure, type Reserve } from '../dispatch/hand-offs.js'
import type { NewTask, Submitted } from '../model.js'
import type { MintedTask, PlacedTask } from '../store/intake-store.js'
import type { CommittedTasks, Committer } from './committer.js'
import type { Names } from './names.js'

export interface IntakeOptions {
  readonly committer: Committer
  readonly names: Names
  readonly minter: IdMinter
  readonly partitions: number
  readonly clock: Clock
  /** Group commits under way at once; group `n` uses the counters' slot `slots[n]`. */
  readonly groupSlots: readonly number[]
  readonly batchSlots: readonly number[]
  /** A waiting worker's slot for a task that is due now, or null. */
  readonly reserve: Reserve
  /** Told of every commit: tasks that wait now, and timers that were set. */
  readonly onCommitted: (tasks: readonly MintedTask[], placed: readonly PlacedTask[], tookMs: number) => void
}

interface Placing {
  readonly rows: readonly MintedTask[]
  readonly handOffs: HandOffs
}

interface BatchItem {
  readonly tasks: readonly NewTask[]
}

/** Batches that wait for one of the batch connections; singles, and batches too, are bounded by their bytes as well (I10). */
export const maxWaitingBatches = 1_000
const maxWaitingBytes = 256 * 1024 * 1024
const maxGroupRows = 500
const maxGroupBytes = 8 * 1024 * 1024
/** Singles that may wait for a commit: more than the connections of a busy node, far less than memory. */
const maxWaitingSingles = 20_000

/** Accepts tasks: nothing is answered before its commit (I1). */
export class Intake {
  readonly #options: IntakeOptions
  readonly #singles: Batcher<NewTask, Submitted>
  readonly #batches: Batcher<BatchItem, readonly Submitted[]>

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#singles = new Batcher({
      maxItems: maxGroupRows,
      maxBytes: maxGroupBytes,
      full: { items: maxWaitingSingles, bytes: maxWaitingBytes },
      sizeOf: (task) => task.payload.length,
      lanes: options.groupSlots.length,
      run: (tasks, lane) => this.#commitGroup(tasks, options.groupSlots[lane] as number),
    })
    this.#batches = new Batcher({
      maxItems: 1,
      maxBytes: Number.POSITIVE_INFINITY,
      full: { items: maxWaitingBatches, bytes: maxWaitingBytes },
      sizeOf: ({ tasks }) => tasks.reduce((sum, task) => sum + task.payload.length, 0),
      lanes: options.batchSlots.length,
      run: async ([batch], lane) => [await this.#commitBatch(batch as BatchItem, options.batchSlots[lane] as number)],
    })
  }

  /** One task. Concurrent submissions share a commit; each stands for itself. */
  async submit(task: NewTask): Promise<Submitted> {
    if (this.#singles.isFull) throw busy('submissions')
    if (!this.#options.names.isKnown(task)) await this.#options.names.ensure([task])
    return this.#singles.add(task)
  }

  /** All or none, in the order given. */
  async submitBatch(tasks: readonly NewTask[]): Promise<readonly Submitted[]> {
    if (tasks.length === 0) return []
    if (this.#batches.isFull) throw busy('submissions')
    await this.#options.names.ensure(tasks)
    return this.#batches.add({ tasks })
  }

  async drained(): Promise<void> {
    await Promise.all([this.#singles.drained(), this.#batches.drained()])
  }

  async #commitGroup(tasks: readonly NewTask[], slot: number): Promise<readonly (Submitted | Error)[]> {
    const { minter, committer } = this.#options
    const ids = tasks.map((task) => minter.mint(task.idempotencyKey === null ? undefined : this.#keyPartition(task)))
    return this.#commit(this.#place(tasks, ids, true), (rows) => committer.commitGroup(rows, slot))
  }

  async #commitBatch({ tasks }: BatchItem, slot: number): Promise<readonly Submitted[]> {
    const { minter, committer } = this.#options
    const keyed = tasks.find((task) => task.idempotencyKey !== null)
    const partition = keyed ? this.#keyPartition(keyed) : minter.drawPartition()
    // ids of a batch are in its order, so that equal instants keep it
    const ids = minter.mintMany(partition, tasks.length)
    // a long transaction must not hold up the claims of the workers it hands to
    const placed = this.#place(tasks, ids, tasks.length <= maxGroupRows)
    const results = await this.#commit(placed, (rows) => committer.commitBatch(rows, slot))
    return results as readonly Submitted[]
  }

  /** Gives each task its id and, if it is due and may be handed off, the slot of a waiting worker. */
  #place(tasks: readonly NewTask[], ids: readonly Uuid[], mayHandOff: boolean): Placing {
    const handOffs = new HandOffs(this.#options.reserve)
    const rows = tasks.map((task, index): MintedTask => {
      const id = ids[index] as Uuid
      const { queue, taskType, tenant } = task
      const handoff = mayHandOff && isDue(task) ? handOffs.offer({ id, queue, taskType, tenant }) : null
      return { id, partition: partitionOf(id), task, handoff }
    })
    return { rows, handOffs }
  }

  async #commit(
    { rows, handOffs }: Placing,
    write: (rows: readonly MintedTask[]) => Promise<CommittedTasks>,
  ): Promise<CommittedTasks['results']> {
    const beganMs = this.#options.clock.monotonicMs()
    const committed = await write(rows).catch((error: unknown) => {
      handOffs.end(isUnsure(error) ? 'unknown' : null)
      throw error
    })
    this.#handOff(rows, committed, handOffs)
    this.#options.onCommitted(rows, committed.placed, this.#options.clock.monotonicMs() - beganMs)
    return committed.results
  }

  #handOff(rows: readonly MintedTask[], committed: CommittedTasks, handOffs: HandOffs): void {
    if (handOffs.isNone) return
    const placed = new Map(committed.placed.map((place) => [place.id, place]))
    for (const [index, row] of rows.entries()) {
      if (row.handoff === null) continue
      const place = placed.get(row.id)
      if (place?.status === 'RUNNING') handOffs.settle(row.id, handedOff(row, place))
      else handOffs.settle(row.id, place === undefined && isUnsure(committed.results[index]) ? 'unknown' : null)
    }
  }

  #keyPartition(task: NewTask): number {
    return partitionOfKey(task.tenant, task.idempotencyKey ?? '', this.#options.partitions)
  }
}
