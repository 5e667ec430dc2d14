import type { Statement } from './database.js'
import { leaderLeaseMs } from './leader-store.js'
import { ms } from './record-sql.js'
import { otherName } from './stats-store.js'
import { ofTenant } from './tenant-scope.js'

/** Rows that are counted one by one at most; what goes beyond is told as more than that. */
export const countBound = 10_000
/** Tenants of a priority, and workers that may run a task, that are looked at. */
export const lookBound = 1_000
/** Names that are shown of a list, and tasks that something waits for. */
const shownBound = 20
const nearBound = 5
/** Minutes, besides the one under way, whose starts are counted. */
const rateMinutes = 5

const alive = `n.seen_at > (select duly_judged_now()) - interval '${leaderLeaseMs / 1_000} seconds'`

const attemptJson = `json_build_object('attempt', f.attempt, 'outcome', f.outcome,
  'endedAtMs', date_part('epoch', f.ended_at) * 1000, 'workerName', f.worker_name, 'delayMs', f.retry_delay_ms,
  'isDelayWished', f.delay_wished, 'errorClass', f.error_class, 'errorMessage', left(f.error_message, 500))`

/** The last attempt of the current run that ended otherwise than by success, if it was one of those. */
const lastAttempt = (condition: string): string => `
  (select ${attemptJson} from failed_attempts f
    where f.task_id = t.id and f.run = coalesce(u.run, o.run) and ${condition} order by f.attempt desc limit 1)`

/**
 * Who caused the end. Of one that was cancelled while it ran, whoever asked for that: the worker or the watchdog that ended it only
 * obeyed. A discard comes after the end.
 */
const endedBy = `
  (select coalesce(
      (select r.actor from task_events r
        where r.task_id = e.task_id and r.transition = 'request_cancel' and r.attempt = e.attempt and r.event_id < e.event_id
          and e.from_status = 'RUNNING' and e.to_status = 'CANCELLED'
        order by r.event_id desc limit 1), e.actor)
    from task_events e
    where e.task_id = t.id and e.to_status = u.status and e.transition <> 'discard' order by e.event_id desc limit 1)`

/** Where one task stands and what stands in its row and beside it, each by key. */
export const task: Statement = {
  name: 'explain_task',
  text: `
select ${ms('now()', 'nowMs')}, coalesce(u.status, o.status) as status, t.tenant, t.task_type as "taskType", t.queue, t.priority,
  coalesce(o.gate, '') as gate, ${ms('o.due_at', 'dueAtMs')}, ${ms('o.ready_at', 'readyAtMs')}, ${ms('o.expires_at', 'expiresAtMs')},
  coalesce(u.attempt, o.attempt) as attempt, coalesce(u.failures, o.failures) as failures,
  coalesce(u.crashes, o.crashes) as crashes, coalesce(u.undelivered, o.undelivered) as undelivered,
  coalesce(u.snoozes, o.snoozes) as snoozes, t.max_retries as "maxRetries", t.retry_backoff as backoff,
  t.retry_jitter as jitter, t.cron_id as "cronId", t.workflow_id as "workflowId",
  ${lastAttempt("f.outcome <> 'released'")} as "lastAttempt",
  ${lastAttempt("f.outcome in ('lost', 'undelivered')")} as "lastLoss",
  o.session, w.name as "sessionName", ${ms('o.started_at', 'startedAtMs')}, ${ms('o.deadline_at', 'deadlineAtMs')},
  ${ms('o.wake_at', 'endsAtMs')}, ${ms('o.cancel_requested_at', 'cancelRequestedAtMs')}, o.cancel_reason as "cancelReason",
  coalesce(g.received >= o.grant_no, false) as "isAcknowledged",
  coalesce(w.ended_at is null and w.live_until > (select duly_judged_now()), false) as "isLeaseLive",
  coalesce(w.draining, false) as "isDraining", ${ms('w.beat_at', 'lastHeartbeatAtMs')},
  coalesce(w.heartbeat_ms, 0) as "heartbeatMs",
  p.percent, p.note, ${ms('p.updated_at', 'updatedAtMs')},
  ${ms('u.completed_at', 'completedAtMs')}, ${ms('u.started_at', 'endStartedAtMs')}, u.session as "endSession",
  u.worker_name as "endWorkerName", u.reason, u.error_class as "errorClass", left(u.error_message, 500) as "errorMessage",
  ${ms('u.discarded_at', 'discardedAtMs')},
  ${endedBy} as actor,
  (select e.actor from task_events e
    where e.task_id = t.id and e.transition = 'discard' and u.discarded_at is not null order by e.event_id desc limit 1) as "discardActor",
  exists (select from dead_letters d where d.task_id = t.id) as "isDeadLetter",
  coalesce(q.paused, false) as "isPaused", case when q.paused then date_part('epoch', q.paused_at) * 1000 end as "pausedAtMs",
  (select count(*)::integer from nodes n where 'scheduler' = any (n.roles) and ${alive}) as schedulers,
  (select date_part('epoch', max(n.seen_at)) * 1000 from nodes n where 'scheduler' = any (n.roles)) as "schedulerSeenAtMs"
from tasks t
left join lateral (select u.* from outcomes u where u.id = t.id limit 1) u on true
left join lateral (select o.* from open_tasks o where o.id = t.id limit 1) o on true
left join lateral (select w.* from worker_sessions w where w.id = o.session limit 1) w on true
left join lateral (select g.* from session_grants g where g.session = o.session limit 1) g on true
left join lateral (select p.* from task_progress p where p.task_id = t.id limit 1) p on true
left join queues q on q.name = t.queue
where t.id = $1 and ${ofTenant('t.tenant', '$2')}`,
}

