import { DulyError, encodeId, type FieldError, type TaskStatus, timestampMsOf, type Uuid } from '@duly/domain'
import type { NewTask, Submitted } from '../model.js'
import type { Connection, Database } from '../store/database.js'
import { asDulyError, faultKind, isUnknownOutcome, UnsettledOutcome } from '../store/faults.js'
import type { IntakeStore, KeyHolder, MintedTask, PlacedTask } from '../store/intake-store.js'

/** What a commit did: one result a row, and where the rows that are new stand. */
export interface Committed {
  readonly results: readonly (Submitted | Error)[]
  readonly placed: readonly PlacedTask[]
}

export interface CommitterOptions {
  readonly database: Database
  readonly store: IntakeStore
  /** Rows of one statement within a batch's transaction. */
  readonly chunkRows: number
  readonly chunkBytes: number
}

type Losers = Map<Uuid, KeyHolder | null>

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

const maxTries = 4

/**
 * Writes rows so that each is there exactly if its result says so: keys first in their order, then tasks; a day that has no
 * partition is made; a data error splits the group until the guilty row stands alone; a commit that got no answer is looked
 * up by its ids.
 */
export class Committer {
  readonly #options: CommitterOptions

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  /** Rows of strangers: each succeeds or fails for itself. */
  async commitGroup(rows: readonly MintedTask[], slot: number): Promise<Committed> {
    try {
      return await this.#retrying(rows, () => this.#write(rows, slot, false))
    } catch (error) {
      if (faultKind(error) !== 'data') throw asDulyError(error)
      if (rows.length === 1) return { results: [refused(error)], placed: [] }
      const middle = rows.length >> 1
      const first = await this.#commitHalf(rows.slice(0, middle), slot)
      const second = await this.#commitHalf(rows.slice(middle), slot)
      return { results: [...first.results, ...second.results], placed: [...first.placed, ...second.placed] }
    }
  }

  /** A half that fails as a whole says nothing about the other one, which may be committed. */
  async #commitHalf(rows: readonly MintedTask[], slot: number): Promise<Committed> {
    return this.commitGroup(rows, slot).catch((error: unknown) => {
      if (!(error instanceof Error)) throw error
      return { results: rows.map(() => error), placed: [] }
    })
  }

  /** All or none: rejects with `idempotency_conflict` that names every conflicting item. */
  async commitBatch(rows: readonly MintedTask[], slot: number): Promise<Committed> {
    try {
      const committed = await this.#retrying(rows, () => this.#write(rows, slot, true))
      // it was stored, but for one of its replays no answer was found
      if (committed.results.some((result) => result instanceof Error)) throw commitUnknown(null)
      return committed
    } catch (error) {
      if (error instanceof KeyConflicts) throw batchConflict(error)
      if (faultKind(error) === 'data') throw refused(error)
      throw asDulyError(error)
    }
  }

  async #retrying(rows: readonly MintedTask[], write: () => Promise<Committed>): Promise<Committed> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await write()
      } catch (error) {
        const kind = faultKind(error)
        if (attempt < maxTries && kind === 'transient') continue
        if (attempt < maxTries && kind === 'missing_day') {
          await this.#options.store.makeDays(rows.map((row) => timestampMsOf(row.id)))
          continue
        }
        if (error instanceof UnsettledOutcome) throw commitUnknown(error)
        if (error instanceof DulyError || !isUnknownOutcome(error)) throw error
        return await this.#lookUp(rows, error)
      }
    }
  }

  async #write(rows: readonly MintedTask[], slot: number, isAtomic: boolean): Promise<Committed> {
    const { database, store } = this.#options
    const keyed = rows.filter((row) => row.task.idempotencyKey !== null)
    if (keyed.length === 0 && rows.length <= this.#options.chunkRows) {
      // one statement is one transaction
      const placed = await database.withHot((client) => store.insert(client, rows, slot))
      return { placed, results: resultsOf(rows, placed) }
    }
    // all that the answer needs is read before the commit: what fails after it could not be called refused any more
    return database.transaction(async (client) => {
      const losers = await this.#insertKeys(client, keyed)
      if (isAtomic && hasConflict(rows, losers)) throw new KeyConflicts(rows, losers)
      const placed: PlacedTask[] = []
      for (const chunk of this.#chunks(rows.filter((row) => !losers.has(row.id)))) {
        placed.push(...(await store.insert(client, chunk, slot)))
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
    return this.#holdersOf(
      client,
      keyed.filter((row) => !won.has(row.id)),
    )
  }

  async #holdersOf(client: Connection, lost: readonly MintedTask[]): Promise<Losers> {
    if (lost.length === 0) return new Map()
    const holders = new Map<string, KeyHolder>()
    for (const holder of await this.#options.store.keyHolders(client, lost))
      holders.set(keyOf(holder.tenant, holder.key), holder)
    return new Map(
      lost.map((row) => [row.id, holders.get(keyOf(row.task.tenant, row.task.idempotencyKey ?? '')) ?? null]),
    )
  }

  #chunks(rows: readonly MintedTask[]): MintedTask[][] {
    const chunks: MintedTask[][] = []
    let chunk: MintedTask[] = []
    let bytes = 0
    for (const row of rows) {
      const size = row.task.payload.length
      if (chunk.length > 0 && (chunk.length >= this.#options.chunkRows || bytes + size > this.#options.chunkBytes)) {
        chunks.push(chunk)
        chunk = []
        bytes = 0
      }
      chunk.push(row)
      bytes += size
    }
    if (chunk.length > 0) chunks.push(chunk)
    return chunks
  }

  /** Rows that lost their key are answered with the task that holds it, if it was the same request. */
  async #withLosers(
    client: Connection,
    rows: readonly MintedTask[],
    { results, losers }: { results: readonly (Submitted | Error)[]; losers: Losers },
  ): Promise<(Submitted | Error)[]> {
    if (losers.size === 0) return [...results]
    const holders = [...losers.values()].flatMap((holder) => (holder ? [holder.taskId] : []))
    const standing = await this.#options.store.standingWithin(client, holders)
    const byId = new Map(standing.map((task) => [task.id, task]))
    return rows.map((row, index) => {
      if (!losers.has(row.id)) return results[index] as Submitted | Error
      const holder = losers.get(row.id)
      if (!holder) return keyVanished()
      if (!sameRequest(row.task, holder)) return conflict(holder)
      const task = byId.get(holder.taskId)
      return task ? { ...task, replayed: true } : keyVanished()
    })
  }

  /** The connection broke after the rows were sent: were they stored? */
  async #lookUp(rows: readonly MintedTask[], cause: unknown): Promise<Committed> {
    const { store } = this.#options
    const found = await store.standing(rows.map((row) => row.id)).catch(() => {
      throw commitUnknown(cause)
    })
    if (found.length === 0) throw cause
    const byId = new Map(found.map((task) => [task.id, task]))
    const results = rows.map((row): Submitted | Error => {
      const task = byId.get(row.id)
      return task ? { ...task, status: toldStatus(task.status), replayed: false } : keyVanished()
    })
    // the commit stands, so a row that is missing had lost its key
    const missing = rows.filter((row) => !byId.has(row.id))
    if (missing.length === 0) return { results, placed: [] }
    const whole = this.#options.database.withHot(async (client) =>
      this.#withLosers(client, rows, { results, losers: await this.#holdersOf(client, missing) }),
    )
    return whole.then(
      (answered) => ({ results: answered, placed: [] }),
      () => {
        throw commitUnknown(cause)
      },
    )
  }
}

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

