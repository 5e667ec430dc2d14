import type { Uuid } from '@duly/domain'
import type { TakenTask } from '../queue/port.js'
import { takenColumns, takenJoins } from '../queue/postgres/claim-sql.js'
import { type TakenRow, takenFromRow } from '../queue/postgres/ready-queue.js'
import { byKey, type Database, type Statement } from './database.js'
import { float4Array, int4Array, int8Array, textArray, uuidArray } from './params.js'

/** A worker's session as the store has it. */
export interface SessionRow {
  readonly id: Uuid
  readonly name: string
  readonly queues: readonly string[]
  readonly taskTypes: readonly string[]
  readonly tenant: string | null
  readonly slots: number
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly draining: boolean
  readonly lastGrant: number
  readonly received: number
}

export interface NewSession extends Omit<SessionRow, 'draining' | 'lastGrant' | 'received'> {
  readonly host: string | null
  readonly version: string | null
}

export interface Beat {
  readonly session: Uuid
  readonly lagMs: number | null
  readonly rssBytes: number | null
}

/** A live session's answer to a beat. */
export interface BeatAnswer {
  readonly session: Uuid
  readonly lastGrant: number
  readonly draining: boolean
}

/** A lease that a session holds. */
export interface HeldLease {
  readonly session: Uuid
  readonly id: Uuid
  readonly attempt: number
  readonly token: bigint
  readonly grant: number
  readonly cancelReason: string | null
}

const isLive = `s.ended_at is null and s.live_until > (select duly_judged_now())`

const register: Statement = {
  name: 'register_session',
  text: `
with grants as (insert into session_grants (session, node) values ($1, $11))
insert into worker_sessions (id, name, host, version, queues, task_types, tenant, slots, heartbeat_ms, lease_ms,
  registered_at, beat_at, live_until)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now(), now(), now() + $10::integer * interval '1 millisecond')`,
}

const load: Statement = {
  name: 'load_session',
  text: `
select s.id, s.name, s.queues, s.task_types as "taskTypes", s.tenant, s.slots, s.heartbeat_ms as "heartbeatMs",
  s.lease_ms as "leaseMs", s.draining, n.last_grant as "lastGrant", n.received
from worker_sessions s join session_grants n on n.session = s.id where s.id = $1 and ${isLive}`,
}

/** One small write keeps all leases of a session alive, however many tasks it runs. A dead session is never revived. */
const beat: Statement = {
  name: 'beat',
  text: `
update worker_sessions s
set beat_at = now(), live_until = greatest(s.live_until, now() + s.lease_ms * interval '1 millisecond'),
  lag_ms = b.lag_ms, rss_bytes = b.rss_bytes
from unnest($1::uuid[], $2::real[], $3::bigint[]) as b (id, lag_ms, rss_bytes)
where s.id = b.id and ${isLive}
returning s.id as session, (select n.last_grant from session_grants n where n.session = s.id) as "lastGrant", s.draining`,
}

const acknowledge: Statement = {
  name: 'acknowledge',
  text: `
update session_grants n set received = least(a.received, n.last_grant)
from unnest($1::uuid[], $2::integer[]) as a (id, received)
where ${byKey('n.session', 'a.id')} and n.received < a.received`,
}

/**
 * From now on this node alone grants to the session. Written whoever served it before: the row is waited for, so that every grant
 * that another node gave stands when this returns.
 */
const serve: Statement = {
  name: 'serve_session',
  text: `
update session_grants n set node = $2
from worker_sessions s
where n.session = $1 and s.id = n.session and ${isLive}
returning n.last_grant as "lastGrant", s.draining`,
}

const held: Statement = {
  name: 'held_leases',
  text: `
select o.session, o.id, o.attempt, o.token, o.grant_no as "grant",
  case when o.cancel_requested_at is not null then coalesce(o.cancel_reason, 'cancel_requested') end as "cancelReason"
from unnest($1::uuid[]) as i (session)
cross join lateral (select h.* from open_tasks h where h.session = i.session offset 0) o`,
}

/** Grants that the worker has not acknowledged, once more, with the same lease and a fresh deadline. */
export const repeat: Statement = {
  name: 'repeat_grants',
  text: `
with c as materialized (
  update open_tasks o
  set deadline_at = now() + o.timeout_ms * interval '1 millisecond',
    wake_at = now() + (o.timeout_ms + $3::bigint) * interval '1 millisecond'
  where o.session = $1 and o.grant_no > $2::integer and o.cancel_requested_at is null
    and exists (select 1 from worker_sessions s where s.id = $1 and ${isLive})
  returning o.*
)
select ${takenColumns} from c ${takenJoins}`,
}

