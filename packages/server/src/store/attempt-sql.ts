import { errorRules, statusGuard } from '@duly/domain'
import { byKey, type Statement, unnested } from './database.js'
import { countLetters } from './dead-letter-sql.js'
import { countPending } from './transition-parts.js'

// The id as a list of one, the session by "is not distinct from": see `byKey` in database.ts.
const holdsFence = (alias: string) => `
  ${byKey('o.id', `${alias}.id`)} and ${statusGuard('succeed', 'o.status')} and o.session is not distinct from ${alias}.session
  and o.attempt = ${alias}.attempt and o.token = ${alias}.token`

const holdsLease = (alias: string) => `
  ${holdsFence(alias)}
  and case ${alias}.condition
    when 'lost' then not exists (select 1 from worker_sessions s where s.id = o.session and s.ended_at is null
      and s.live_until > (select duly_judged_now()))
    when 'overdue' then o.wake_at <= now()
    when 'unrepeated' then abs(extract(epoch from o.deadline_at - ${alias}.granted_until)) < 0.001
    else true end`

const fenceColumns = [
  ['id', 'uuid'],
  ['session', 'uuid'],
  ['attempt', 'integer'],
  ['token', 'bigint'],
] as const

/** What every end of an attempt brings, in the order of the parameters. */
const endColumns = [
  ...fenceColumns,
  ['condition', 'text'],
  ['granted_until', 'timestamptz'],
  ['transition', 'text'],
  ['actor', 'text'],
  ['reason', 'text'],
  ['worker_name', 'text'],
  ['error_class', 'text'],
  ['error_message', 'text'],
  ['error_stack', 'text'],
  ['failures', 'integer'],
  ['crashes', 'integer'],
  ['undelivered', 'integer'],
  ['attempt_outcome', 'text'],
] as const

/**
 * A task of a workflow ends in a transaction that holds its workflow, and says so by the parameter: else its children would not be told
 * (ADR 19).
 */
const mayEnd = (parameter: string): string => `(o.workflow_id is null or ${parameter}::boolean)`

/** What is told of a task that ended, from `gone`. */
const goneColumns = `
  id, session, attempt, token, final as status, tenant, queue, task_type as "taskType", priority, gate, partition,
  workflow_id as "workflowId", date_part('epoch', started_at) * 1000 as "startedAtMs", null as "dueAtMs"`

/** The usual end, by itself: a third of the parameters and two writes in place of five halve the cost of a small batch. */
export const succeed: Statement = {
  name: 'succeed',
  text: `
with gone as materialized (
  delete from open_tasks o
  using (${unnested([...fenceColumns, ['worker_name', 'text'], ['result', 'text']])}) i
  where ${holdsFence('i')} and ${mayEnd('$7')}
  returning o.*, i.worker_name, i.result, 'SUCCEEDED' as final
),
outcome as (
  insert into outcomes (id, status, completed_at, started_at, attempt, failures, crashes, undelivered, snoozes, releases,
    run, session, token, worker_name, result, result_expires_at)
  select id, final, now(), started_at, attempt, failures, crashes, undelivered, snoozes, releases, run, session, token,
    worker_name, result, case when result is not null then now() + result_ttl_ms * interval '1 millisecond' end
  from gone
)
select ${goneColumns} from gone`,
}

/**
 * Ends tasks: the open row goes, the outcome comes, in one statement (a task is in exactly one of the two). Of a task
 * whose cancellation was asked for, only a success or a permanent failure stands; all else ends CANCELLED, and nothing else
 * does.
 */