/**
 * Live workers, seen from a task of queue $1, type $2 and tenant $3. What a caller bound to $4 is told: nothing of workers that
 * are bound to others, no names of workers that serve all, no start of another's task; only how many slots are taken.
 */
export const workers: Statement = {
  name: 'explain_workers',
  text: `
with live as materialized (
  select s.id, s.slots, s.draining, $1 = any (s.queues) as has_queue, $2 = any (s.task_types) as has_type,
    s.tenant is null or s.tenant = $3 as has_tenant, $4::text is null or s.tenant = $4::text as is_shown
  from worker_sessions s
  where s.ended_at is null and s.live_until > (select duly_judged_now())
    and ($4::text is null or s.tenant is null or s.tenant = $4::text)
),
fitting as materialized (
  select l.id, l.slots from live l where l.has_queue and l.has_type and l.has_tenant and not l.draining
  order by l.id limit ${lookBound}
),
load as materialized (
  select f.slots, h.running, h.suspects, h.oldest
  from fitting f cross join lateral (
    select count(*) as running, count(*) filter (where o.crashes + o.undelivered > 0) as suspects,
      min(o.started_at) filter (where $4::text is null or o.tenant = $4::text) as oldest
    from open_tasks o where o.session = f.id) h
),
near as materialized (
  select l.*, s.name, s.queues[1:${shownBound}] as queues, s.task_types[1:${shownBound}] as task_types
  from live l join worker_sessions s on s.id = l.id
  where l.is_shown and l.has_queue::integer + l.has_type::integer + l.has_tenant::integer = 2
  order by l.has_queue desc, l.id desc limit ${nearBound}
)
select count(*)::integer as live, (count(*) filter (where has_queue))::integer as "forQueue",
  (count(*) filter (where has_queue and has_type and has_tenant and not draining))::integer as fitting,
  (count(*) filter (where has_queue and has_type and has_tenant and draining))::integer as draining,
  (count(*) filter (where has_queue and has_type and not has_tenant))::integer as "ofOtherTenants",
  (select coalesce(sum(slots), 0)::integer from load) as slots, (select coalesce(sum(running), 0)::integer from load) as running,
  (select date_part('epoch', min(oldest)) * 1000 from load) as "oldestStartedAtMs",
  (select count(*)::integer from load where suspects > 0) as "withSuspect",
  (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'queues', queues, 'taskTypes', task_types,
    'missing', array_remove(array[case when not has_queue then 'queue' end, case when not has_type then 'task_type' end,
      case when not has_tenant then 'tenant' end], null)) order by has_queue desc, id desc), '[]') from near) as near
from live`,
}

/** How many ready tasks of a lane stand before this one, up to a bound: a walk along the index that the claims read. */
const ahead = `
  (select count(*)::integer from (
    select 1 from open_tasks r
    where r.status = 'PENDING' and r.queue = o.queue and r.priority = o.priority and r.tenant = o.tenant and r.gate = o.gate
      and (r.ready_at, r.id) < (o.ready_at, o.id)
    limit ${countBound + 1}) a)`