/** What a submitter is told: a task that was handed off at once was PENDING first. */
const toldStatus = (status: TaskStatus): TaskStatus => (status === 'RUNNING' ? 'PENDING' : status)

const keyOf = (tenant: string, key: string): string => `${tenant.length} ${tenant} ${key}`

const sameRequest = (task: NewTask, holder: KeyHolder): boolean => task.requestHash?.equals(holder.requestHash) ?? false

function hasConflict(rows: readonly MintedTask[], losers: Losers): boolean {
  return rows.some((row) => {
    const holder = losers.get(row.id)
    return holder !== undefined && holder !== null && !sameRequest(row.task, holder)
  })
}

function conflict(holder: KeyHolder): DulyError {
  return new DulyError(
    'idempotency_conflict',
    `The idempotency key was used for a different request, which made ${encodeId('task', holder.taskId)}.`,
  )
}

function batchConflict({ rows, losers }: KeyConflicts): DulyError {
  const errors: FieldError[] = []
  const places = new Map(rows.map((row, index) => [row.id, index]))
  for (const [index, row] of rows.entries()) {
    const holder = losers.get(row.id)
    if (!holder || sameRequest(row.task, holder)) continue
    const twin = places.get(holder.taskId)
    const user =
      twin === undefined
        ? `a different request, which made ${encodeId('task', holder.taskId)}`
        : `tasks[${twin}], a different request`
    errors.push({ path: `tasks[${index}].idempotency_key`, message: `was used for ${user}` })
  }
  return new DulyError(
    'idempotency_conflict',
    'Idempotency keys of this batch were used for different requests. Nothing was stored.',
    { errors },
  )
}

function commitUnknown(cause: unknown): DulyError {
  const detail =
    'The connection broke during the commit and the outcome could not be read. Repeat with the same idempotency key.'
  return new DulyError('commit_unknown', detail, { retryAfterSeconds: 1, cause })
}

/** The key's holder went between two statements (its retention ended, or its transaction failed): the repeat will succeed. */
function keyVanished(): DulyError {
  return new DulyError(
    'store_unavailable',
    'The submission met another one with its key that did not last; try again.',
    { retryAfterSeconds: 1 },
  )
}

function refused(cause: unknown): DulyError {
  return new DulyError('invalid_request', 'The store refused a value of this task.', { cause })
}
