import type { MisfirePolicy, OverlapPolicy, Priority, Uuid } from '@duly/domain'
import type { EndedTask } from '../model.js'
import { checkedPayload, type TemplateColumns } from './cron-template.js'
import { type Connection, type Database, rowsOf } from './database.js'
import * as sql from './firing-sql.js'
import * as overlap from './overlap-sql.js'
import { instantArray, int4Array, textArray, uuidArray } from './params.js'
import * as changes from './plain-change-sql.js'
import type { Promoted } from './timer-store.js'

/** A definition whose time has come, locked; all instants are epoch ms of the store. */
export interface DueCron extends TemplateColumns {
  readonly id: Uuid
  readonly tenant: string
  readonly name: string
  readonly expression: string | null
  readonly everyMs: number | null
  readonly anchorAtMs: number
  readonly timezone: string
  readonly overlap: OverlapPolicy
  readonly misfire: MisfirePolicy
  readonly graceMs: number
  readonly startsAtMs: number | null
  readonly endsAtMs: number | null
  readonly jitterMs: number
  readonly nextFireAtMs: number
  readonly wakeAtMs: number
  readonly error: string | null
  readonly payloadBytes: number
  readonly nowMs: number
}

/** A definition, locked for a firing by hand. */
export interface LockedCron extends TemplateColumns {
  readonly id: Uuid
  readonly tenant: string
  readonly payload: string
  readonly everyMs: number | null
  readonly anchorAtMs: number
  readonly nowMs: number
}

/** What becomes of one fire time. */
export interface NewFiring {
  readonly cronId: Uuid
  readonly fireAtMs: number
  readonly tenant: string
  readonly outcome: 'fired' | 'triggered' | 'skipped_overlap' | 'skipped_misfire'
  readonly taskId: Uuid | null
}

/** A definition that goes on. */
export interface Move {
  readonly id: Uuid
  /** The fire time that was judged: compared. */
  readonly fromMs: number
  readonly nextMs: number | null
  readonly wakeAtMs: number | null
  readonly fired: number
  readonly skipped: number
  /** Of the last task that was made; null: none was. */
  readonly last: { readonly fireAtMs: number; readonly taskId: Uuid } | null
}

/** A running task of a definition that was told to stop, now or before. */
export interface StoppingTask {
  readonly id: Uuid
  readonly cronId: Uuid
  readonly session: Uuid
  readonly isNew: boolean
}

/** What a firing did to the earlier tasks of its definitions. */
export interface Cancelled {
  readonly cancelled: readonly EndedTask[]
  readonly stopping: readonly StoppingTask[]
  /** Definitions of which more are left than one transaction takes. */
  readonly left: readonly Uuid[]
}

export interface CronLook {
  readonly nowMs: number
  readonly wakeAtMs: number | null
  readonly isBlocked: boolean
}

/** A task that waits no longer for an older one. */
export type Unblocked = Promoted & { readonly priority: Priority }

/** The statements of a firing; those with a connection belong to one transaction. */
export class FiringStore {
  readonly #database: Database
  readonly #slot: number
  readonly #graceMs: number

  constructor(database: Database, options: { slot: number; graceMs: number }) {
    this.#database = database
    this.#slot = options.slot
    this.#graceMs = options.graceMs
  }

  /** The counters' slot of tasks that are made here. */
  get slot(): number {
    return this.#slot
  }

  async look(): Promise<CronLook> {
    const [row] = await this.#database.hot<CronLook>(sql.look, [])
    return row ?? { nowMs: 0, wakeAtMs: null, isBlocked: false }
  }

