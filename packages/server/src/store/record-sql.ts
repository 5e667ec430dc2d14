/** An instant as epoch ms under a name of ours. */
export const ms = (expression: string, name: string): string => `date_part('epoch', ${expression}) * 1000 as "${name}"`

/** Everything that is told of a task wherever it stands, but its payload, its result and the stack of its error. */
export const summaryColumns = `
  t.id, coalesce(u.status, o.status) as status, t.tenant, t.task_type as "taskType", t.queue, t.priority,
  t.metadata, t.tags, ${ms('t.created_at', 'createdAtMs')}, ${ms('t.scheduled_at', 'scheduledAtMs')},
  ${ms('o.due_at', 'dueAtMs')}, ${ms('t.expires_at', 'expiresAtMs')},
  ${ms('coalesce(u.started_at, o.started_at)', 'startedAtMs')}, ${ms('u.completed_at', 'completedAtMs')}, ${ms('u.discarded_at', 'discardedAtMs')},
  t.max_retries as "maxRetries", t.retry_backoff as backoff, t.retry_jitter as jitter,
  t.retry_delay_ms::float8 as "retryDelayMs", t.retry_max_delay_ms::float8 as "retryMaxDelayMs",
  t.timeout_ms::float8 as "timeoutMs",
  (coalesce(u.attempt, o.attempt) - (select count(*) from failed_attempts n
    where n.task_id = t.id and n.outcome = 'undelivered'))::integer as attempts,
  coalesce(u.failures, o.failures) as failures, coalesce(u.crashes, o.crashes) as crashes,
  coalesce(o.cancel_requested_at is not null, false) as "cancelRequested", coalesce(u.reason, o.cancel_reason) as reason,
  coalesce(u.session, o.session) as "workerId", coalesce(u.worker_name, w.name) as "workerName",
  coalesce(u.error_class, f.error_class) as "errorClass", coalesce(u.error_message, f.error_message) as "errorMessage",
  t.idempotency_key as "idempotencyKey", t.concurrency_key as "concurrencyKey", t.workflow_id as "workflowId",
  t.node_name as "nodeName", t.cron_id as "cronId", t.traceparent, p.percent, p.note`

/** Joins of `summaryColumns` to a task `t`, each a look by key whatever the plan was made on. */
export const summaryJoins = `
left join lateral (select u.* from outcomes u where u.id = t.id limit 1) u on true
left join lateral (select o.* from open_tasks o where o.id = t.id limit 1) o on true
left join lateral (select w.name from worker_sessions w where w.id = o.session limit 1) w on true
left join lateral (select p.percent, p.note from task_progress p where p.task_id = t.id limit 1) p on true
left join lateral (
  select a.error_class, a.error_message, a.error_stack from failed_attempts a
  where a.task_id = t.id and u.id is null and a.run = o.run and a.error_class is not null
  order by a.attempt desc limit 1) f on true`

/** An error as its columns have it. */
export interface ErrorColumns {
  readonly errorClass: string | null
  readonly errorMessage: string | null
  readonly errorStack: string | null
}

export const errorOf = ({ errorClass, errorMessage, errorStack }: ErrorColumns) =>
  errorClass === null ? null : { class: errorClass, message: errorMessage ?? '', stack: errorStack }

/** Progress as its columns have it. */
export interface ProgressColumns {
  readonly percent: number | null
  readonly note: string | null
}

export const progressOf = ({ percent, note }: ProgressColumns) => (percent === null ? null : { percent, note })
