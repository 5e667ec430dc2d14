import { OwnConnection } from '../own-connection.js'
import { RetentionMarks } from './marks.js'
import { ageOf, type Part, partsOf } from './parts.js'
import { RecordStore } from './record-store.js'
import { RewriteStore } from './rewrite-store.js'
import { SweepStore } from './sweep-store.js'

/** Any constant of ours: "duly" in ASCII, plus one. The migrators have the number before. */
const lockNumber = 0x64756c7a

/**
 * Plans that do not depend on statistics, as on the hot path. A node that is frozen or cut off must not keep the lock for
 * ever: the server ends a session that is silent for longer than any pause between two steps.
 */
const settings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  lock_timeout: 2_000,
  statement_timeout: 120_000,
  vacuum_cost_delay: 2,
  idle_session_timeout: 600_000,
  tcp_keepalives_idle: 30,
  tcp_keepalives_interval: 10,
  tcp_keepalives_count: 3,
}

const tryLock = { name: 'retention_try_lock', text: `select pg_try_advisory_lock(${lockNumber}) as held` }

/** The right to do the deployment's retention, and the connection that it is done on: both end together. */
export class RetentionSession {
  readonly marks: RetentionMarks
  readonly records: RecordStore
  readonly rewrites: RewriteStore
  readonly sweeps: SweepStore
  readonly #connection: OwnConnection

  private constructor(connection: OwnConnection) {
    this.#connection = connection
    this.marks = new RetentionMarks(connection)
    this.records = new RecordStore(connection)
    this.rewrites = new RewriteStore(connection)
    this.sweeps = new SweepStore(connection)
  }

  /** Null: another node is at it. */
  static async open(url: string, signal: AbortSignal): Promise<RetentionSession | null> {
    const connection = await OwnConnection.open({ url, applicationName: 'duly retention', settings, signal })
    const rows = await connection.query<{ held: boolean }>(tryLock).catch(async (error: unknown) => {
      await connection.close()
      throw error
    })
    if (rows[0]?.held) return new RetentionSession(connection)
    await connection.close()
    return null
  }

  get pid(): number | null {
    return this.#connection.pid
  }

  parts(days: number): Promise<Part[]> {
    return partsOf(this.#connection, days)
  }

  /** The store's time, and how long ago its oldest partition begins. */
  age(): Promise<{ atMs: number; oldestMs: number }> {
    return ageOf(this.#connection)
  }

  async close(): Promise<void> {
    await this.#connection.close()
  }
}
