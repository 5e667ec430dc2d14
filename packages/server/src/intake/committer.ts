import { DulyError, encodeId, type FieldError, type Uuid } from '@duly/domain'
import type { Submitted } from '../model.js'
import { type Committed, commit, commitEach, commitUnknown, refused, statementsOf } from '../store/commits.js'
import type { Connection, Database } from '../store/database.js'
import { asDulyError, faultKind } from '../store/faults.js'
import { answerLoser, isSameRequest, type KeyHolder, keyVanished, type Losers, losersOf } from '../store/idempotency.js'
import { type IntakeStore, type MintedTask, type PlacedTask, toldStatus } from '../store/intake-store.js'

/** What a commit did: one result a row, and where the rows that are new stand. */
export type CommittedTasks = Committed<Submitted, PlacedTask>

export interface CommitterOptions {
  readonly database: Database
  readonly store: IntakeStore
}

/** A batch is refused because of a key; carries which. */
class KeyConflicts extends Error {
  readonly rows: readonly MintedTask[]
  readonly losers: Losers

  constructor(rows: readonly MintedTask[], losers: Losers) {
    super('keys are in conflict')
    this.rows = rows
    this.losers = losers
  }
}

const requestOf = ({ task }: MintedTask) => task

/** Writes rows so that each is there exactly if its result says so: keys first in their order, then tasks. */
export class Committer {
  readonly #options: CommitterOptions

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  /** Rows of strangers: each succeeds or fails for itself. */
  commitGroup(rows: readonly MintedTask[], slot: number): Promise<CommittedTasks> {
    return commitEach(rows, 'task', (some) => this.#commit(some, { slot, isAtomic: false }))
  }

  /** All or none: rejects with `idempotency_conflict` that names every conflicting item. */
  async commitBatch(rows: readonly MintedTask[], slot: number): Promise<CommittedTasks> {
    try {
      const committed = await this.#commit(rows, { slot, isAtomic: true })
      // it was stored, but for one of its replays no answer was found
      if (committed.results.some((result) => result instanceof Error)) throw commitUnknown(null)
      return committed
    } catch (error) {
      if (error instanceof KeyConflicts) throw batchConflict(error)
      if (faultKind(error) === 'data') throw refused('task', error)
      throw asDulyError(error)
    }
  }

  #commit(rows: readonly MintedTask[], how: Writing): Promise<CommittedTasks> {
    const { store } = this.#options
    return commit({
      ids: rows.map(({ id }) => id),
      write: () => this.#write(rows, how),
      makeDays: (instantsMs) => store.makeDays(instantsMs),
      lookUp: () => this.#lookUp(rows),
    })
  }