export const finish: Statement = {
  name: 'finish',
  text: `
with gone as materialized (
  delete from open_tasks o
  using (${unnested([...endColumns, ['final', 'text'], ['result', 'text'], ['error_pattern', 'text']])}) i
  where ${holdsLease('i')} and (i.final <> 'CANCELLED' or o.cancel_requested_at is not null) and ${mayEnd('$22')}
  returning o.id, o.tenant, o.queue, o.task_type, o.priority, o.gate, o.attempt, o.snoozes, o.releases, o.run, o.session,
    o.token, o.started_at, o.partition, o.workflow_id, o.result_ttl_ms, i.worker_name, i.error_class, i.error_message, i.error_stack,
    coalesce(i.failures, o.failures) as failures, coalesce(i.crashes, o.crashes) as crashes,
    coalesce(i.undelivered, o.undelivered) as undelivered, i.result, i.error_pattern, i.actor, i.transition,
    case when o.cancel_requested_at is not null and i.final not in ('SUCCEEDED', 'FAILED') then 'CANCELLED' else i.final
      end as final,
    case when o.cancel_requested_at is not null and i.final not in ('SUCCEEDED', 'FAILED')
      then coalesce(o.cancel_reason, 'cancel_requested') else i.reason end as reason,
    case when o.cancel_requested_at is not null and i.attempt_outcome is null and i.final <> 'SUCCEEDED' then 'cancelled'
      else i.attempt_outcome end as attempt_outcome
),
outcome as (
  insert into outcomes (id, status, completed_at, started_at, attempt, failures, crashes, undelivered, snoozes, releases,
    run, session, token, worker_name, reason, error_class, error_message, error_stack, result, result_expires_at)
  select id, final, now(), started_at, attempt, failures, crashes, undelivered, snoozes, releases, run, session, token,
    worker_name, reason, error_class, error_message, error_stack, result,
    case when result is not null then now() + result_ttl_ms * interval '1 millisecond' end
  from gone
),
attempt as (
  insert into failed_attempts (task_id, attempt, run, outcome, session, token, worker_name, started_at, ended_at,
    error_class, error_message, error_stack)
  select id, attempt, run, attempt_outcome, session, token, worker_name, started_at, now(), error_class, error_message,
    error_stack
  from gone where attempt_outcome is not null
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, attempt, actor, reason)
  select id, now(), transition, 'RUNNING', final, attempt, actor, reason from gone where final <> 'SUCCEEDED'
),
dead as (
  insert into dead_letters (task_id, tenant, queue, task_type, died_at, error_class, error_message, error_pattern, fingerprint, pattern_rules)
  select id, tenant, queue, task_type, now(), error_class, error_message, error_pattern,
    duly_fingerprint(queue, task_type, coalesce(error_class, ''), error_pattern), ${errorRules}
  from gone where final = 'DEAD'
  returning tenant, queue, task_type, fingerprint
),
letters_counted as (${countLetters('dead', '', '$21')})
select ${goneColumns} from gone`,
}

/** Attempts that end while their task goes on. A task whose cancellation was asked for does not: finish ends it. */
export const reopen: Statement = {
  name: 'reopen',
  text: `
with input as materialized (
  ${unnested([
    ...endColumns,
    ['next', 'text'],
    ['delay_ms', 'bigint'],
    ['snoozes', 'integer'],
    ['releases', 'integer'],
    ['gate', 'text'],
    ['delay_wished', 'boolean'],
  ])}
),
held as materialized (
  select i.*, h.started_at, h.run from input i cross join lateral (
    select o.started_at, o.run from open_tasks o where ${holdsLease('i')} and o.cancel_requested_at is null for update
  ) h
),
back as materialized (
  update open_tasks o
  set status = h.next, failures = h.failures, crashes = h.crashes, undelivered = h.undelivered, snoozes = h.snoozes,
    releases = h.releases, gate = h.gate, lane_version = o.lane_version + 1,
    previous_delay_ms = case when h.next = 'RETRYING' then h.delay_ms else o.previous_delay_ms end,
    due_at = now() + h.delay_ms * interval '1 millisecond', wake_at = now() + h.delay_ms * interval '1 millisecond',
    ready_at = case when h.next = 'PENDING' then now() end,
    session = null, token = null, grant_no = null, started_at = null, deadline_at = null
  from held h
  where ${byKey('o.id', 'h.id')} and o.session is not distinct from h.session and o.attempt = h.attempt and o.token = h.token
  returning o.id, o.status, o.tenant, o.queue, o.task_type, o.priority, o.gate, o.attempt, o.due_at, o.partition,
    o.workflow_id, o.run, h.session, h.token, h.started_at, h.transition, h.actor, h.reason, h.worker_name,
    h.attempt_outcome, h.error_class, h.error_message, h.error_stack, h.delay_ms, h.delay_wished
),
attempt as (
  insert into failed_attempts (task_id, attempt, run, outcome, session, token, worker_name, started_at, ended_at,
    error_class, error_message, error_stack, retry_delay_ms, delay_wished)
  select id, attempt, run, attempt_outcome, session, token, worker_name, started_at, now(), error_class, error_message,
    error_stack, delay_ms, delay_wished
  from back
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, attempt, actor, reason)
  select id, now(), transition, 'RUNNING', status, attempt, actor, reason from back
),
counted as (${countPending('back', '', '$24')})
select id, session, attempt, token, status, tenant, queue, task_type as "taskType", priority, gate, partition,
  workflow_id as "workflowId", null as "startedAtMs", date_part('epoch', due_at) * 1000 as "dueAtMs"
from back`,
}

