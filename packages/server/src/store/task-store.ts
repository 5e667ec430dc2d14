import { type Lane, partitionOf, statusGuard, type TaskStatus, type TenantScope, type Uuid } from '@duly/domain'
import type { AttemptRecord, EndedTask, RunRecord, TaskRecord } from '../model.js'
import type { Database, Statement } from './database.js'
import { countLetters } from './dead-letter-sql.js'
import { uuidArray } from './params.js'
import {
  type ErrorColumns,
  errorOf,
  ms,
  type ProgressColumns,
  progressOf,
  summaryColumns,
  summaryJoins,
} from './record-sql.js'
import { ofTenant } from './tenant-scope.js'
import { readTrail, type TrailFacts } from './trail-store.js'

/** One task as a row, wherever it stands. */
const read: Statement = {
  name: 'read_task',
  text: `
select ${summaryColumns}, t.payload, coalesce(u.error_stack, f.error_stack) as "errorStack",
  case when t.result_ttl_ms is null or u.completed_at + t.result_ttl_ms * interval '1 millisecond' > now()
    then u.result end as result
from tasks t ${summaryJoins}
where t.id = $1 and ${ofTenant('t.tenant', '$2')}`,
}

const finishedOf: Statement = {
  name: 'finished_of',
  text: `
select u.id from unnest($1::uuid[]) as i (id) join outcomes u on u.id = i.id
union all
select w.id from unnest($1::uuid[]) as i (id) join workflows w on w.id = i.id where w.status <> 'RUNNING'`,
}

const cancelWaiting: Statement = {
  name: 'cancel_waiting',
  text: `
with gone as materialized (
  delete from open_tasks o
  where o.id = $1 and ${statusGuard('cancel', 'o.status')} and o.workflow_id is null and ${ofTenant('o.tenant', '$5')}
  returning o.*
),
outcome as (
  insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run, reason)
  select id, 'CANCELLED', now(), attempt, failures, crashes, undelivered, snoozes, releases, run, $3 from gone
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, actor, reason)
  select id, now(), 'cancel', status, 'CANCELLED', $2, $3 from gone
),
counted as (
  insert into counters (queue, priority, tenant, gate, slot, depth)
  select queue, priority, tenant, gate, $4::integer, -1 from gone where status = 'PENDING'
  on conflict (queue, priority, tenant, gate, slot) do update set depth = counters.depth + excluded.depth
)
select id, tenant, queue, task_type as "taskType", date_part('epoch', now()) * 1000 as "cancelledAtMs" from gone`,
}

/** Marks a running attempt; its grace begins at once, so the watchdog ends what ignores the signal. */
const requestCancel: Statement = {
  name: 'request_cancel',
  text: `
with marked as (
  update open_tasks o set cancel_requested_at = now(), cancel_reason = $3,
    wake_at = least(o.wake_at, now() + $4::bigint * interval '1 millisecond')
  where o.id = $1 and ${statusGuard('request_cancel', 'o.status')} and o.cancel_requested_at is null
    and ${ofTenant('o.tenant', '$5')}
  returning o.id, o.attempt, o.session
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, attempt, actor, reason)
  select id, now(), 'request_cancel', 'RUNNING', 'RUNNING', attempt, $2, $3 from marked
)
select session from marked`,
}

const standing: Statement = {
  name: 'standing',
  text: `
select coalesce(u.status, o.status) as status, o.cancel_requested_at is not null as "cancelRequested",
  ${ms('u.completed_at', 'completedAtMs')}, u.discarded_at is not null as "isDiscarded", t.workflow_id as "workflowId"
from tasks t left join outcomes u on u.id = t.id left join open_tasks o on o.id = t.id
where t.id = $1 and ${ofTenant('t.tenant', '$2')}`,
}

/**
 * Replay: deleting the outcome is the compare-and-set; the run is archived, the dead letter goes, the open row comes back
 * with its retries restored. So there is one accepted outcome per run.
 */
