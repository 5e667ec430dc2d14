import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Percentiles } from './stats.js'

const POLL_MS = 5

/** What the benchmark asks PostgreSQL itself, on a connection of its own. */
export class Database {
  readonly #client: pg.Client

  private constructor(client: pg.Client) {
    this.#client = client
  }

  static async open(url: string): Promise<Database> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return new Database(client)
  }

  async close(): Promise<void> {
    await this.#client.end()
  }

  /** The version, and the settings that durability and speed hang on. */
  async settings(): Promise<Readonly<Record<string, string>>> {
    const names = [
      'server_version',
      'fsync',
      'synchronous_commit',
      'full_page_writes',
      'wal_compression',
      'shared_buffers',
    ]
    const { rows } = await this.#client.query<{ name: string; value: string }>(
      'select name, current_setting(name) as value from unnest($1::text[]) as name',
      [names],
    )
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]))
  }

  /** Bytes of WAL since the cluster was made. */
  async walBytes(): Promise<number> {
    return Number(await this.#value(`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn`))
  }

  /** The store's clock, as text that it takes back. */
  async now(): Promise<string> {
    return String(await this.#value('select clock_timestamp()::text'))
  }

  /** Resolves when no task is open. */
  async untilAllFinished(): Promise<void> {
    while ((await this.#value('select exists (select 1 from open_tasks)')) === true) await delay(POLL_MS)
  }

  /** From the commit of a submission to its start, as the store's own timestamps tell it. */
  async startDelays(since: string): Promise<Percentiles> {
    const { rows } = await this.#client.query<Percentiles>(
      `with delays as (
         select extract(epoch from outcomes.started_at - tasks.created_at)::float8 * 1000 as ms
         from tasks join outcomes using (id) where tasks.created_at >= $1::timestamptz)
       select count(*)::int as count, max(ms) as max, percentile_disc(0.5) within group (order by ms) as p50,
         percentile_disc(0.9) within group (order by ms) as p90, percentile_disc(0.99) within group (order by ms) as p99
       from delays`,
      [since],
    )
    const [row] = rows
    if (row === undefined) throw new Error('PostgreSQL answered no row')
    return row
  }

  /**
   * Every task that was accepted is there once, ran once and succeeded at its first attempt.
   *
   * @throws {Error} with the counts that differ
   */
  async requireExactDelivery(accepted: number): Promise<void> {
    const { rows } = await this.#client.query<Record<string, number>>(
      `select (select count(*) from tasks)::int as tasks,
         (select count(*) from open_tasks)::int as open,
         (select count(*) from outcomes where status = 'SUCCEEDED' and attempt = 1 and failures = 0)::int as succeeded,
         (select count(*) from outcomes join tasks using (id))::int as outcomes,
         (select count(*) from failed_attempts)::int as failed_attempts`,
    )
    const found = JSON.stringify(rows[0])
    const wanted = JSON.stringify({
      tasks: accepted,
      open: 0,
      succeeded: accepted,
      outcomes: accepted,
      failed_attempts: 0,
    })
    if (found !== wanted) throw new Error(`not delivered exactly: expected ${wanted}, found ${found}`)
  }

  /** Begins a new account of statements; false when PostgreSQL keeps none. */
  async resetStatements(): Promise<boolean> {
    try {
      await this.#client.query('create extension if not exists pg_stat_statements')
      await this.#client.query('select pg_stat_statements_reset()')
      return true
    } catch {
      return false
    }
  }

  /** The statements that took most time since, and how often they ran. */
  async statements(most: number): Promise<readonly Statement[]> {
    const { rows } = await this.#client.query<Statement>(
      `select query, calls::int, rows::int, total_exec_time as ms, shared_blks_hit::int as "blocksHit", wal_bytes::float8 as "walBytes"
       from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
       order by total_exec_time desc limit $1`,
      [most],
    )
    return rows
  }

  /** Blocks (8 KB) that statements asked for since the account began; NaN when PostgreSQL keeps none. */
  async blocks(): Promise<number> {
    const sum = 'select sum(shared_blks_hit + shared_blks_read)::float8 from pg_stat_statements'
    return Number(await this.#value(sum).catch(() => Number.NaN))
  }

  async #value(query: string): Promise<unknown> {
    const { rows } = await this.#client.query<{ value: unknown }>(`select (${query}) as value`)
    return rows[0]?.value
  }
}

/** One line of pg_stat_statements. */
export interface Statement {
  readonly query: string
  readonly calls: number
  readonly rows: number
  readonly ms: number
  readonly blocksHit: number
  readonly walBytes: number
}