  async #write(rows: readonly MintedTask[], { slot, isAtomic }: Writing): Promise<CommittedTasks> {
    const { database, store } = this.#options
    const keyed = rows.filter((row) => row.task.idempotencyKey !== null)
    if (keyed.length === 0 && statementsOf(rows, bytesOf).length <= 1) {
      // one statement is one transaction
      const placed = await database.withHot((client) => store.insert(client, rows, slot))
      return { placed, results: resultsOf(rows, placed) }
    }
    // all that the answer needs is read before the commit: what fails after it could not be called refused any more
    return database.transaction(async (client) => {
      const losers = await this.#insertKeys(client, keyed)
      if (isAtomic && hasConflict(rows, losers)) throw new KeyConflicts(rows, losers)
      const placed: PlacedTask[] = []
      const fresh = rows.filter((row) => !losers.has(row.id))
      for (const some of statementsOf(fresh, bytesOf)) {
        placed.push(...(await store.insert(client, some, slot)))
      }
      const results = await this.#withLosers(client, rows, { results: resultsOf(rows, placed), losers })
      const failed = results.find((result) => result instanceof Error)
      if (isAtomic && failed) throw failed
      return { placed, results }
    })
  }

  async #insertKeys(client: Connection, keyed: readonly MintedTask[]): Promise<Losers> {
    if (keyed.length === 0) return new Map()
    const won = await this.#options.store.insertKeys(client, keyed)
    return this.#losersOf(
      client,
      keyed.filter((row) => !won.has(row.id)),
    )
  }

  async #losersOf(client: Connection, lost: readonly MintedTask[]): Promise<Losers> {
    if (lost.length === 0) return new Map()
    return losersOf(lost, requestOf, await this.#options.store.keyHolders(client, lost))
  }

  /** Rows that lost their key are answered with the task that holds it. */
  async #withLosers(
    client: Connection,
    rows: readonly MintedTask[],
    { results, losers }: { readonly results: CommittedTasks['results']; readonly losers: Losers },
  ): Promise<CommittedTasks['results']> {
    if (losers.size === 0) return results
    const holders = [...losers.values()].flatMap((holder) => (holder ? [holder.id] : []))
    const standing = await this.#options.store.standingWithin(client, holders)
    const byId = new Map(standing.map((task) => [task.id, task]))
    return rows.map((row, index) => {
      const holder = losers.get(row.id)
      if (holder === undefined) return results[index] as Submitted | Error
      return answerLoser(row.task, holder, { kind: 'task', told: holder ? byId.get(holder.id) : undefined })
    })
  }

  async #lookUp(rows: readonly MintedTask[]): Promise<CommittedTasks | null> {
    const { store, database } = this.#options
    const found = await store.standing(rows.map((row) => row.id))
    if (found.length === 0) return null
    const byId = new Map(found.map((task) => [task.id, task]))
    const results = rows.map((row): Submitted | Error => {
      const task = byId.get(row.id)
      return task ? { ...task, status: toldStatus(task.status), replayed: false } : keyVanished()
    })
    // the commit stands, so a row that is missing had lost its key
    const missing = rows.filter((row) => !byId.has(row.id))
    if (missing.length === 0) return { results, placed: [] }
    return database.withHot(async (client) => {
      const losers = await this.#losersOf(client, missing)
      return { results: await this.#withLosers(client, rows, { results, losers }), placed: [] }
    })
  }
}

interface Writing {
  readonly slot: number
  /** All or none. */
  readonly isAtomic: boolean
}

const bytesOf = ({ task }: MintedTask): number => task.payload.length

function resultsOf(rows: readonly MintedTask[], placed: readonly PlacedTask[]): (Submitted | Error)[] {
  const byId = new Map(placed.map((place) => [place.id, place]))
  return rows.map((row) => {
    const place = byId.get(row.id)
    if (!place) return keyVanished()
    return {
      id: row.id,
      status: toldStatus(place.status),
      scheduledAtMs: place.dueAtMs ?? row.task.scheduledAtMs,
      createdAtMs: place.createdAtMs,
      replayed: false,
    }
  })
}

/** Who used a row's key for another request. */
function otherHolder({ id, task }: MintedTask, losers: Losers): KeyHolder | null {
  const holder = losers.get(id)
  return holder && !isSameRequest(task, holder) ? holder : null
}

const hasConflict = (rows: readonly MintedTask[], losers: Losers): boolean =>
  rows.some((row) => otherHolder(row, losers) !== null)

function batchConflict({ rows, losers }: KeyConflicts): DulyError {
  const places = new Map(rows.map((row, index) => [row.id, index]))
  const errors = rows.flatMap((row, index): FieldError[] => {
    const holder = otherHolder(row, losers)
    return holder
      ? [{ path: `tasks[${index}].idempotency_key`, message: `was used for ${userOf(holder.id, places)}` }]
      : []
  })
  return new DulyError(
    'idempotency_conflict',
    'Idempotency keys of this batch were used for different requests. Nothing was stored.',
    { errors },
  )
}

function userOf(id: Uuid, places: ReadonlyMap<Uuid, number>): string {
  const twin = places.get(id)
  return twin === undefined
    ? `a different request, which made ${encodeId('task', id)}`
    : `tasks[${twin}], a different request`
}
