import pg from 'pg'
import { asDulyError, faultKind, isUnknownOutcome, UnsettledOutcome } from './faults.js'

/** A connection that a caller holds for some statements. */
export type Connection = pg.PoolClient

/** A prepared statement: `name` is unique in the program, `text` is whole SQL with bind parameters. */
export interface Statement {
  readonly name: string
  readonly text: string
}

export type Row = Readonly<Record<string, unknown>>

export interface DatabaseOptions {
  readonly url: string
  /** Connections for the hot path (intake, claims, reports, timers). */
  readonly hotConnections: number
  /** Connections for everything else. */
  readonly generalConnections: number
  /** Connections for lists, which may look at thousands of rows each; so few that they can't crowd out the rest. Default 2. */
  readonly listConnections?: number
  readonly applicationName: string
  readonly statementTimeoutMs: number
  readonly onError: (error: Error) => void
  /** The driver's connection, `pg.Client` unless given. */
  readonly Client?: new () => pg.Client
}

/**
 * Plans of the hot path must not depend on statistics: a claim right after a bulk load without ANALYZE was 18–30 times
 * slower with a sort, and a hash join chosen on an empty estimate reads the whole table. With these settings no plan but
 * the nested loop over an index is left, and it is made once per connection.
 */
export const hotPlanner =
  '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off'

/** Nothing that a broken connection had sent takes effect any more once its server process is gone; true unless it still lives. */
const endBackend: Statement = {
  name: 'end_backend',
  text: `
select coalesce(bool_and(pg_terminate_backend(a.pid, 5000)), true) as "isGone" from pg_stat_activity a
where a.pid = $1 and a.datname = current_database() and a.application_name = current_setting('application_name')`,
}

/**
 * "This row of the table has that key", as a join condition of the hot path. The list of one leaves the planner nothing but a
 * look by key: for a plain equality it reads the index from end to end, for each row of the other side, when the plan is made
 * while the table is empty (a drained queue after a vacuum), and keeps that plan when the table has filled. For the same
 * reason conditions that match a partial index are written so that they do not.
 */
export const byKey = (column: string, value: string): string => `${column} = any (array[${value}])`

/** Connection pools with errors in the catalogue's words. Pools reconnect by themselves. */
export class Database {
  readonly #hot: pg.Pool
  readonly #general: pg.Pool
  readonly #lists: pg.Pool
  /** Connections that may still be in a transaction: whoever got one of them next would work within it. */
  readonly #spoilt = new WeakSet<Connection>()
  /** Server processes that could not be ended: they may go on with what was sent to them. */
  readonly #astray = new Set<number>()
  readonly url: string

  constructor(options: DatabaseOptions) {
    this.url = options.url
    const shared = {
      connectionString: options.url,
      application_name: options.applicationName,
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      statement_timeout: options.statementTimeoutMs,
      // a dead network shows only here: the server's own timeout cannot reach us
      query_timeout: options.statementTimeoutMs + 2_000,
      idle_in_transaction_session_timeout: options.statementTimeoutMs,
      ...(options.Client ? { Client: options.Client } : {}),
    }
    this.#hot = new pg.Pool({ ...shared, max: options.hotConnections, options: hotPlanner, idleTimeoutMillis: 0 })
    this.#general = new pg.Pool({ ...shared, max: options.generalConnections, options: '-c jit=off' })
    this.#lists = new pg.Pool({ ...shared, max: options.listConnections ?? 2, options: hotPlanner })
    for (const pool of [this.#hot, this.#general, this.#lists]) {
      // without a listener the error of a connection ends the process: of an idle one, …
      pool.on('error', options.onError)
      // … and of one between two statements, from its first moment on; the next statement reports it
      pool.on('connect', (client) => client.on('error', () => {}))
    }
  }

  /** One statement on the hot path. Deadlocks and lock time-outs are tried again, at most three times. */
  hot<R extends object = Row>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
    return run<R>(this.#hot, statement, values)
  }

  /**
   * The same for a statement that must not come true behind the back of who was told that it failed: when the connection broke,
   * the error comes after its server process has ended. If that could not be had, {@link settled} makes up for it.
   */
  surely<R extends object = Row>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
    return trying(() => this.withHot((client) => rowsOf<R>(client, statement, values)))
  }

