import { type Lane, partitionOf, type TaskStatus, type TenantScope, type Uuid } from '@duly/domain'
import type { AttemptRecord, EndedTask, RunRecord, TaskRecord } from '../model.js'
import { changeBy } from './commits.js'
import type { Database, Statement } from './database.js'
import { int2Array, uuidArray } from './params.js'
import * as sql from './plain-change-sql.js'
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

const standing: Statement = {
  name: 'standing',
  text: `
select coalesce(u.status, o.status) as status, o.cancel_requested_at is not null as "cancelRequested",
  ${ms('u.completed_at', 'completedAtMs')}, u.discarded_at is not null as "isDiscarded", t.workflow_id as "workflowId"
from tasks t left join outcomes u on u.id = t.id left join open_tasks o on o.id = t.id
where t.id = $1 and ${ofTenant('t.tenant', '$2')}`,
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
    const values = [uuidArray([id]), actor, reason, reason, this.#slot, tenant]
    const [row] = await changeBy<EndedTask & { cancelledAtMs: number }>(this.#database, sql.cancelWaiting, values)
    return row ?? null
  }

  /** The session whose running attempt is marked now, or null: it was not running, or marked before. */
  async requestCancel(id: Uuid, tenant: TenantScope, { actor, reason }: Because): Promise<Uuid | null> {
    const values = [uuidArray([id]), actor, reason, reason, this.#graceMs, tenant]
    const [row] = await changeBy<{ session: Uuid }>(this.#database, sql.requestCancel, values)
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
    const values = [uuidArray([id]), int2Array([partitionOf(id)]), actor, null, this.#slot, tenant, null]
    const [row] = await changeBy<Lane>(this.#database, sql.replay, values)
    return row ? { queue: row.queue, priority: row.priority, tenant: row.tenant, gate: row.gate } : null
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