const replay: Statement = {
  name: 'replay',
  text: `
with gone as materialized (
  delete from outcomes u
  where u.id = $1 and ${statusGuard('replay', 'u.status')} and u.discarded_at is null
    and (select t.workflow_id is null and ${ofTenant('t.tenant', '$5')} from tasks t where t.id = $1)
  returning u.*
),
archived as (
  insert into runs (task_id, run, archived_at, status, completed_at, started_at, attempt, failures, crashes, session,
    worker_name, reason, error_class, error_message, error_stack, result)
  select id, run, now(), status, completed_at, started_at, attempt, failures, crashes, session, worker_name, reason,
    error_class, error_message, error_stack, result
  from gone
),
buried as (
  delete from dead_letters d using gone g where d.task_id = g.id returning d.tenant, d.queue, d.task_type, d.fingerprint
),
letters_counted as (${countLetters('buried', '-', '$4')}),
again as (
  insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, ready_at, timeout_ms,
    result_ttl_ms, concurrency_key, workflow_id, cron_id, attempt, undelivered, snoozes, releases, run)
  select t.id, $3::smallint, 'PENDING', t.tenant, t.queue, t.task_type, t.priority, now(), t.timeout_ms,
    t.result_ttl_ms, t.concurrency_key, t.workflow_id, t.cron_id, g.attempt, 0, 0, g.releases, g.run + 1
  from gone g join tasks t on t.id = g.id
  returning id, queue, priority, tenant, gate
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, attempt, actor, reason)
  select id, now(), 'replay', status, 'PENDING', null, $2, null from gone
),
counted as (
  insert into counters (queue, priority, tenant, gate, slot, depth)
  select queue, priority, tenant, gate, $4::integer, 1 from again
  on conflict (queue, priority, tenant, gate, slot) do update set depth = counters.depth + excluded.depth
)
select queue, priority, tenant, gate from again`,
}

const attempts: Statement = {
  name: 'read_attempts',
  text: `
select a.* from (
  select f.attempt, f.run, f.session as "workerId", f.worker_name as "workerName",
    ${ms('f.started_at', 'startedAtMs')}, ${ms('f.ended_at', 'endedAtMs')}, f.outcome,
    f.error_class as "errorClass", f.error_message as "errorMessage", f.error_stack as "errorStack",
    f.retry_delay_ms::float8 as "retryDelayMs"
  from failed_attempts f where f.task_id = $1 and f.outcome <> 'undelivered'
  union all
  select u.attempt, u.run, u.session, u.worker_name, ${ms('u.started_at', 's')}, ${ms('u.completed_at', 'c')}, 'succeeded',
    null, null, null, null
  from outcomes u where u.id = $1 and u.status = 'SUCCEEDED'
  union all
  select o.attempt, o.run, o.session, w.name, ${ms('o.started_at', 's')}, null, 'running', null, null, null, null
  from open_tasks o left join worker_sessions w on w.id = o.session where o.id = $1 and o.status = 'RUNNING'
) a
order by a.attempt limit $2`,
}

/** The current run, and what replays archived. */
const runs: Statement = {
  name: 'read_runs',
  text: `
select r.* from (
  select coalesce(u.run, o.run) as run, coalesce(u.status, o.status) as status,
    ${ms('coalesce(u.started_at, o.started_at)', 'startedAtMs')}, ${ms('u.completed_at', 'completedAtMs')},
    null::float8 as "replayedAtMs", coalesce(u.attempt, o.attempt) as "lastAttempt",
    coalesce(u.failures, o.failures) as failures, coalesce(u.crashes, o.crashes) as crashes,
    coalesce(u.reason, o.cancel_reason) as reason, coalesce(u.session, o.session) as "workerId",
    coalesce(u.worker_name, w.name) as "workerName", u.error_class as "errorClass", u.error_message as "errorMessage",
    u.error_stack as "errorStack"
  from tasks t left join outcomes u on u.id = t.id left join open_tasks o on o.id = t.id
  left join worker_sessions w on w.id = o.session where t.id = $1
  union all
  select a.run, a.status, ${ms('a.started_at', 's')}, ${ms('a.completed_at', 'c')}, ${ms('a.archived_at', 'a')}, a.attempt,
    a.failures, a.crashes, a.reason, a.session, a.worker_name, a.error_class, a.error_message, a.error_stack
  from runs a where a.task_id = $1 and a.run < coalesce($2::integer, 2147483647)
) r
where r.run < coalesce($2::integer, 2147483647) order by r.run desc limit $3::integer`,
}

/** The most attempts and written events that one answer looks at; only replays can lead beyond it. */
const historyLimit = 10_000

