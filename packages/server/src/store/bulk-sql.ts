import { statusGuard } from '@duly/domain'
import { byKey, type Statement } from './database.js'
import { countLetters } from './dead-letter-sql.js'
import { ms } from './record-sql.js'
import { ofTenant } from './tenant-scope.js'

const columns = `
  b.id, b.action, b.source, b.filter, b.tenant, b.actor, b.status, b.matched::float8 as matched, b.done::float8 as done,
  b.skipped::float8 as skipped, b.failed::float8 as failed, b.error, ${ms('b.created_at', 'createdAtMs')},
  ${ms('b.updated_at', 'updatedAtMs')}, ${ms('b.completed_at', 'completedAtMs')}`

/** Unless the tenant, or those who are bound to none, have $7 running already. */
export const create: Statement = {
  name: 'create_bulk',
  text: `
insert into bulk_operations as b (id, action, source, filter, tenant, actor)
select $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text
where (select count(*) from bulk_operations r where r.runnable_at is not null and r.tenant is not distinct from $5::text)
  < $7::integer
returning ${columns}`,
}

export const read: Statement = {
  name: 'read_bulk',
  text: `select ${columns} from bulk_operations b where b.id = $1 and ${ofTenant('b.tenant', '$2')}`,
}

export const list: Statement = {
  name: 'list_bulk',
  text: `
select ${columns} from bulk_operations b
where ${ofTenant('b.tenant', '$1')} and ($2::uuid is null or b.id < $2) order by b.id desc limit $3`,
}

export const cancel: Statement = {
  name: 'cancel_bulk',
  text: `
update bulk_operations b set status = 'CANCELLED', completed_at = now(), updated_at = now(), runnable_at = null
where b.id = $1 and b.status = 'RUNNING' and ${ofTenant('b.tenant', '$2')}
returning ${columns}`,
}

/** Right behind an instant, to the microsecond: what happened then is an operation's matter that began then. */
const cutoff = (at: string): string =>
  `to_char((${at} + interval '1 microsecond') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

const lease = (ms: string): string => `now() + ${ms}::bigint * interval '1 millisecond'`

/** The one that has waited longest, of those that nobody works at. */
export const take: Statement = {
  name: 'take_bulk',
  text: `
update bulk_operations b set runnable_at = ${lease('$1')}, epoch = b.epoch + 1
where b.id = (
  select r.id from bulk_operations r where r.runnable_at <= now() order by r.runnable_at limit 1 for update skip locked)
returning ${columns}, b.epoch::float8 as epoch, b.place,
  ${cutoff('b.created_at')} as cutoff`,
}

const held = `b.id = $1 and b.epoch = $2 and b.status = 'RUNNING'`

/** How far it came, and a fresh lease; nothing if it was cancelled or another node has it. */
export const advance: Statement = {
  name: 'advance_bulk',
  text: `
update bulk_operations b set place = $3, matched = b.matched + $4, done = b.done + $5, skipped = b.skipped + $6,
  failed = b.failed + $7, error = coalesce($8::text, b.error), updated_at = now(), runnable_at = ${lease('$9')}
where ${held} returning b.id`,
}

/** Anybody may go on with it, behind those that wait longer. */
export const release: Statement = {
  name: 'release_bulk',
  text: `update bulk_operations b set runnable_at = now() where ${held}`,
}

export const end: Statement = {
  name: 'end_bulk',
  text: `
update bulk_operations b set status = $3, error = coalesce($4::text, b.error), completed_at = now(), updated_at = now(),
  runnable_at = null
where ${held} returning b.id`,
}

/** The store's clock as a cutoff. */
export const now: Statement = {
  name: 'bulk_cutoff',
  text: `select ${cutoff('now()')} as cutoff`,
}

/*
 * What is done to the plain tasks of a batch, one statement each; tasks of workflows go through their service. $1 ids, $2 actor,
 * $3 reason in the trail.
 */

/** $4 slot. */
export const cancelWaiting: Statement = {
  name: 'bulk_cancel_waiting',
  text: `
with gone as materialized (
  delete from open_tasks o
  where o.id = any ($1::uuid[]) and ${statusGuard('cancel', 'o.status')} and o.workflow_id is null
  returning o.*
),
outcome as (
  insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run, reason)
  select id, 'CANCELLED', now(), attempt, failures, crashes, undelivered, snoozes, releases, run, 'cancelled' from gone
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, actor, reason)
  select id, now(), 'cancel', status, 'CANCELLED', $2, $3 from gone
),
counted as (
  insert into counters (queue, priority, tenant, gate, slot, depth)
  select queue, priority, tenant, gate, $4::integer, -count(*) from gone where status = 'PENDING'
  group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (queue, priority, tenant, gate, slot) do update set depth = counters.depth + excluded.depth
)
select id, tenant, queue, task_type as "taskType" from gone`,
}

/** $4 grace. */
export const requestCancel: Statement = {
  name: 'bulk_request_cancel',
  text: `
with marked as (
  update open_tasks o set cancel_requested_at = now(), cancel_reason = 'cancel_requested',
    wake_at = least(o.wake_at, now() + $4::bigint * interval '1 millisecond')
  where o.id = any ($1::uuid[]) and ${statusGuard('request_cancel', 'o.status')} and o.cancel_requested_at is null
    and o.workflow_id is null
  returning o.id, o.attempt, o.session
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, attempt, actor, reason)
  select id, now(), 'request_cancel', 'RUNNING', 'RUNNING', attempt, $2, $3 from marked
)
select id, session from marked`,
}

/** Which of these have neither ended nor been marked: they moved while they were looked at. */
export const unmoved: Statement = {
  name: 'bulk_unmoved',
  text: `
select o.id from open_tasks o
where o.id = any ($1::uuid[]) and o.cancel_requested_at is null and o.workflow_id is null`,
}

/** $4 slot, $5 only what ended before this, $6 the partitions of the ids. */
export const replay: Statement = {
  name: 'bulk_replay',
  text: `
with plain as materialized (
  select t.*, i.partition from (select unnest($1::uuid[]) as id, unnest($6::smallint[]) as partition) i
  cross join lateral (select t.* from tasks t where t.id = i.id limit 1) t
  where t.workflow_id is null
),
gone as materialized (
  delete from outcomes u using plain p
  where ${byKey('u.id', 'p.id')} and ${statusGuard('replay', 'u.status')} and u.discarded_at is null
    and u.completed_at < $5::timestamptz
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
  select p.id, p.partition, 'PENDING', p.tenant, p.queue, p.task_type, p.priority, now(), p.timeout_ms,
    p.result_ttl_ms, p.concurrency_key, p.workflow_id, p.cron_id, g.attempt, 0, 0, g.releases, g.run + 1
  from gone g join plain p on p.id = g.id
  returning id, queue, priority, tenant, gate, task_type
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, attempt, actor, reason)
  select id, now(), 'replay', status, 'PENDING', null, $2, $3 from gone
),
counted as (
  insert into counters (queue, priority, tenant, gate, slot, depth)
  select queue, priority, tenant, gate, $4::integer, count(*) from again group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (queue, priority, tenant, gate, slot) do update set depth = counters.depth + excluded.depth
)
select id, queue, priority, tenant, gate, task_type as "taskType" from again`,
}