/**
 * Nobody serves it from now on: a grant under way is waited for at its row, and one behind it is refused there, though it may have begun
 * when the session did not drain yet.
 */
const drain: Statement = {
  name: 'drain_session',
  text: `
with draining as (update worker_sessions set draining = true where id = $1 and ended_at is null returning id)
update session_grants n set node = '00000000-0000-0000-0000-000000000000' from draining d where ${byKey('n.session', 'd.id')}`,
}

/** Ends a session at the worker's own wish. What it still holds is released by the caller before. */
const end: Statement = {
  name: 'end_session',
  text: `update worker_sessions set ended_at = now(), end_reason = $2 where id = $1 and ended_at is null returning id`,
}

/** Slots of all live sessions, and how many run a task. */
const slots: Statement = {
  name: 'session_slots',
  text: `
select coalesce(sum(s.slots), 0)::float8 as total,
  (select count(*) from open_tasks o where o.session is not null)::float8 as busy
from worker_sessions s where ${isLive}`,
}

/** Sessions, their leases and grants. */
export class SessionStore {
  readonly #database: Database
  readonly #graceMs: number
  readonly #node: Uuid

  constructor(database: Database, options: { graceMs: number; node: Uuid }) {
    this.#database = database
    this.#graceMs = options.graceMs
    this.#node = options.node
  }

  /** Opens a session, which this node serves. */
  async register(session: NewSession): Promise<void> {
    const { id, name, host, version, queues, taskTypes, tenant, slots, heartbeatMs, leaseMs } = session
    const lists = [textArray(queues), textArray(taskTypes)]
    const times = [heartbeatMs, leaseMs]
    await this.#database.query(register, [id, name, host, version, ...lists, tenant, slots, ...times, this.#node])
  }

  /**
   * This node serves the session from now on; null: it lives no more. What broke off before, and was sent in the belief that the
   * session had room, is over first: granted later, it would come beside what the node knows from then on.
   */
  async serve(session: Uuid): Promise<Omit<BeatAnswer, 'session'> | null> {
    await this.#database.settled()
    const [row] = await this.#database.hot<Omit<BeatAnswer, 'session'>>(serve, [session, this.#node])
    return row ?? null
  }

  /** The session if it lives, else null. On the hot path: whatever keeps the other connections busy, workers go on. */
  async load(id: Uuid): Promise<SessionRow | null> {
    const [row] = await this.#database.hot<SessionRow>(load, [id])
    return row ?? null
  }

  /** Answers the sessions that live; all others are lost. */
  async beat(beats: readonly Beat[]): Promise<BeatAnswer[]> {
    const ordered = [...beats].sort((a, b) => (a.session < b.session ? -1 : 1))
    return this.#database.hot<BeatAnswer>(beat, [
      uuidArray(ordered.map((b) => b.session)),
      float4Array(ordered.map((b) => b.lagMs)),
      int8Array(ordered.map((b) => b.rssBytes)),
    ])
  }

  async acknowledge(received: readonly (readonly [Uuid, number])[]): Promise<void> {
    const ordered = [...received].sort(([a], [b]) => (a < b ? -1 : 1))
    const values = [uuidArray(ordered.map(([id]) => id)), int4Array(ordered.map(([, grant]) => grant))]
    await this.#database.hot(acknowledge, values)
  }

  async held(sessions: readonly Uuid[]): Promise<HeldLease[]> {
    type HeldRow = Omit<HeldLease, 'token'> & { readonly token: string }
    const rows = await this.#database.hot<HeldRow>(held, [uuidArray(sessions)])
    return rows.map((row) => ({ ...row, token: BigInt(row.token) }))
  }

  async repeat(session: Uuid, received: number): Promise<TakenTask[]> {
    const rows = await this.#database.hot<TakenRow>(repeat, [session, received, this.#graceMs])
    return rows.map(takenFromRow)
  }

  /** The session is granted nothing more; what is under way has been granted when this resolves. */
  async drain(session: Uuid): Promise<void> {
    await this.#database.query(drain, [session])
  }

  async slots(): Promise<{ busy: number; total: number }> {
    const [row] = await this.#database.query<{ busy: number; total: number }>(slots)
    return row ?? { busy: 0, total: 0 }
  }

  /** False when it had ended before. */
  async end(session: Uuid, reason: string): Promise<boolean> {
    return (await this.#database.query(end, [session, reason])).length > 0
  }
}
