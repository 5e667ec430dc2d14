import { statusGuard, type Uuid } from '@duly/domain'
import type { EndedTask } from '../model.js'
import type { HandOff, TakenTask } from '../queue/port.js'
import { grantTo, markedToken, takenColumns, takenJoins } from '../queue/postgres/claim-sql.js'
import { type TakenRow, takenFromRow } from '../queue/postgres/ready-queue.js'
import { byKey, type Database, type Statement } from './database.js'
import { bigintArray, int2Array, int8Array, textArray, uuidArray } from './params.js'
import { countPending, waitingEnd } from './transition-parts.js'

/** A timer that is due now or soon: a hint, the store decides again when it is acted on. */
export interface DueTimer {
  readonly id: Uuid
  readonly partition: number
  readonly wakeAtMs: number
  readonly status: 'SCHEDULED' | 'RETRYING' | 'PENDING' | 'BLOCKED'
  readonly tenant: string
  readonly queue: string
  readonly taskType: string
  readonly priority: 1 | 2 | 3
  readonly gate: string
  readonly suspect: boolean
  /** It has an expiry and never started: at its instant it may end instead. */
  readonly mayExpire: boolean
  /** Its real instant, when it is tried again after coming too early. */
  readonly firstMs?: number
}

/** A task that is ready now. */
export interface Promoted {
  readonly id: Uuid
  readonly tenant: string
  readonly queue: string
  readonly priority: 1 | 2 | 3
  readonly gate: string
  readonly taskType: string
  readonly dueAtMs: number
}

/** The next instants of each partition up to a horizon, earliest first, a bounded number from each: fair turns. */
const peek: Statement = {
  name: 'peek_timers',
  text: `
select o.id, o.partition, date_part('epoch', o.wake_at) * 1000 as "wakeAtMs", o.status, o.tenant, o.queue,
  o.task_type as "taskType", o.priority, o.gate, o.crashes + o.undelivered > 0 as suspect,
  o.expires_at is not null and o.attempt = 0 as "mayExpire"
from unnest($1::smallint[]) as p (partition) cross join lateral (
  select * from open_tasks o
  where o.partition = p.partition and o.wake_at <= now() + $2::bigint * interval '1 millisecond' and o.deadline_at is null
  order by o.wake_at limit $3
) o
order by o.wake_at limit $4`,
}

/** Anyone may act on what is late by so much, leader of its partition or not: leading is for speed, never for safety. */
export const rescueAfterMs = 5_000
const late = `interval '${rescueAfterMs / 1_000} seconds'`

/** A condition: whoever says this epoch leads the partition of the row still. */
const leads = (epoch: string): string =>
  `exists (select 1 from partitions p where ${byKey('p.partition', 'o.partition')} and p.epoch = ${epoch})`

/**
 * Promotes what is due: to PENDING, or, when a session is named for it, straight to RUNNING with that worker's lease (the
 * hand-off tests pause, expiry and the session as a claim does, and that the task is in the queue still for which the
 * worker was chosen). By the leader of the row's partition, or by anyone when it is late. Rows that others hold are skipped: they
 * promote them.
 */
export const promote: Statement = {
  name: 'promote',
  text: `
with due as materialized (
  select o.id, i.token, case when o.queue = i.queue
    and not exists (select 1 from queues q where q.name = o.queue and q.paused) then i.session end as session
  from unnest($1::uuid[], $2::uuid[], $3::bigint[], $6::text[], $7::bigint[]) as i (id, session, token, queue, epoch)
  cross join lateral (
    select o.id, o.queue from open_tasks o
    where o.id = i.id and ${statusGuard('promote', 'o.status')} and o.due_at <= now()
      and (o.expires_at is null or o.expires_at > now() or o.attempt > 0)
      and (o.due_at <= now() - ${late} or ${leads('i.epoch')})
    for update of o skip locked
  ) o
),
granted as materialized (
  ${grantTo('array(select distinct d.session from due d where d.session is not null)', '$8::uuid')}
),
up as materialized (
  update open_tasks o
  set status = case when d.last_grant is null then 'PENDING' else 'RUNNING' end,
    ready_at = o.due_at, lane_version = o.lane_version + 1,
    due_at = case when d.last_grant is null then null else o.due_at end,
    attempt = case when d.last_grant is null then o.attempt else o.attempt + 1 end,
    session = case when d.last_grant is not null then d.session end,
    token = case when d.last_grant is not null then ${markedToken('d.token', 'o')} end,
    grant_no = d.last_grant,
    started_at = case when d.last_grant is not null then now() end,
    deadline_at = case when d.last_grant is not null then now() + o.timeout_ms * interval '1 millisecond' end,
    wake_at = case when d.last_grant is not null then now() + (o.timeout_ms + $4::bigint) * interval '1 millisecond'
      when o.attempt = 0 then o.expires_at end
  from (select d.id, d.session, d.token, g.last_grant from due d left join granted g on g.id = d.session) d
  where ${byKey('o.id', 'd.id')}
  returning o.*
),
counted as (${countPending('up', '', '$5')}),
c as (select * from up where status = 'RUNNING')
select ${takenColumns}, c.status, null::float8 as "dueAtMs" from c ${takenJoins}
union all
select up.id, null, null, null, null, null, null, up.tenant, up.queue, up.task_type, up.priority, up.gate,
  null, null, null, null, null, date_part('epoch', up.ready_at) * 1000, null, null, null, null, null, null, null, null,
  up.status,
  date_part('epoch', up.ready_at) * 1000
from up where up.status = 'PENDING'`,
}