/** Where a task stands. */
export interface Standing {
  readonly status: TaskStatus
  readonly cancelRequested: boolean
  readonly completedAtMs: number | null
  readonly isDiscarded: boolean
  readonly workflowId: Uuid | null
}

/** What the trail says of a change. */
interface Because {
  readonly actor: string
  readonly reason: string
}

/** Reads of single tasks, and the changes that the API makes to them. What is not of the caller's tenant is not there. */
export class TaskStore {
  readonly #database: Database
  readonly #slot: number
  readonly #graceMs: number

  constructor(database: Database, options: { slot: number; graceMs: number }) {
    this.#database = database
    this.#slot = options.slot
    this.#graceMs = options.graceMs
  }

  async read(id: Uuid, tenant: TenantScope): Promise<TaskRecord | null> {
    type RecordRow = Omit<TaskRecord, 'error' | 'progress' | 'tags'> &
      ErrorColumns &
      ProgressColumns & { tags: string[] | null }
    const [row] = await this.#database.query<RecordRow>(read, [id, tenant])
    if (!row) return null
    const { errorClass, errorMessage, errorStack, percent, note, tags, ...record } = row
    return {
      ...record,
      tags: tags ?? [],
      error: errorOf({ errorClass, errorMessage, errorStack }),
      progress: progressOf({ percent, note }),
    }
  }

  /** Which of these have an outcome. */
  async finishedOf(ids: readonly Uuid[]): Promise<Uuid[]> {
    const rows = await this.#database.query<{ id: Uuid }>(finishedOf, [uuidArray(ids)])
    return rows.map((row) => row.id)
  }

  /** What was cancelled, and when; null: it was not waiting, or belongs to a workflow. */
  async cancelWaiting(
    id: Uuid,
    tenant: TenantScope,
    { actor, reason }: Because,
  ): Promise<(EndedTask & { readonly cancelledAtMs: number }) | null> {
    const values = [id, actor, reason, this.#slot, tenant]
    const [row] = await this.#database.query<EndedTask & { cancelledAtMs: number }>(cancelWaiting, values)
    return row ?? null
  }

  /** The session whose running attempt is marked now, or null: it was not running, or marked before. */
  async requestCancel(id: Uuid, tenant: TenantScope, { actor, reason }: Because): Promise<Uuid | null> {
    const values = [id, actor, reason, this.#graceMs, tenant]
    const [row] = await this.#database.query<{ session: Uuid }>(requestCancel, values)
    return row?.session ?? null
  }

  async standing(id: Uuid, tenant: TenantScope): Promise<Standing | null> {
    const [row] = await this.#database.query<Omit<Standing, 'status'> & { status: TaskStatus | null }>(standing, [
      id,
      tenant,
    ])
    return row?.status ? { ...row, status: row.status } : null
  }

  /** The lane that the task is back in, or null: it was in no state to be replayed, or belongs to a workflow. */
  async replay(id: Uuid, tenant: TenantScope, actor: string): Promise<Lane | null> {
    const values = [id, actor, partitionOf(id), this.#slot, tenant]
    const [row] = await this.#database.query<Lane>(replay, values)
    return row ?? null
  }

  async attempts(id: Uuid): Promise<AttemptRecord[]> {
    const rows = await this.#database.query<Omit<AttemptRecord, 'error'> & ErrorColumns>(attempts, [id, historyLimit])
    return rows.map(({ errorClass, errorMessage, errorStack, ...row }) => ({
      ...row,
      error: errorOf({ errorClass, errorMessage, errorStack }),
    }))
  }

  /** The newest of the runs whose numbers are smaller than `before` (null: of all). */
  async runs(id: Uuid, { before, limit }: { before: number | null; limit: number }): Promise<RunRecord[]> {
    const rows = await this.#database.query<Omit<RunRecord, 'error'> & ErrorColumns>(runs, [id, before, limit])
    return rows.map(({ errorClass, errorMessage, errorStack, ...row }) => ({
      ...row,
      error: errorOf({ errorClass, errorMessage, errorStack }),
    }))
  }

  /** What the trail of the task is told from; null: there is no such task. */
  async trail(id: Uuid, tenant: TenantScope): Promise<TrailFacts | null> {
    const [row] = await this.#database.query<TrailFacts>(readTrail, [id, historyLimit, tenant])
    return row ?? null
  }
}
