import { isOfWorkflow, type Lane, type Uuid } from '@duly/domain'
import type { AttemptStore, Finish, Landed, Reopen } from '../store/attempt-store.js'
import { faultKind } from '../store/faults.js'

/** Who wants to know how attempts ended. */
export interface AttemptListener {
  /** Tasks that ended for good. */
  readonly finished: (tasks: readonly Landed[], rows: readonly Finish[]) => void
  /** Tasks that go on: ready again, or due later. */
  readonly reopened: (tasks: readonly Landed[], rows: readonly Reopen[]) => void
}

/** Ends tasks of workflows, with all that their ends bring about. */
export interface NodeFinisher {
  finish(rows: readonly Finish[]): Promise<Landed[]>
}

export interface AttemptsOptions {
  readonly store: AttemptStore
  readonly nodes: NodeFinisher
  readonly listener: AttemptListener
}

/** Applies the ends of attempts, whoever decided them, and tells those who wait for them. */
export class Attempts {
  readonly #store: AttemptStore
  readonly #nodes: NodeFinisher
  readonly #listener: AttemptListener

  constructor({ store, nodes, listener }: AttemptsOptions) {
    this.#store = store
    this.#nodes = nodes
    this.#listener = listener
  }

  /** What landed; a row that is missing had lost its fence, or its condition held no longer. */
  async finish(rows: readonly Finish[]): Promise<Map<Uuid, Landed>> {
    const ofWorkflows = rows.filter(({ fence }) => isOfWorkflow(fence.token))
    const others = ofWorkflows.length === 0 ? rows : rows.filter(({ fence }) => !isOfWorkflow(fence.token))
    const landed = await Promise.all([this.#end(others, this.#store), this.#end(ofWorkflows, this.#nodes)])
    return byId(landed.flat())
  }

  async #end(rows: readonly Finish[], finisher: NodeFinisher): Promise<Landed[]> {
    const landed = await sparingly(rows, (some) => finisher.finish(some))
    if (landed.length > 0) this.#listener.finished(landed, rows)
    return landed
  }

  /** What landed. A task whose cancellation was asked for ends CANCELLED instead of going on. */
  async reopen(rows: readonly Reopen[]): Promise<Map<Uuid, Landed>> {
    const landed = await sparingly(rows, (some) => this.#store.reopen(some))
    if (landed.length > 0) this.#listener.reopened(landed, rows)
    const result = byId(landed)
    const missing = rows.filter((row) => !result.has(row.fence.id))
    if (missing.length === 0) return result
    const cancelled = await this.finish(missing.map((row) => ({ ...row, status: 'CANCELLED', result: null })))
    return new Map([...result, ...cancelled])
  }
}

/** The lanes of tasks that are ready. */
export function readyLanes(tasks: readonly Landed[]): Lane[] {
  return tasks.filter((task) => task.status === 'PENDING')
}

const byId = (tasks: readonly Landed[]): Map<Uuid, Landed> => new Map(tasks.map((task) => [task.id, task]))

/** A data error splits the rows until the guilty one stands alone; that one fails, the others succeed. */
async function sparingly<R>(rows: readonly R[], write: (rows: readonly R[]) => Promise<Landed[]>): Promise<Landed[]> {
  if (rows.length === 0) return []
  try {
    return await write(rows)
  } catch (error) {
    if (faultKind(error) !== 'data' || rows.length === 1) throw error
    const middle = rows.length >> 1
    const halves = await Promise.allSettled([
      sparingly(rows.slice(0, middle), write),
      sparingly(rows.slice(middle), write),
    ])
    // a half that met another fault is not decided: its rows must not pass for such that had lost their fence
    for (const half of halves) {
      if (half.status === 'rejected' && faultKind(half.reason) !== 'data') throw half.reason
    }
    return halves.flatMap((half) => (half.status === 'fulfilled' ? half.value : []))
  }
}
