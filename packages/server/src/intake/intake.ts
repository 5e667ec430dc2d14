import { type Clock, DulyError, type IdMinter, partitionOf, partitionOfKey, type Uuid } from '@duly/domain'
import { Batcher } from '../base/batcher.js'
import { busy } from '../base/busy.js'
import type { Reservation } from '../dispatch/reservation.js'
import type { NewTask, Submitted } from '../model.js'
import type { TakenTask } from '../queue/port.js'
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
  readonly reserve: (task: NewTask) => Reservation | null
  /** Told of every commit: tasks that wait now, and timers that were set. */
  readonly onCommitted: (tasks: readonly MintedTask[], placed: readonly PlacedTask[], tookMs: number) => void
}

interface Placing {
  readonly rows: readonly MintedTask[]
  readonly reservations: ReadonlyMap<Uuid, Reservation>
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
    const reservations = new Map<Uuid, Reservation>()
    const rows = tasks.map((task, index): MintedTask => {
      const id = ids[index] as Uuid
      const reservation = mayHandOff && isDue(task) ? this.#options.reserve(task) : null
      if (reservation) reservations.set(id, reservation)
      return { id, partition: partitionOf(id), task, handoff: reservation }
    })
    return { rows, reservations }
  }

  async #commit(
    { rows, reservations }: Placing,
    write: (rows: readonly MintedTask[]) => Promise<CommittedTasks>,
  ): Promise<CommittedTasks['results']> {
    const beganMs = this.#options.clock.monotonicMs()
    const committed = await write(rows).catch((error: unknown) => {
      for (const reservation of reservations.values()) reservation.settle(isUnsure(error) ? 'unknown' : null)
      throw error
    })
    this.#handOff(rows, committed, reservations)
    this.#options.onCommitted(rows, committed.placed, this.#options.clock.monotonicMs() - beganMs)
    return committed.results
  }

  #handOff(rows: readonly MintedTask[], committed: CommittedTasks, reservations: ReadonlyMap<Uuid, Reservation>): void {
    if (reservations.size === 0) return
    const placed = new Map(committed.placed.map((place) => [place.id, place]))
    for (const [index, row] of rows.entries()) {
      const reservation = reservations.get(row.id)
      if (!reservation) continue
      const place = placed.get(row.id)
      if (place?.status === 'RUNNING') reservation.settle(takenTask(row, place))
      else reservation.settle(place === undefined && isUnsure(committed.results[index]) ? 'unknown' : null)
    }
  }

  #keyPartition(task: NewTask): number {
    return partitionOfKey(task.tenant, task.idempotencyKey ?? '', this.#options.partitions)
  }
}

/** A row that was not told where it stands: the commit got no answer, and it may have been handed off. */
function isUnsure(result: unknown): boolean {
  if (result instanceof Error) return !(result instanceof DulyError) || result.code === 'commit_unknown'
  return !(result as Submitted).replayed
}

const isDue = (task: NewTask): boolean => task.scheduledAtMs === null && !task.delayMs

function takenTask({ id, task, handoff }: MintedTask, place: PlacedTask): TakenTask {
  return {
    id,
    session: handoff?.session ?? '',
    grant: place.grant ?? 0,
    attempt: 1,
    token: handoff?.token ?? 0n,
    failures: 0,
    suspect: false,
    tenant: task.tenant,
    queue: task.queue,
    taskType: task.taskType,
    priority: task.priority,
    gate: '',
    payload: task.payload,
    metadata: task.metadata,
    timeoutMs: task.timeoutMs,
    deadlineAtMs: place.deadlineAtMs ?? 0,
    startedAtMs: place.createdAtMs,
    readyAtMs: place.createdAtMs,
    createdAtMs: place.createdAtMs,
    idempotencyKey: task.idempotencyKey,
    checkpoint: null,
    traceparent: task.traceparent,
    cronId: null,
    scheduledAtMs: null,
    workflowId: null,
    nodeName: null,
  }
}