  /** Of tasks that wait for older ones of these definitions, those that need not wait any more. */
  async unblock(crons: readonly Uuid[], limit: number): Promise<Unblocked[]> {
    const values = [limit, this.#slot, uuidArray(crons)]
    return unblocked(await this.#database.hot<UnblockedRow>(sql.unblock, values)).tasks
  }

  /** The same of the next `limit` that wait, behind the id `after`; `next` is where to go on, null: those were all. */
  async unblockNext(after: Uuid, limit: number): Promise<{ readonly tasks: Unblocked[]; readonly next: Uuid | null }> {
    return unblocked(await this.#database.hot<UnblockedRow>(sql.unblockNext, [limit, this.#slot, after]))
  }

  /** They are looked at again in `retryMs`. */
  async mark(errors: readonly { readonly id: Uuid; readonly error: string }[], retryMs: number): Promise<void> {
    if (errors.length > 0) await this.#database.hot(sql.mark, markValues(errors, retryMs))
  }

  async markWithin(
    client: Connection,
    errors: readonly { readonly id: Uuid; readonly error: string }[],
    retryMs: number,
  ): Promise<void> {
    if (errors.length > 0) await rowsOf(client, sql.mark, markValues(errors, retryMs))
  }

  async lockDue(client: Connection, limit: number, only: readonly Uuid[] | null): Promise<DueCron[]> {
    const due = await rowsOf<DueCron>(client, sql.lockDue, [limit, only === null ? null : uuidArray(only)])
    return due.map(whole)
  }

  /** The first that is due, in line with whoever holds it; rejects with a lock time-out after so many ms. */
  async lockNext(client: Connection, waitMs: number): Promise<DueCron[]> {
    await rowsOf(client, sql.waitAtMost, [String(waitMs)])
    return (await rowsOf<DueCron>(client, sql.lockNext, [])).map(whole)
  }

  async lockOne(client: Connection, id: Uuid, tenant: string | null): Promise<LockedCron | null> {
    const [row] = await rowsOf<LockedCron>(client, sql.lockOne, [id, tenant])
    return row ?? null
  }

  async payloads(client: Connection, ids: readonly Uuid[]): Promise<ReadonlyMap<Uuid, string>> {
    const found = await rowsOf<{ id: Uuid; payload: string }>(client, sql.payloads, [uuidArray(ids)])
    return new Map(found.map(({ id, payload }) => [id, checkedPayload(payload)]))
  }

  async busy(client: Connection, ids: readonly Uuid[]): Promise<ReadonlySet<Uuid>> {
    if (ids.length === 0) return new Set()
    const found = await rowsOf<{ id: Uuid }>(client, sql.busy, [uuidArray(ids)])
    return new Set(found.map(({ id }) => id))
  }

  /** Those that were judged now and not before, by definition and fire time. */
  async record(client: Connection, firings: readonly NewFiring[]): Promise<{ cronId: Uuid; fireAtMs: number }[]> {
    if (firings.length === 0) return []
    const found = await rowsOf<{ cronId: Uuid; fireAtMs: number }>(client, sql.record, [
      uuidArray(firings.map((firing) => firing.cronId)),
      instantArray(firings.map((firing) => firing.fireAtMs)),
      textArray(firings.map((firing) => firing.tenant)),
      textArray(firings.map((firing) => firing.outcome)),
      uuidArray(firings.map((firing) => firing.taskId)),
    ])
    return found.map(({ cronId, fireAtMs }) => ({ cronId, fireAtMs: Math.round(fireAtMs) }))
  }

  /** They are not judged yet after all: in the transaction that recorded them. */
  async unrecord(client: Connection, firings: readonly NewFiring[]): Promise<void> {
    if (firings.length === 0) return
    const crons = uuidArray(firings.map((firing) => firing.cronId))
    await rowsOf(client, sql.unrecord, [crons, instantArray(firings.map((firing) => firing.fireAtMs))])
  }

  /** Cancels up to `limit` unfinished tasks of these definitions: what waits at once; what runs is told, and its end waited for. */
  async cancelOpen(client: Connection, ids: readonly Uuid[], limit: number): Promise<Cancelled> {
    if (ids.length === 0) return nothing
    const crons = uuidArray(ids)
    const locked = await rowsOf<{ found: number; id: Uuid | null }>(client, overlap.lockOpen, [crons, limit])
    const open = locked.flatMap(({ id }) => id ?? [])
    const { cancelled, marked } = open.length === 0 ? nobody : await this.#stop(client, uuidArray(open))
    const isFull = locked[0]?.found === limit
    const left = isFull ? await rowsOf<{ id: Uuid }>(client, overlap.uncancelled, [crons]) : []
    const running = await rowsOf<Running>(client, overlap.stopping, [crons, limit])
    const isNew = new Set(marked.map(({ id }) => id))
    const before = running.filter(({ id }) => !isNew.has(id))
    return {
      cancelled,
      stopping: [
        ...marked.map((task) => ({ ...task, isNew: true })),
        ...before.map((task) => ({ ...task, isNew: false })),
      ],
      left: left.map(({ id }) => id),
    }
  }

  async #stop(client: Connection, ids: Buffer) {
    const because = [ids, 'cron', 'overlap', 'overlap']
    const cancelled = await rowsOf<EndedTask>(client, changes.cancelWaiting, [...because, this.#slot, null])
    const marked = await rowsOf<Running>(client, changes.requestCancel, [...because, this.#graceMs, null])
    return { cancelled, marked }
  }

  /** How many of them moved: all, since they are locked. */
  async move(client: Connection, moves: readonly Move[]): Promise<number> {
    if (moves.length === 0) return 0
    const moved = await rowsOf(client, sql.move, [
      uuidArray(moves.map((each) => each.id)),
      instantArray(moves.map((each) => each.fromMs)),
      instantArray(moves.map((each) => each.nextMs)),
      instantArray(moves.map((each) => each.wakeAtMs)),
      int4Array(moves.map((each) => each.fired)),
      int4Array(moves.map((each) => each.skipped)),
      instantArray(moves.map((each) => each.last?.fireAtMs ?? null)),
      uuidArray(moves.map((each) => each.last?.taskId ?? null)),
    ])
    return moved.length
  }

  async triggered(client: Connection, id: Uuid, taskId: Uuid): Promise<void> {
    await rowsOf(client, sql.triggered, [id, taskId])
  }
}

type Running = Omit<StoppingTask, 'isNew'>

const nobody = { cancelled: [] as EndedTask[], marked: [] as Running[] }
const nothing: Cancelled = { cancelled: [], stopping: [], left: [] }

function markValues(errors: readonly { readonly id: Uuid; readonly error: string }[], retryMs: number) {
  return [uuidArray(errors.map(({ id }) => id)), textArray(errors.map(({ error }) => error)), retryMs]
}

type UnblockedRow = (Unblocked | { readonly id: null }) & { readonly next: Uuid | null }

/** One row without a task says where to go on when none is unblocked. */
function unblocked(found: readonly UnblockedRow[]): { tasks: Unblocked[]; next: Uuid | null } {
  const tasks = found.flatMap(({ next: _, ...task }) => (task.id === null ? [] : [task]))
  return { tasks, next: found[0]?.next ?? null }
}

/** PostgreSQL's instants come as doubles: what is compared and stored again must be whole. */
function whole(row: DueCron): DueCron {
  const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms))
  return {
    ...row,
    anchorAtMs: Math.round(row.anchorAtMs),
    nextFireAtMs: Math.round(row.nextFireAtMs),
    startsAtMs: rounded(row.startsAtMs),
    endsAtMs: rounded(row.endsAtMs),
  }
}
