import type { Statement } from './database.js'
import { ms } from './record-sql.js'
import { ofTenant } from './tenant-scope.js'

/** Where a definition stands. */
const statusOf = (c: string): string =>
  `case when ${c}.next_fire_at is null then 'ENDED' when not ${c}.enabled then 'PAUSED' else 'ACTIVE' end`

/** Everything of a definition but its payload. */
const summaryColumns = `
  c.id, c.tenant, c.name, c.version, c.expression, c.every_ms::float8 as "everyMs", ${ms('c.anchor_at', 'anchorAtMs')},
  c.timezone, c.overlap, c.misfire, c.grace_ms::float8 as "graceMs", ${ms('c.starts_at', 'startsAtMs')},
  ${ms('c.ends_at', 'endsAtMs')}, c.jitter_ms::float8 as "jitterMs", c.enabled, ${ms('c.next_fire_at', 'nextFireAtMs')},
  ${ms('c.wake_at', 'wakeAtMs')}, ${ms('c.last_fire_at', 'lastFireAtMs')}, ${ms('c.last_fired_at', 'lastFiredAtMs')},
  c.last_task_id as "lastTaskId", c.fired::float8 as fired, c.skipped::float8 as skipped, c.error, ${statusOf('c')} as status,
  c.task_type as "taskType", c.queue, c.task, c.metadata, ${ms('c.created_at', 'createdAtMs')},
  ${ms('c.updated_at', 'updatedAtMs')}`

/**
 * One more definition, if the tenant has fewer than $22. A name that is taken fails as a violation of `cron_tasks_name`, and
 * nothing is counted.
 */
export const create: Statement = {
  name: 'create_cron_task',
  text: `
with counted as (
  insert into cron_tenants (tenant, definitions) values ($2, 1)
  on conflict (tenant) do update set definitions = cron_tenants.definitions + 1 where cron_tenants.definitions < $22::bigint
  returning 1
)
insert into cron_tasks (id, tenant, name, expression, every_ms, anchor_at, timezone, overlap, misfire, grace_ms, starts_at,
  ends_at, jitter_ms, enabled, next_fire_at, wake_at, task_type, queue, task, payload, metadata, created_at, updated_at)
select $1, $2, $3, $4, $5, $6::timestamptz, $7, $8, $9, $10, $11::timestamptz,
  $12::timestamptz, $13, $14, $15::timestamptz, $16::timestamptz, $17, $18, $19, $20,
  $21, now(), now()
from counted
returning id`,
}

/** What comes next, as far as the new end lets it. */
const keptNext = 'case when c.next_fire_at <= coalesce($12::timestamptz, c.next_fire_at) then c.next_fire_at end'

/**
 * The definition as a whole, if it is still of version $22. $23: it keeps what comes next, which a firing may have set meanwhile, up to
 * its end, and is moved by its jitter of $24 ms; else both are the given ones.
 */
export const replace: Statement = {
  name: 'replace_cron_task',
  text: `
update cron_tasks c
set version = c.version + 1, expression = $4, every_ms = $5, anchor_at = $6::timestamptz, timezone = $7, overlap = $8,
  misfire = $9, grace_ms = $10, starts_at = $11::timestamptz, ends_at = $12::timestamptz,
  jitter_ms = $13, enabled = $14,
  next_fire_at = case when $23::boolean then ${keptNext} else $15::timestamptz end,
  wake_at = case when $23::boolean then ${keptNext} + $24::bigint * interval '1 millisecond' else $16::timestamptz end,
  error = null, task_type = $17, queue = $18, task = $19, payload = $20, metadata = $21, updated_at = now()
where c.id = $1 and c.tenant = $2 and c.name = $3 and c.version = $22::integer
returning c.id`,
}

export const read: Statement = {
  name: 'read_cron_task',
  text: `
select ${summaryColumns}, c.payload from cron_tasks c
where c.id = $1 and ${ofTenant('c.tenant', '$2')}`,
}

export const readByName: Statement = {
  name: 'read_cron_task_by_name',
  text: `select ${summaryColumns}, c.payload from cron_tasks c where c.tenant = $1 and c.name = $2`,
}

export const remove: Statement = {
  name: 'remove_cron_task',
  text: `
with gone as (delete from cron_tasks c where c.id = $1 and ${ofTenant('c.tenant', '$2')} returning c.tenant),
counted as (update cron_tenants t set definitions = t.definitions - 1 from gone g where t.tenant = g.tenant)
select 1 from gone`,
}

/** Newest first, behind $1, of at most $2 that are looked at; $3 rows wanted. */
const listOf = (driver: string): string => `
with seen as materialized (
  select c.* from cron_tasks c where ${driver} and ($1::uuid is null or c.id < $1::uuid) order by c.id desc limit $2
),
fit as materialized (
  select s.* from seen s
  where ($5::text is null or ${statusOf('s')} = $5) and ($6::text is null or s.task_type = $6)
    and ($7::text is null or s.queue = $7) and ($8::text is null or s.name = $8)
    and ($9::text is null or starts_with(s.name, $9))
  order by s.id desc limit $3
)
select ${summaryColumns},
  case when (select count(*) from fit) = $3 then (select f.id from fit f order by f.id limit 1)
    when (select count(*) from seen) = $2 then (select s.id from seen s order by s.id limit 1) end as next
from (select 1) one left join fit c on true order by c.id desc`

export const list: Statement = { name: 'list_cron_tasks', text: listOf('$4::text is null') }
/** The name alone would be looked for among all. */
export const listNamed: Statement = {
  name: 'list_cron_tasks_named',
  text: listOf('c.tenant = $4::text and c.name = $8::text'),
}
export const listOfTenant: Statement = { name: 'list_cron_tasks_of_tenant', text: listOf('c.tenant = $4::text') }

/** What became of its fire times, latest first, before $3. Also of a definition that is gone. */
export const firings: Statement = {
  name: 'list_cron_firings',
  text: `
select ${ms('f.fire_time', 'fireAtMs')}, ${ms('f.fired_at', 'firedAtMs')}, f.outcome, f.task_id as "taskId"
from cron_firings f
where f.cron_id = $1 and ${ofTenant('f.tenant', '$2')} and ($3::timestamptz is null or f.fire_time < $3::timestamptz)
order by f.fire_time desc limit $4`,
}
