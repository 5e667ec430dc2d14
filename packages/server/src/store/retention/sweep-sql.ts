/** Tables that hold rows of tasks beside their records, by the column `task_id`. */
export const relatedTables = [
  'failed_attempts',
  'task_events',
  'runs',
  'task_progress',
  'task_logs',
  'dead_letters',
] as const

export type RelatedTable = (typeof relatedTables)[number]

/** Rows of tasks that are gone. Only below an edge under which no task is made any more. */
export const sweepRelated = Object.fromEntries(
  relatedTables.map((table) => [
    table,
    {
      name: `retention_leftovers_${table}`,
      text: `
with seen as materialized (
  select r.task_id from ${table} r where r.task_id > $1::uuid and r.task_id < $2::uuid order by r.task_id limit $3
),
gone as (
  delete from ${table} d using (
    select distinct s.task_id from seen s
    where (select true from tasks t where t.id = s.task_id limit 1) is null
  ) g
  where d.task_id = g.task_id
  returning 1
)
select case when (select count(*) from seen) = $3 then (select s.task_id from seen s order by s.task_id desc limit 1) end
  as next, (select count(*)::integer from gone) as removed`,
    },
  ]),
) as Record<RelatedTable, { name: string; text: string }>

/** The end of one key's life: its task finished before the cutoff, or is gone. */
export const sweepKeys = {
  name: 'retention_sweep_keys',
  text: `
with seen as materialized (
  select k.tenant, k.key, k.task_id, k.created_at from idempotency_keys k
  where k.created_at >= $2::timestamptz and k.created_at < $1::timestamptz
    and (k.created_at, k.tenant, k.key) > ($2::timestamptz, $3::text, $4::text)
  order by k.created_at, k.tenant, k.key limit $5
),
past as (
  select s.tenant, s.key, s.task_id from seen s
  where (select true from tasks t where t.id = s.task_id limit 1) is null
    or (select u.completed_at from outcomes u where u.id = s.task_id limit 1) < $1::timestamptz
),
gone as (
  delete from idempotency_keys k using past p
  where k.tenant = p.tenant and k.key = p.key and k.task_id = p.task_id
  returning 1
),
final as (select s.* from seen s order by s.created_at desc, s.tenant desc, s.key desc limit 1)
select (select count(*)::integer from gone) as removed,
  case when (select count(*) from seen) = $5 then (select json_build_array(f.created_at::text, f.tenant, f.key) from final f) end
  as next`,
}

/** Past runs go by their age, also while their task lives: replays would pile them up for ever. */
export const sweepRuns = {
  name: 'retention_sweep_runs',
  text: `
with past as (
  select r.task_id, r.run from runs r where r.archived_at < $1::timestamptz order by r.archived_at limit $2
),
gone as (delete from runs r using past p where r.task_id = p.task_id and r.run = p.run returning 1)
select count(*)::integer as removed from gone`,
}

/**
 * Firings by their age. Of a definition that lives the last one stays, and the last one of its schedule: it is the guard of that fire
 * time, and what comes next follows from it.
 */
export const sweepFirings = {
  name: 'retention_sweep_firings',
  text: `
with seen as materialized (
  select f.cron_id, f.fire_time, f.fired_at, f.outcome from cron_firings f
  where f.fired_at >= $2::timestamptz and f.fired_at < $1::timestamptz
    and (f.fired_at, f.cron_id, f.fire_time) > ($2::timestamptz, $3::uuid, $4::timestamptz)
  order by f.fired_at, f.cron_id, f.fire_time limit $5
),
past as (
  select s.cron_id, s.fire_time from seen s
  where (select true from cron_tasks c where c.id = s.cron_id limit 1) is null
    or (select true from cron_firings l where l.cron_id = s.cron_id and l.fire_time > s.fire_time
      and (l.outcome <> 'triggered' or s.outcome = 'triggered') limit 1)
),
gone as (
  delete from cron_firings f using past p where f.cron_id = p.cron_id and f.fire_time = p.fire_time returning 1
),
final as (select s.* from seen s order by s.fired_at desc, s.cron_id desc, s.fire_time desc limit 1)
select (select count(*)::integer from gone) as removed,
  case when (select count(*) from seen) = $5
    then (select json_build_array(f.fired_at::text, f.cron_id, f.fire_time::text) from final f) end as next`,
}

/** Sessions that ended a day ago and hold nothing. Their grants and counts of lines go with them. */
export const sweepSessions = {
  name: 'retention_sweep_sessions',
  text: `
with past as (
  select s.id from worker_sessions s
  where s.ended_at < now() - interval '24 hours'
    and (select true from open_tasks o where o.session = s.id limit 1) is null
  limit $1 for update skip locked
),
grants as (delete from session_grants n using past p where n.session = p.id),
lines as (delete from session_logs n using past p where n.session = p.id),
gone as (delete from worker_sessions s using past p where s.id = p.id returning 1)
select count(*)::integer as removed from gone`,
}

/** API keys that were revoked so long ago that no finished task is left that one of them could have touched. */
export const sweepRevoked = {
  name: 'retention_sweep_api_keys',
  text: `
with past as (
  select k.id from api_keys k where k.revoked_at < $1::timestamptz limit $2 for update skip locked
),
gone as (delete from api_keys k using past p where k.id = p.id returning 1)
select count(*)::integer as removed from gone`,
}

/** Operations on many tasks that ended so long ago. */
export const sweepBulk = {
  name: 'retention_sweep_bulk',
  text: `
with past as (
  select b.id from bulk_operations b where b.completed_at < $1::timestamptz order by b.completed_at limit $2
),
gone as (delete from bulk_operations b using past p where b.id = p.id returning 1)
select count(*)::integer as removed from gone`,
}

/**
 * Results whose time to live has passed. The record stays. Those of an open workflow stay as well, since tasks that wait may be given
 * them: they are looked at again later.
 */
export const clearResults = {
  name: 'retention_clear_results',
  text: `
with past as materialized (
  select u.id, (
    select true from workflow_nodes n
    cross join lateral (select from workflows w where w.id = n.workflow_id and w.status = 'RUNNING' limit 1) w
    where n.id = u.id limit 1) is not null as is_awaited
  from outcomes u where u.result_expires_at <= now() limit $1 for update of u skip locked
),
looked as (
  update outcomes u set result = case when p.is_awaited then u.result end,
    result_expires_at = case when p.is_awaited then now() + interval '10 minutes' end
  from past p where u.id = p.id returning p.is_awaited
)
select count(*) filter (where not is_awaited)::integer as removed, count(*)::integer as seen from looked`,
}
