import { statusGuard } from '@duly/domain'
import { byKey, type Statement } from './database.js'

/*
 * What the policy cancel_running does to the earlier tasks of a recurring one: a bounded number of them in one transaction.
 */

/**
 * Holds up to $2 unfinished tasks of these definitions where they stand, so that what is cancelled next misses none of them. Those that
 * run and were told to stop before are passed by. `found` below $2: there are no others.
 */
export const lockOpen: Statement = {
  name: 'lock_cron_open',
  text: `
with mine as materialized (
  select o.id from unnest($1::uuid[]) as i (id)
  cross join lateral (
    select o.id from open_tasks o
    where ${byKey('o.cron_id', 'i.id')} and (o.status <> 'RUNNING' or o.cancel_requested_at is null) limit $2::integer) o
  limit $2::integer
)
select (select count(*)::integer from mine) as found, h.id
from (select true) one left join (
  select o.id from (select m.id from mine m order by m.id) m
  cross join lateral (select o.id from open_tasks o where ${byKey('o.id', 'm.id')} for update) o
) h on true`,
}

/** Of these tasks, those that wait. */
export const cancelWaiting: Statement = {
  name: 'cancel_cron_waiting',
  text: `
with gone as materialized (
  delete from open_tasks o using (select unnest($1::uuid[]) as id) i
  where ${byKey('o.id', 'i.id')} and ${statusGuard('cancel', 'o.status')}
  returning o.*
),
outcome as (
  insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run, reason)
  select id, 'CANCELLED', now(), attempt, failures, crashes, undelivered, snoozes, releases, run, 'overlap' from gone
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, actor, reason)
  select id, now(), 'cancel', status, 'CANCELLED', 'cron', 'overlap' from gone
),
counted as (
  insert into counters (queue, priority, tenant, gate, slot, depth)
  select queue, priority, tenant, gate, $2::integer, -count(*) from gone where status = 'PENDING'
  group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (queue, priority, tenant, gate, slot) do update set depth = counters.depth + excluded.depth
)
select id, tenant, queue, task_type as "taskType" from gone`,
}

/** Of these tasks, those that run. */
export const requestCancel: Statement = {
  name: 'request_cron_cancel',
  text: `
with marked as (
  update open_tasks o set cancel_requested_at = now(), cancel_reason = 'overlap',
    wake_at = least(o.wake_at, now() + $2::bigint * interval '1 millisecond')
  from (select unnest($1::uuid[]) as id) i
  where ${byKey('o.id', 'i.id')} and ${statusGuard('request_cancel', 'o.status')} and o.cancel_requested_at is null
  returning o.id, o.cron_id, o.session, o.attempt
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, attempt, actor, reason)
  select m.id, now(), 'request_cancel', 'RUNNING', 'RUNNING', m.attempt, 'cron', 'overlap' from marked m
)
select m.id, m.cron_id as "cronId", m.session from marked m`,
}

/** What of these definitions runs and was told to stop, up to $2 of each: their ends are waited for. */
export const stopping: Statement = {
  name: 'stopping_cron',
  text: `
select o.id, o.cron_id as "cronId", o.session from unnest($1::uuid[]) as i (id)
cross join lateral (
  select o.id, o.cron_id, o.session from open_tasks o
  where ${byKey('o.cron_id', 'i.id')} and o.status = 'RUNNING' and o.cancel_requested_at is not null limit $2::integer) o`,
}

/** Which of these definitions have unfinished tasks that were not told to stop. */
export const uncancelled: Statement = {
  name: 'uncancelled_cron',
  text: `
select i.id from unnest($1::uuid[]) as i (id)
where (select true from open_tasks o
  where ${byKey('o.cron_id', 'i.id')} and (o.status <> 'RUNNING' or o.cancel_requested_at is null) limit 1)`,
}
