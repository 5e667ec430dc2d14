import type { TaskStatus, TenantScope, Uuid } from '@duly/domain'
import type { NewTask, Submitted } from '../model.js'
import type { HandOff } from '../queue/port.js'
import { type Connection, type Database, rowsOf } from './database.js'
import type { KeyHolder } from './idempotency.js'
import {
  insertKeys,
  insertTasks,
  insertValues,
  knownNames,
  makeDays,
  readKeys,
  readStanding,
  registerNames,
} from './intake-sql.js'
import { byteaArray, instantArray, textArray, uuidArray } from './params.js'

/** A task with its minted id, as intake commits it. */
export interface MintedTask {
  readonly id: Uuid
  readonly partition: number
  readonly task: NewTask
  /** Direct hand-off: the waiting worker that shall get it, and the fence's random part. */
  readonly handoff: Omit<HandOff, 'queue'> | null
  /** The definition that it is a task of; blocked: it waits for the end of an earlier one. */
  readonly cron?: { readonly id: Uuid; readonly isBlocked: boolean }
}

/** Where an inserted task stands. */
export interface PlacedTask {
  readonly id: Uuid
  readonly status: 'SCHEDULED' | 'PENDING' | 'BLOCKED' | 'RUNNING'
  readonly createdAtMs: number
  readonly dueAtMs: number | null
  /** Set when handed off. */
  readonly grant: number | null
  readonly deadlineAtMs: number | null
}

/** What a submitter is told: a task that was handed off at once was PENDING first. */
export const toldStatus = (status: TaskStatus): TaskStatus => (status === 'RUNNING' ? 'PENDING' : status)

/** How many names of a kind there may be. */
export interface NameBounds {
  /** In the whole deployment. */
  readonly limit: number
  /** Who uses them; null: a caller that is bound to no tenant and takes no share. */
  readonly tenant: TenantScope
  /** That one tenant may use, whoever brought them. */
  readonly share: number
}

/** What intake asks of the store. */
export class IntakeStore {
  readonly #database: Database
  readonly #graceMs: number
  readonly #node: Uuid

  constructor(database: Database, options: { graceMs: number; node: Uuid }) {
    this.#database = database
    this.#graceMs = options.graceMs
    this.#node = options.node
  }

  /** Inserts on a connection that the caller holds; `slot` names the counters that this writer alone adds to. */
  async insert(client: Connection, rows: readonly MintedTask[], slot: number): Promise<PlacedTask[]> {
    const values = insertValues(rows, { slot, graceMs: this.#graceMs, node: this.#node })
    return rowsOf<PlacedTask>(client, insertTasks, values)
  }

  async insertKeys(client: Connection, rows: readonly MintedTask[]): Promise<Set<Uuid>> {
    const won = await rowsOf<{ id: Uuid }>(client, insertKeys, [
      textArray(rows.map((row) => row.task.tenant)),
      textArray(rows.map((row) => row.task.idempotencyKey)),
      uuidArray(rows.map((row) => row.id)),
      byteaArray(rows.map((row) => row.task.requestHash)),
    ])
    return new Set(won.map((row) => row.id))
  }

  keyHolders(client: Connection, rows: readonly MintedTask[]): Promise<KeyHolder[]> {
    return rowsOf<KeyHolder>(client, readKeys, [
      textArray(rows.map((row) => row.task.tenant)),
      textArray(rows.map((row) => row.task.idempotencyKey)),
    ])
  }

  standing(ids: readonly Uuid[]): Promise<Omit<Submitted, 'replayed'>[]> {
    return this.#database.hot<Omit<Submitted, 'replayed'>>(readStanding, [uuidArray(ids)])
  }

  /** The same, seen from within a transaction. */
  standingWithin(client: Connection, ids: readonly Uuid[]): Promise<Omit<Submitted, 'replayed'>[]> {
    return rowsOf<Omit<Submitted, 'replayed'>>(client, readStanding, [uuidArray(ids)])
  }

  /**
   * Makes queues and task types exist and be in the tenant's use, all of a kind or none, within the bounds; answers those asked for
   * that are.
   */
  async registerNames(
    queues: readonly string[],
    types: readonly string[],
    { limit, tenant, share }: NameBounds,
  ): Promise<{ queues: string[]; types: string[] }> {
    const names = [textArray(queues), textArray(types)]
    await this.#database.query(registerNames, [...names, limit, tenant, share])
    const [row] = await this.#database.query<{ queues: string[]; types: string[] }>(knownNames, [...names, tenant])
    return row ?? { queues: [], types: [] }
  }

  async makeDays(instantsMs: readonly number[]): Promise<void> {
    await this.#database.query(makeDays, [instantArray(instantsMs)])
  }
}