/** Different values of a column of the ready index below a prefix, by skipping from one to the next, up to a bound. */
const skipped = (column: 'tenant' | 'gate', prefix: string, bound: number): string => `
  (with recursive seen as (
    (select r.${column} as v from open_tasks r where ${prefix} order by r.${column} limit 1)
    union all
    select (select r.${column} from open_tasks r where ${prefix} and r.${column} > s.v order by r.${column} limit 1)
    from seen s where s.v is not null
  ) select count(*)::integer from (select 1 from seen where v is not null limit ${bound}) c)`

/** Starts of a minute, by queue; for whoever is bound to a tenant ($2), by queue and tenant. */
const ofMinute = `s.grain = 60 and s.kind = case when $2::text is null then 'queue' else 'lane' end
        and s.start = date_trunc('minute', now()) - m.ago * interval '1 minute'`

const ofPriority = "r.status = 'PENDING' and r.queue = o.queue and r.priority = o.priority"

/** What stands before and beside a ready task; a caller that is bound to a tenant ($2) is told of its own lanes. */
export const lane: Statement = {
  name: 'explain_lane',
  text: `
select ${ahead} as ahead,
  (select coalesce(sum(n.depth), 0)::float8 from counters n
    where n.queue = o.queue and n.priority = o.priority and n.tenant = o.tenant and n.gate = o.gate) as depth,
  array(select k.priority from unnest(array[1, 2, 3]::smallint[]) as k (priority)
    where exists (select from open_tasks r where r.status = 'PENDING' and r.queue = o.queue and r.priority = k.priority
      and ($2::text is null or r.tenant = $2::text))) as priorities,
  case when $2::text is null then ${skipped('tenant', ofPriority, lookBound)} end as tenants,
  ${skipped('gate', `${ofPriority} and r.tenant = o.tenant`, 100)} as gates,
  (select json_agg(json_build_object('starts', s.starts, 'firstMs', s.first_ms, 'untilMs', s.until_ms))
    from generate_series(0, ${rateMinutes}) as m (ago) cross join lateral (
      select coalesce(sum(s.started), 0) as starts, min(s.first_ms) as first_ms, max(s.until_ms) as until_ms from stats_rollups s
      where ${ofMinute} and s.name = case when $2::text is null then o.queue else o.queue || ' ' || $2::text end) s) as minutes,
  $2::text is null or not exists (
    select from generate_series(0, ${rateMinutes}) as m (ago) cross join lateral (
      select s.started from stats_rollups s where ${ofMinute} and s.name = '${otherName}' limit 1) s) as "isCounted",
  date_part('epoch', now() - date_trunc('minute', now())) * 1000 as "intoMinuteMs"
from open_tasks o where o.id = $1 and o.status = 'PENDING'`,
}

/**
 * Nodes that node $1 of a workflow depends on: those that have not ended; or, of one that was not run ($2), those that ended otherwise
 * than they must, as far as that can be told: by no success.
 */
export const dependencies: Statement = {
  name: 'explain_dependencies',
  text: `
with parent as materialized (
  select n.id, n.name, n.ended, n.position
  from workflow_edges e cross join lateral (select n.* from workflow_nodes n where n.id = e.parent limit 1) n
  where e.child = $1 and case when $2::boolean then n.ended <> 'succeeded' else n.ended is null end
  order by n.position limit ${countBound}
)
select (select count(*)::integer from parent) as count, (select c.trigger_rule from workflow_nodes c where c.id = $1) as rule,
  (select coalesce(json_agg(json_build_object('id', p.id, 'node', p.name,
      'status', coalesce(o.status, u.status, case p.ended when 'failed' then 'FAILED' else 'CANCELLED' end)) order by p.position), '[]')
    from (select * from parent order by position limit ${shownBound}) p
    left join lateral (select o.status from open_tasks o where o.id = p.id limit 1) o on true
    left join lateral (select u.status from outcomes u where u.id = p.id limit 1) u on true) as tasks`,
}

/** Earlier tasks of a recurring one that were told to stop, whose ends a later one waits for. */
export const earlier: Statement = {
  name: 'explain_earlier',
  text: `
with waited as materialized (
  select r.id, r.status from open_tasks r
  where r.cron_id = $1 and r.status = 'RUNNING' and r.cancel_requested_at is not null order by r.id limit ${countBound}
)
select (select count(*)::integer from waited) as count,
  (select coalesce(json_agg(json_build_object('id', w.id, 'node', null, 'status', w.status)), '[]')
    from (select * from waited limit ${shownBound}) w) as tasks`,
}