  /** One statement off the hot path. */
  query<R extends object = Row>(statement: Statement, values: readonly unknown[] = []): Promise<R[]> {
    return run<R>(this.#general, statement, values)
  }

  /** One statement that may look at thousands of rows: on connections of its own, with the plans of the hot path. */
  list<R extends object = Row>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
    return run<R>(this.#lists, statement, values)
  }

  /** Several statements that see one instant and write nothing, on the connections of lists. */
  async snapshot<T>(work: (client: Connection) => Promise<T>): Promise<T> {
    let client: Connection | undefined
    let isSound = false
    try {
      client = await this.#lists.connect()
      await client.query('begin isolation level repeatable read, read only')
      const value = await work(client)
      await client.query('commit')
      isSound = true
      return value
    } catch (error) {
      throw asDulyError(error)
    } finally {
      // a connection whose transaction did not end goes with it
      client?.release(!isSound)
    }
  }

  /**
   * A connection of the hot path for as long as `work` runs. An error of acquiring it means that nothing was sent
   * (`DulyError`); errors of `work` come out as they are, for callers who must tell an unknown outcome from a refusal. When
   * the connection broke, they do so after its server process has ended, which may have gone on with what was sent: what
   * can be read then is final. `UnsettledOutcome` when that could not be reached.
   */
  withHot<T>(work: (client: Connection) => Promise<T>): Promise<T> {
    return this.#with(this.#hot, work)
  }

  async #with<T>(pool: pg.Pool, work: (client: Connection) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw asDulyError(error)
    })
    try {
      const value = await work(client)
      client.release()
      return value
    } catch (error) {
      // its place is free before another connection is asked for: of those whose connections broke together, each would wait for the others
      client.release(faultKind(error) === 'unavailable' ? (error as Error) : this.#spoilt.has(client))
      if (isUnknownOutcome(error)) await this.#settle(client, error)
      throw error
    }
  }

  async #settle(client: Connection, cause: unknown): Promise<void> {
    const pid = 'processID' in client ? (client.processID as number | null) : null
    if (pid === null || (await this.#end(pid))) return
    this.#astray.add(pid)
    throw new UnsettledOutcome(cause)
  }

  async #end(pid: number): Promise<boolean> {
    // one that goes by itself at this moment could not be ended; asked again, it is seen to be gone
    for (let attempt = 1; attempt <= 2; attempt++) {
      const [row] = await this.query<{ isGone: boolean }>(endBackend, [pid]).catch(() => [])
      if (row?.isGone) return true
      // a database that can't be asked is not asked twice
      if (row === undefined) break
    }
    return false
  }

  /** Resolves when nothing goes on any more of what broke off before. Rejects with `store_unavailable` when that can't be had. */
  async settled(): Promise<void> {
    for (const pid of this.#astray) {
      if (!(await this.#end(pid))) throw asDulyError(new UnsettledOutcome(null))
      this.#astray.delete(pid)
    }
  }

  /**
   * Runs `work` in one transaction, on the hot path unless said otherwise. A COMMIT that the server answers with ROLLBACK has failed.
   * Errors come out as those of {@link withHot}.
   */
  transaction<T>(work: (client: Connection) => Promise<T>, path: 'hot' | 'general' = 'hot'): Promise<T> {
    return this.#with(path === 'hot' ? this.#hot : this.#general, async (client) => {
      await client.query('begin')
      try {
        const value = await work(client)
        const answer = await client.query('commit')
        if (answer.command !== 'COMMIT') throw new Error(`COMMIT was answered with ${answer.command}`)
        return value
      } catch (error) {
        if (faultKind(error) !== 'unavailable') await client.query('rollback').catch(() => this.#spoilt.add(client))
        throw error
      }
    })
  }

  async close(): Promise<void> {
    await Promise.all([this.#hot.end(), this.#general.end(), this.#lists.end()])
  }
}

/** One statement on a connection that the caller holds, within a transaction as a rule. Errors come out as they are. */
export async function rowsOf<R extends object = Row>(
  client: Connection,
  { name, text }: Statement,
  values: readonly unknown[],
): Promise<R[]> {
  return (await client.query<R>({ name, text, values: values as unknown[] })).rows
}

const attempts = 3

function run<R extends object>(pool: pg.Pool, { name, text }: Statement, values: readonly unknown[]): Promise<R[]> {
  return trying(async () => (await pool.query<R>({ name, text, values: values as unknown[] })).rows)
}

async function trying<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt < attempts && faultKind(error) === 'transient') continue
      throw asDulyError(error)
    }
  }
}

/**
 * Arrays side by side as rows, from the parameter `$first` on: `select unnest($1::uuid[]) as id, …`. In the select list they are
 * read as they are needed; in the from clause PostgreSQL copies each array into a store of its own first (24 arrays: 17.5 µs a
 * row against 8.3).
 */
export const unnested = (columns: readonly (readonly [name: string, type: string])[], first = 1): string =>
  `select ${columns.map(([name, type], place) => `unnest($${first + place}::${type}[]) as ${name}`).join(', ')}`
