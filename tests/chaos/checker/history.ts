import type { Priority, TaskStatus, TransitionName, Uuid } from '@duly/domain'
import type { ClientBase } from 'pg'

/** A task as the store has it after the run, with all that it kept of its past. Instants are epoch ms. */
export interface TaskHistory {
  readonly id: Uuid
  readonly mark: string | null
  readonly plan: string | null
  readonly maxRetries: number
  readonly idempotencyKey: string | null
  /** The recurring task that made it; null: a client did. */
  readonly cronId: Uuid | null
  /** Null when the task is neither open nor finished, which an invariant reports. */
  readonly status: TaskStatus | null
  readonly isOpen: boolean
  readonly attempt: number
  readonly run: number
  readonly failures: number
  readonly crashes: number
  readonly token: bigint | null
  readonly startedAt: number | null
  readonly completedAt: number | null
  /** Why it was cancelled. */
  readonly reason: string | null
  readonly result: string | null
  /** What the last attempt failed with. */
  readonly error: string | null
  readonly attempts: readonly AttemptHistory[]
  readonly events: readonly EventHistory[]
  /** Runs that a replay took back, oldest first. */
  readonly pastRuns: readonly PastRun[]
  /** The workflow that it is a task of. */
  readonly workflowId: Uuid | null
  readonly createdAt: number
  readonly queue: string
  readonly priority: Priority
  /** The number of the edit that its payload carries. */
  readonly edit: number | null
  /** When it left the dead letters for good. */
  readonly discardedAt: number | null
}

/** A run that a replay took back. */
export interface PastRun {
  readonly status: TaskStatus
  readonly reason: string | null
  /** The number of its last attempt. */
  readonly attempt: number
  readonly completedAt: number
  readonly archivedAt: number
}

/** An attempt that did not simply succeed. */
export interface AttemptHistory {
  readonly attempt: number
  readonly outcome: string
  readonly startedAt: number | null
  readonly endedAt: number
}

export interface EventHistory {
  readonly transition: TransitionName
  readonly from: TaskStatus | null
  readonly to: TaskStatus
}

type Row = Omit<TaskHistory, 'token'> & { readonly token: string | null }

/** Reads every task of a test database; sized for the tens of thousands that a fault test makes. */
export async function readHistory(client: ClientBase): Promise<readonly TaskHistory[]> {
  const { rows } = await client.query<Row>(HISTORY)
  return rows.map((row) => ({ ...row, token: row.token === null ? null : BigInt(row.token) }))
}

const HISTORY = `
with attempts as (
  select task_id, jsonb_agg(jsonb_build_object('attempt', attempt, 'outcome', outcome,
      'startedAt', extract(epoch from started_at) * 1000, 'endedAt', extract(epoch from ended_at) * 1000)
    order by attempt) as list
  from failed_attempts group by task_id
), events as (
  select task_id, jsonb_agg(jsonb_build_object('transition', transition, 'from', from_status, 'to', to_status)
    order by event_id) as list
  from task_events group by task_id
), archived as (
  select task_id, jsonb_agg(jsonb_build_object('status', status, 'reason', reason, 'attempt', attempt,
      'completedAt', extract(epoch from completed_at) * 1000, 'archivedAt', extract(epoch from archived_at) * 1000) order by run) as list
  from runs group by task_id
)
select t.id, t.payload::jsonb ->> 'mark' as mark, t.payload::jsonb ->> 'plan' as plan, t.max_retries as "maxRetries",
  t.idempotency_key as "idempotencyKey", t.cron_id as "cronId", u.reason, coalesce(u.status, o.status) as status, o.id is not null as "isOpen",
  coalesce(u.attempt, o.attempt, 0) as attempt, coalesce(u.run, o.run, 1) as run,
  coalesce(u.failures, o.failures, 0) as failures, coalesce(u.crashes, o.crashes, 0) as crashes,
  coalesce(u.token, o.token)::text as token,
  (extract(epoch from coalesce(u.started_at, o.started_at)) * 1000)::float8 as "startedAt",
  (extract(epoch from u.completed_at) * 1000)::float8 as "completedAt", u.result,
  concat_ws(': ', u.error_class, u.error_message) as error,
  coalesce(a.list, '[]') as attempts, coalesce(e.list, '[]') as events, coalesce(r.list, '[]') as "pastRuns",
  t.workflow_id as "workflowId", (extract(epoch from t.created_at) * 1000)::float8 as "createdAt",
  t.queue, t.priority, (t.payload::jsonb ->> 'edit')::int as edit,
  (extract(epoch from u.discarded_at) * 1000)::float8 as "discardedAt"
from tasks t
left join open_tasks o on o.id = t.id
left join outcomes u on u.id = t.id
left join attempts a on a.task_id = t.id
left join events e on e.task_id = t.id
left join archived r on r.task_id = t.id
order by t.id`
