import { type BulkStatus, type Lane, partitionOf, type TenantScope, type Uuid } from '@duly/domain'
import type { BulkOrder, BulkRecord, EndedTask } from '../model.js'
import * as sql from './bulk-sql.js'
import { change, changeBy } from './commits.js'
import { type Connection, type Database, rowsOf } from './database.js'
import * as letters from './dead-letter-sql.js'
import { int2Array, uuidArray } from './params.js'
import * as changes from './plain-change-sql.js'

export interface BulkStoreOptions {
  readonly slot: number
  readonly graceMs: number
}

/** An operation that this node holds. */
export interface HeldBulk extends BulkRecord {
  /** Raised whenever it changes hands: every write of a holder compares it. */
  readonly epoch: number
  /** The place behind which the next batch begins; null: at the beginning. */
  readonly place: string | null
  /** Right behind its beginning, as the store spells it, to the microsecond: what came then or later is not its matter. */
  readonly cutoff: string
}

/** How far a batch led. */
export interface BulkStep {
  /** Null: it stays where it is. */
  readonly place: string | null
  readonly matched: number
  readonly done: number
  readonly skipped: number
  readonly failed: number
  readonly error: string | null
}

/** What a batch did to plain tasks. */
export interface BulkEffects {
  readonly cancelled: readonly EndedTask[]
  /** Sessions whose running attempts were marked. */
  readonly marked: readonly Uuid[]
  readonly replayed: readonly (Lane & { readonly id: Uuid; readonly taskType: string })[]
  readonly done: number
}

/** The operation was cancelled, or another node has it: nothing of the batch took effect. */
export class BulkTaken extends Error {}

/** A task that runs may come back to its lane between two looks; so often they are repeated. */
const cancelRounds = 4

/** Operations on many tasks, and what one batch of them does. */
export class BulkStore {
  readonly #database: Database
  readonly #options: BulkStoreOptions

  constructor(database: Database, options: BulkStoreOptions) {
    this.#database = database
    this.#options = options
  }

