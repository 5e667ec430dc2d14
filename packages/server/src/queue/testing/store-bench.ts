import type { Lane, Priority, Uuid } from '@duly/domain'
import pg from 'pg'
import { createDatabase } from '../../../../../tests/support/database.js'
import { StoreTime } from '../../kit/store-time.js'
import { makeStores, type Stores } from '../../node/stores.js'
import { Database } from '../../store/database.js'

export type Sql = <R extends object = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<R[]>

/** The stores of a node on a database of its own, and a second connection for set-up and for looking. */
export interface StoreBench {
  readonly url: string
  readonly database: Database
  readonly stores: Stores
  readonly sql: Sql
  /** Of a store whose time stands still. */
  readonly time: StoreTime | null
  close(): Promise<void>
}

export interface StoreBenchOptions {
  readonly hotConnections?: number
  /** The store's time stands still. */
  readonly isStill?: boolean
}

export async function makeStoreBench(options: StoreBenchOptions = {}): Promise<StoreBench> {
  const { url } = await createDatabase()
  const time = options.isStill ? await StoreTime.install(url, { at: new Date() }) : null
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  const database = new Database({
    url,
    hotConnections: options.hotConnections ?? 10,
    generalConnections: 4,
    applicationName: 'duly test',
    statementTimeoutMs: 30_000,
    onError: () => {},
  })
  return {
    url,
    time,
    database,
    stores: makeStores(database, { nodeNumber: 0, graceMs: 5_000 }),
    sql: async (text, values = []) => (await pool.query(text, values)).rows,
    close: async () => {
      await Promise.all([database.close(), pool.end(), time?.close()])
    },
  }
}

/** Tasks of one kind, waiting in one lane. */
export interface TaskSpec {
  readonly count?: number
  readonly queue?: string
  readonly priority?: Priority
  readonly tenant?: string
  readonly gate?: string
  readonly taskType?: string
  /** The first became ready so long ago; each next one `stepMs` later. */
  readonly readyAgoMs?: number
  readonly stepMs?: number
  readonly expiresInMs?: number
  /** Crashes behind it; then one attempt, too. */
  readonly crashes?: number
}

export interface ReadyTask {
  readonly id: Uuid
  readonly readyAtMs: number
  readonly lane: Lane
}

/** Adds ready tasks by one statement, as a bulk load would: no ANALYZE afterwards. In the order of their lane. */
export async function addTasks(sql: Sql, spec: TaskSpec = {}): Promise<ReadyTask[]> {
  const { queue = 'default', priority = 2, tenant = 'default', gate = '', taskType = 'work' } = spec
  const { count = 1, readyAgoMs = 60_000, stepMs = 0, expiresInMs = null, crashes = 0 } = spec
  const rows = await sql<{ id: Uuid; readyAtMs: number }>(
    `with made as materialized (
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '70008'
        || substr(md5(random()::text || n), 1, 15))::uuid as id,
        now() - $6 * interval '1 millisecond' + n * $7 * interval '1 millisecond' as ready_at,
        now() + $8 * interval '1 millisecond' as expires_at
      from generate_series(0, $9::integer - 1) n
    ),
    stored as (
      insert into tasks (id, tenant, task_type, queue, priority, created_at, expires_at, max_retries, retry_backoff,
        retry_jitter, retry_delay_ms, retry_max_delay_ms, timeout_ms, payload)
      select id, $3, $5, $1, $2, now(), expires_at, 3, 'fixed', 'none', 100, 1000, 300000, '{}' from made
    ),
    counted as (
      insert into counters (queue, priority, tenant, gate, slot, depth) values ($1, $2, $3, $4, 99, $9)
      on conflict (queue, priority, tenant, gate, slot) do update set depth = counters.depth + excluded.depth
    )
    insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, gate, ready_at, expires_at, wake_at,
      timeout_ms, crashes, attempt)
    select id, 0, 'PENDING', $3, $1, $5, $2, $4, ready_at, expires_at, expires_at, 300000, $10, $10 from made
    returning id, date_part('epoch', ready_at) * 1000 as "readyAtMs"`,
    [queue, priority, tenant, gate, taskType, readyAgoMs, stepMs, expiresInMs, count, crashes],
  )
  const lane = { queue, priority, tenant, gate }
  return rows.map((row) => ({ ...row, lane })).sort((a, b) => a.readyAtMs - b.readyAtMs || (a.id < b.id ? -1 : 1))
}

export type SessionState = 'live' | 'draining' | 'expired' | 'ended'

/** Opens a session for tasks of type `work` in the queue `default`, unless said otherwise. */
export async function addSession(sql: Sql, options: { state?: SessionState; queues?: string[] } = {}): Promise<Uuid> {
  const { state = 'live', queues = ['default'] } = options
  // no watchdog marks this store; an old mark would count as an outage, in which nobody dies
  await sql('update store_marks set marked_at = now()')
  const [row] = await sql<{ id: Uuid }>(
    `with made as (insert into worker_sessions (id, name, queues, task_types, slots, heartbeat_ms, lease_ms, registered_at,
       beat_at, live_until, draining, ended_at)
     values (gen_random_uuid(), 'test', $1, '{work}', 10, 5000, 15000, now(), now(),
       now() + case when $2 = 'expired' then interval '-1 second' else interval '1 hour' end, $2 = 'draining',
       case when $2 = 'ended' then now() end)
     returning id)
     insert into session_grants (session) select id from made returning session as id`,
    [queues, state],
  )
  return (row as { id: Uuid }).id
}