/**
 * Ends what was to start before an instant that has passed, and never started. By whoever might promote it. Tasks of workflows are
 * only named: they end in a transaction of their workflow.
 */
const expire: Statement = {
  name: 'expire',
  text: `
with due as materialized (
  select o.id, o.workflow_id from unnest($1::uuid[], $3::bigint[]) as i (id, epoch) cross join lateral (
    select o.id, o.workflow_id from open_tasks o
    where o.id = i.id and ${statusGuard('expire', 'o.status')} and o.attempt = 0 and o.expires_at <= now()
      and (o.expires_at <= now() - ${late} or ${leads('i.epoch')})
    for update skip locked) o
),
gone as materialized (
  delete from open_tasks o using due i
  where ${byKey('o.id', 'i.id')} and i.workflow_id is null
  returning o.*
),${waitingEnd({ transition: `'expire'`, actor: `'timer'`, reason: `'expired'`, slot: '$2' })}
select id, tenant, queue, task_type as "taskType", false as "isNode" from gone
union all
select d.id, null, null, null, true from due d where d.workflow_id is not null`,
}

/** A task to act on, and the epoch at which the node leads its partition; null: it does not. */
export interface Led {
  readonly id: Uuid
  readonly epoch: number | null
}

/** A promotion: the task, and the waiting worker that shall get it at once. */
export interface Promotion extends Led {
  readonly handoff: HandOff | null
}

export interface PromoteResult {
  readonly ready: readonly Promoted[]
  readonly handedOff: readonly TakenTask[]
}

/** The time-ordered index, by partition. */
export class TimerStore {
  readonly #database: Database
  readonly #slot: number
  readonly #graceMs: number
  readonly #node: Uuid

  constructor(database: Database, options: { slot: number; graceMs: number; node: Uuid }) {
    this.#database = database
    this.#slot = options.slot
    this.#graceMs = options.graceMs
    this.#node = options.node
  }

  /** Timers within `horizonMs` of now (less than none: that late), at most `perPartition` of each partition and `limit` in all. */
  peek(
    partitions: readonly number[],
    options: { horizonMs: number; perPartition: number; limit: number },
  ): Promise<DueTimer[]> {
    const { horizonMs, perPartition, limit } = options
    return this.#database.hot<DueTimer>(peek, [int2Array(partitions), horizonMs, perPartition, limit])
  }

  /** Promotes those of the given tasks that are due. */
  async promote(promotions: readonly Promotion[]): Promise<PromoteResult> {
    const rows = await this.#database.surely<TakenRow & { status: string; dueAtMs: number }>(promote, [
      uuidArray(promotions.map((p) => p.id)),
      uuidArray(promotions.map((p) => p.handoff?.session ?? null)),
      bigintArray(promotions.map((p) => p.handoff?.token ?? null)),
      this.#graceMs,
      this.#slot,
      textArray(promotions.map((p) => p.handoff?.queue ?? null)),
      int8Array(promotions.map((p) => p.epoch)),
      this.#node,
    ])
    const ready: Promoted[] = []
    const handedOff: TakenTask[] = []
    for (const row of rows) {
      if (row.status === 'RUNNING') handedOff.push(takenFromRow(row))
      else ready.push({ ...row, priority: row.priority as 1 | 2 | 3 })
    }
    return { ready, handedOff }
  }

  /** Answers what it ended, and the tasks of workflows that are to be ended so. */
  async expire(tasks: readonly Led[]): Promise<{ readonly ended: EndedTask[]; readonly nodes: Uuid[] }> {
    const rows = await this.#database.hot<EndedTask & { readonly isNode: boolean }>(expire, [
      uuidArray(tasks.map(({ id }) => id)),
      this.#slot,
      int8Array(tasks.map(({ epoch }) => epoch)),
    ])
    const ended = rows.filter(({ isNode }) => !isNode).map(({ isNode: _, ...task }) => task)
    return { ended, nodes: rows.filter(({ isNode }) => isNode).map(({ id }) => id) }
  }
}