const judgedColumns = `
  o.id, o.session, o.attempt, o.token, o.failures, o.crashes, o.undelivered, o.snoozes, o.releases, o.gate,
  o.grant_no as "grant", o.cancel_requested_at is not null as "cancelRequested",
  o.previous_delay_ms::float8 as "previousDelayMs", t.max_retries as "maxRetries", t.retry_backoff as backoff,
  t.retry_jitter as jitter, t.retry_delay_ms::float8 as "retryDelayMs",
  t.retry_max_delay_ms::float8 as "retryMaxDelayMs", o.timeout_ms::float8 as "timeoutMs",
  o.deadline_at <= now() as "deadlinePassed"`

/** By key, whatever the statistics were when the plan was made. */
const joinTask = 'cross join lateral (select t.* from tasks t where t.id = o.id limit 1) t'

export const judgeReported: Statement = {
  name: 'judge_reported',
  text: `
select ${judgedColumns}
from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::bigint[]) as i (id, session, attempt, token)
join open_tasks o on ${byKey('o.id', 'i.id')} and o.session is not distinct from i.session and o.attempt = i.attempt
  and o.token = i.token
${joinTask}`,
}

/** Running tasks past their deadline or the grace of their cancellation: what the watchdog ends. */
export const judgeOverdue: Statement = {
  name: 'judge_overdue',
  text: `
select ${judgedColumns}
from (
  select * from open_tasks o
  where o.wake_at <= now() and o.deadline_at is not null and (select judge_after <= now() from store_marks)
  order by o.wake_at limit $1
) o
${joinTask}
limit $1`,
}

/** Tasks of one dead session. */
export const judgeLost: Statement = {
  name: 'judge_lost',
  text: `
select ${judgedColumns}
from open_tasks o
${joinTask}
where o.session = $1 and not exists (select 1 from worker_sessions s where s.id = $1 and s.ended_at is null
  and s.live_until > (select duly_judged_now()))
limit $2`,
}

/**
 * Ends of these very attempts that a lost answer hides: outcomes for the last ones, failed_attempts for the others. What the
 * watchdog ended is no such end: a report that comes after it is late.
 */
export const readEnded: Statement = {
  name: 'read_ended',
  text: `
select i.id, i.session, i.attempt, i.token, coalesce(u.status, o.status, v.status) as status,
  coalesce(f.outcome, 'succeeded') as outcome
from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::bigint[]) as i (id, session, attempt, token)
left join lateral (select u.id, u.status from outcomes u
  where u.id = i.id and u.session = i.session and u.attempt = i.attempt and u.token = i.token limit 1) u on true
left join lateral (select f.task_id, f.outcome from failed_attempts f
  where f.task_id = i.id and f.attempt = i.attempt and f.session = i.session and f.token = i.token
    and f.outcome not in ('lost', 'undelivered') limit 1) f on true
left join lateral (select o.status from open_tasks o where o.id = f.task_id limit 1) o on true
left join lateral (select v.status from outcomes v where v.id = f.task_id limit 1) v on true
where (u.id is not null or f.task_id is not null)
  and (select true from task_events e
    where e.task_id = i.id and e.attempt = i.attempt and e.actor = 'watchdog' limit 1) is null`,
}
