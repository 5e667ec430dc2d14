import { DulyError, timestampMsOf, type Uuid } from '@duly/domain'
import { type Connection, type Database, type Row, rowsOf, type Statement } from './database.js'
import { asDulyError, faultKind, isUnknownOutcome, outcomeUnknown, UnsettledOutcome } from './faults.js'

/** A transaction that makes rows with ids that were minted for it, so that they tell whether it was committed. */
export interface Commit<Done> {
  readonly ids: readonly Uuid[]
  readonly write: () => Promise<Done>
  /** Makes partitions for the days of these instants. */
  readonly makeDays: (instantsMs: readonly number[]) => Promise<void>
  /** What is stored of it after its connection broke; null: nothing. */
  readonly lookUp: () => Promise<Done | null>
  /** What to do without an answer. */
  readonly advice?: string
}

/**
 * Writes down what a transaction did, in that transaction; what it throws takes all of it back. It is called anew when the transaction is
 * done again.
 */
export type Note = (client: Connection, done: readonly Uuid[]) => Promise<void>

const maxTries = 4

/**
 * Commits, and answers what is stored: a day that has no partition is made, a deadlock is tried again, a commit that got no answer is
 * looked up. Other errors come out as they are: nothing was stored.
 * @throws DulyError `commit_unknown` when it could not be looked up
 */
export async function commit<Done>(options: Commit<Done>): Promise<Done> {
  const { ids, write, makeDays } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      const kind = faultKind(error)
      if (attempt < maxTries && kind === 'transient') continue
      if (attempt < maxTries && kind === 'missing_day') {
        await makeDays(ids.map(timestampMsOf))
        continue
      }
      return await settled(error, options)
    }
  }
}

/** What failed may have been committed. */
async function settled<Done>(error: unknown, { lookUp, advice }: Commit<Done>): Promise<Done> {
  if (error instanceof UnsettledOutcome) throw commitUnknown(error, advice)
  if (error instanceof DulyError || !isUnknownOutcome(error)) throw error
  const found = await lookUp().catch(() => {
    throw commitUnknown(error, advice)
  })
  if (found === null) throw error
  return found
}

/** The number by which the store knows a transaction, also when its connection is gone. */
const numberOf: Statement = { name: 'transaction_number', text: 'select pg_current_xact_id()::text as number' }

/** How a transaction ended; `in progress`, or null when it is long ago. An error when there was none of that number. */
const endOf: Statement = { name: 'transaction_end', text: 'select pg_xact_status($1::text::xid8) as "end"' }

/**
 * Runs a transaction whose end is known although the answer to its COMMIT gets lost: the store says then whether it was committed, and
 * what it came to has been read before. So it serves changes of any kind, whether or not they leave something to be recognised by. It
 * costs three round trips more than a statement by itself: for what people ask for, not for what every task does.
 * Errors come out as they are but for those of a broken connection.
 * @throws DulyError `store_unavailable` when nothing was changed, `commit_unknown` when the store could not say
 */
export async function decided<T>(
  database: Database,
  work: (client: Connection) => Promise<T>,
  path: 'hot' | 'general' = 'hot',
): Promise<T> {
  const made: { number: string; value: T }[] = []
  try {
    return await database.transaction(async (client) => {
      const [row] = await rowsOf<{ number: string }>(client, numberOf, [])
      const value = await work(client)
      made.push({ number: row?.number ?? '', value })
      return value
    }, path)
  } catch (error) {
    if (!isUnknownOutcome(error) && !(error instanceof UnsettledOutcome)) throw error
    const [done] = made
    // it broke before its COMMIT was sent
    if (done === undefined) throw asDulyError(error)
    const [told] = await database.query<{ end: string | null }>(endOf, [done.number]).catch(() => [])
    if (told?.end === 'committed') return done.value
    throw told?.end === 'aborted' ? asDulyError(error) : outcomeUnknown(error)
  }
}

/**
 * Makes a change that somebody asked for, off the hot path unless said otherwise; deadlocks and lock time-outs are tried again.
 * @throws DulyError as {@link decided}
 */
export async function change<T>(
  database: Database,
  work: (client: Connection) => Promise<T>,
  path: 'hot' | 'general' = 'general',
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await decided(database, work, path)
    } catch (error) {
      if (attempt < maxTries && faultKind(error) === 'transient') continue
      throw asDulyError(error)
    }
  }
}

/** {@link change} by one statement. */
export const changeBy = <R extends object = Row>(
  database: Database,
  statement: Statement,
  values: readonly unknown[],
): Promise<R[]> => change(database, (client) => rowsOf<R>(client, statement, values))

/** What a commit did: one result a row, and where those stand that are new. */
export interface Committed<Result, Placed> {
  readonly results: readonly (Result | Error)[]
  readonly placed: readonly Placed[]
}

/**
 * Commits rows of strangers, so that each succeeds or fails for itself: a data error splits the group until the guilty row stands alone,
 * and is refused.
 * @param what the rows are called in that refusal
 */
export async function commitEach<Row, Result, Placed>(
  rows: readonly Row[],
  what: string,
  write: (rows: readonly Row[]) => Promise<Committed<Result, Placed>>,
): Promise<Committed<Result, Placed>> {
  try {
    return await write(rows)
  } catch (error) {
    if (faultKind(error) !== 'data') throw asDulyError(error)
    if (rows.length === 1) return { results: [refused(what, error)], placed: [] }
  }
  const middle = rows.length >> 1
  const halves: Committed<Result, Placed>[] = []
  for (const half of [rows.slice(0, middle), rows.slice(middle)]) {
    halves.push(await commitEach(half, what, write).catch((error: unknown) => allFailed(half, error)))
  }
  return { results: halves.flatMap(({ results }) => results), placed: halves.flatMap(({ placed }) => placed) }
}

/** A half that fails as a whole says nothing about the other one, which may be committed. */
function allFailed(rows: readonly unknown[], error: unknown): Committed<never, never> {
  if (!(error instanceof Error)) throw error
  return { results: rows.map(() => error), placed: [] }
}

/** What one statement of a transaction writes. */
const statementRows = 500
const statementBytes = 8 * 1024 * 1024

/** Rows in their order, as statements take them; a row that is larger than all of them may be stands alone. */
export function statementsOf<Row>(rows: readonly Row[], bytesOf: (row: Row) => number): Row[][] {
  const chunks: Row[][] = []
  let bytes = 0
  for (const row of rows) {
    const chunk = chunks.at(-1)
    const size = bytesOf(row)
    const fits = chunk !== undefined && chunk.length < statementRows && bytes + size <= statementBytes
    if (fits) chunk.push(row)
    else chunks.push([row])
    bytes = fits ? bytes + size : size
  }
  return chunks
}

export function commitUnknown(cause: unknown, advice = 'Repeat with the same idempotency key.'): DulyError {
  const detail = `The connection broke during the commit and the outcome could not be read. ${advice}`
  return new DulyError('commit_unknown', detail, { retryAfterSeconds: 1, cause })
}

/** The store refused a value. */
export const refused = (what: string, cause: unknown): DulyError =>
  new DulyError('invalid_request', `The store refused a value of this ${what}.`, { cause })
