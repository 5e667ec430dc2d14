import { statusGuard } from '@duly/domain'
import { byKey, type Statement } from './database.js'
import { ofTenant } from './tenant-scope.js'
import { cancelMark, cancelRequested, countPending, takenBack, waitingEnd } from './transition-parts.js'

/*
 * What is done to tasks by those who ask for it, to one or to many at once. Those of workflows end, and come back, in a
 * transaction of their workflow (ADR 19): they are left alone here.
 */

/** $1 ids, $2 actor, $3 reason, $4 reason in the trail, $5 slot, $6 tenant. */
export const cancelWaiting: Statement = {
  name: 'cancel_waiting',
  text: `
with gone as materialized (
  delete from open_tasks o
  where o.id = any ($1::uuid[]) and ${statusGuard('cancel', 'o.status')} and o.workflow_id is null and ${ofTenant('o.tenant', '$6')}
  returning o.*
),${waitingEnd({ transition: `'cancel'`, actor: '$2', reason: '$3', trailReason: '$4', slot: '$5' })}
select id, tenant, queue, task_type as "taskType", date_part('epoch', now()) * 1000 as "cancelledAtMs" from gone`,
}

/** Marks running attempts, those of workflows too. $1 ids, $2 actor, $3 reason, $4 reason in the trail, $5 grace in ms, $6 tenant. */
export const requestCancel: Statement = {
  name: 'request_cancel',
  text: `
with marked as (
  update open_tasks o set ${cancelMark('$3', '$5')}
  where o.id = any ($1::uuid[]) and ${statusGuard('request_cancel', 'o.status')} and o.cancel_requested_at is null
    and ${ofTenant('o.tenant', '$6')}
  returning o.id, o.attempt, o.session, o.cron_id
),
event as (${cancelRequested('marked', '$2', '$4')})
select id, session, cron_id as "cronId" from marked`,
}

/**
 * Deleting the outcome is the compare-and-set; the open row comes back with its retries restored. So there is one accepted outcome per
 * run. $1 ids, $2 their partitions, $3 actor, $4 reason in the trail, $5 slot, $6 tenant, $7 only what ended before this.
 */
export const replay: Statement = {
  name: 'replay',
  text: `
with plain as materialized (
  select t.*, i.partition from (select unnest($1::uuid[]) as id, unnest($2::smallint[]) as partition) i
  cross join lateral (select t.* from tasks t where t.id = i.id limit 1) t
  where t.workflow_id is null and ${ofTenant('t.tenant', '$6')}
),
gone as materialized (
  delete from outcomes u using plain p
  where ${byKey('u.id', 'p.id')} and ${statusGuard('replay', 'u.status')} and u.discarded_at is null
    and ($7::timestamptz is null or u.completed_at < $7)
  returning u.*
),${takenBack({ next: `'PENDING'`, actor: '$3', reason: '$4', slot: '$5' })},
again as (
  insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, ready_at, timeout_ms,
    result_ttl_ms, concurrency_key, workflow_id, cron_id, attempt, undelivered, snoozes, releases, run)
  select p.id, p.partition, 'PENDING', p.tenant, p.queue, p.task_type, p.priority, now(), p.timeout_ms,
    p.result_ttl_ms, p.concurrency_key, p.workflow_id, p.cron_id, g.attempt, 0, 0, g.releases, g.run + 1
  from gone g join plain p on p.id = g.id
  returning id, status, queue, priority, tenant, gate, task_type
),
counted as (${countPending('again', '', '$5')})
select id, queue, priority, tenant, gate, task_type as "taskType" from again`,
}