  /** Null: as many as may be are running. */
  async create(
    id: Uuid,
    { action, source, filters }: BulkOrder,
    { tenant, actor, limit }: { readonly tenant: TenantScope; readonly actor: string; readonly limit: number },
  ): Promise<BulkRecord | null> {
    const values = [id, action, source, JSON.stringify(filters), tenant, actor, limit]
    const rows = await change(this.#database, async (client) => {
      await rowsOf(client, sql.lockStarts, [tenant])
      return rowsOf<BulkRow>(client, sql.create, values)
    })
    return recordOf(rows[0])
  }

  async read(id: Uuid, tenant: TenantScope): Promise<BulkRecord | null> {
    return recordOf((await this.#database.query<BulkRow>(sql.read, [id, tenant]))[0])
  }

  /** Newest first, behind an id. */
  async list(tenant: TenantScope, after: string | null, limit: number): Promise<BulkRecord[]> {
    const rows = await this.#database.query<BulkRow>(sql.list, [tenant, after, limit])
    return rows.flatMap((row) => recordOf(row) ?? [])
  }

  /** Null: it did not run, or is not there. */
  async cancel(id: Uuid, tenant: TenantScope): Promise<BulkRecord | null> {
    return recordOf((await changeBy<BulkRow>(this.#database, sql.cancel, [id, tenant]))[0])
  }

  /** The operation that has waited longest, held for `leaseMs` from each of its steps on; null: none waits. */
  async take(leaseMs: number): Promise<HeldBulk | null> {
    type HeldRow = BulkRow & Pick<HeldBulk, 'epoch' | 'place' | 'cutoff'>
    const [row] = await this.#database.query<HeldRow>(sql.take, [leaseMs])
    const record = recordOf(row)
    return row && record ? { ...record, epoch: row.epoch, place: row.place, cutoff: row.cutoff } : null
  }

  /** Gives it up for now. */
  async release({ id, epoch }: HeldBulk): Promise<void> {
    await this.#database.query(sql.release, [id, epoch])
  }

  /** False: it was cancelled, or is another node's. */
  async end({ id, epoch }: HeldBulk, status: BulkStatus, error: string | null = null): Promise<boolean> {
    return (await this.#database.query(sql.end, [id, epoch, status, error])).length > 0
  }

  /** The instant before which something must have happened to be an operation's matter that begins now. */
  async cutoff(): Promise<string> {
    const [row] = await this.#database.query<{ cutoff: string }>(sql.now)
    return row?.cutoff ?? ''
  }

  /** A step without effects of its own. @throws BulkTaken */
  async advance(held: HeldBulk, step: BulkStep, leaseMs: number): Promise<void> {
    const moved = await this.#database.query(sql.advance, advanceValues(held, step, leaseMs))
    if (moved.length === 0) throw new BulkTaken()
  }

  /** A step whose effects are others' in the same transaction. @throws BulkTaken */
  async advanceWithin(client: Connection, held: HeldBulk, step: BulkStep, leaseMs: number): Promise<void> {
    const moved = await rowsOf(client, sql.advance, advanceValues(held, step, leaseMs))
    if (moved.length === 0) throw new BulkTaken()
  }

  /**
   * Acts on plain tasks and moves on, in one transaction: each is acted on once, whenever the node dies.
   * @throws BulkTaken
   */
  apply(
    held: HeldBulk,
    ids: readonly Uuid[],
    { place, reason, leaseMs }: { readonly place: string; readonly reason: string; readonly leaseMs: number },
  ): Promise<BulkEffects> {
    return this.#database.transaction(async (client) => {
      const effects = await this.#act(client, held, { ids, reason })
      const matched = ids.length
      const { done } = effects
      const step = { place, matched, done, skipped: matched - done, failed: 0, error: null }
      await this.advanceWithin(client, held, step, leaseMs)
      return effects
    })
  }

  #act(client: Connection, held: HeldBulk, what: Acted): Promise<BulkEffects> {
    if (held.action === 'cancel') return this.#cancel(client, held, what)
    return held.action === 'retry' ? this.#replay(client, held, what) : this.#discard(client, held, what)
  }

  /** Waiting ones end, running ones are marked; what moved between the two is looked at again. */
  async #cancel(client: Connection, { actor }: HeldBulk, { ids, reason }: Acted): Promise<BulkEffects> {
    const { slot, graceMs } = this.#options
    const cancelled: EndedTask[] = []
    const marked: Uuid[] = []
    let left = ids
    for (let round = 0; left.length > 0 && round < cancelRounds; round++) {
      const which = uuidArray(left)
      const ending = [which, actor, 'cancelled', reason, slot, null]
      cancelled.push(...(await rowsOf<EndedTask>(client, changes.cancelWaiting, ending)))
      const marking = [which, actor, 'cancel_requested', reason, graceMs, null]
      const told = await rowsOf<{ session: Uuid }>(client, changes.requestCancel, marking)
      marked.push(...told.map(({ session }) => session))
      if (cancelled.length + marked.length === ids.length) break
      left = (await rowsOf<{ id: Uuid }>(client, sql.unmoved, [which])).map(({ id }) => id)
    }
    return { ...none, cancelled, marked, done: cancelled.length + marked.length }
  }

  async #replay(client: Connection, { actor, cutoff }: HeldBulk, { ids, reason }: Acted): Promise<BulkEffects> {
    const partitions = int2Array(ids.map(partitionOf))
    const values = [uuidArray(ids), partitions, actor, reason, this.#options.slot, null, cutoff]
    const replayed = await rowsOf<BulkEffects['replayed'][number]>(client, changes.replay, values)
    return { ...none, replayed, done: replayed.length }
  }

  async #discard(client: Connection, { actor, cutoff }: HeldBulk, { ids, reason }: Acted): Promise<BulkEffects> {
    const values = [uuidArray(ids), actor, reason, this.#options.slot, null, cutoff]
    return { ...none, done: (await rowsOf(client, letters.discard, values)).length }
  }
}

interface Acted {
  readonly ids: readonly Uuid[]
  readonly reason: string
}

const none: BulkEffects = { cancelled: [], marked: [], replayed: [], done: 0 }

function advanceValues({ id, epoch }: HeldBulk, step: BulkStep, leaseMs: number): readonly unknown[] {
  const { place, matched, done, skipped, failed, error } = step
  return [id, epoch, place, matched, done, skipped, failed, error, leaseMs]
}

type BulkRow = Omit<BulkRecord, 'filters'> & { readonly filter: string }

function recordOf(row: BulkRow | undefined): BulkRecord | null {
  if (!row) return null
  const { id, action, source, filter, tenant, actor, status, matched, done, skipped, failed, error } = row
  const { createdAtMs, updatedAtMs, completedAtMs } = row
  const counts = { matched, done, skipped, failed, error, createdAtMs, updatedAtMs, completedAtMs }
  return { id, action, source, filters: JSON.parse(filter), tenant, actor, status, ...counts }
}
