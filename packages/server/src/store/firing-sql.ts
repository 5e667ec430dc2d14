import { statusGuard } from '@duly/domain'
import { byKey, type Statement, unnested } from './database.js'
import { ms } from './record-sql.js'
import { countPending } from './transition-parts.js'

/** What an idle node asks, once in a while: when the next one is due, and whether a task waits for an older one's end. */
export const look: Statement = {
  name: 'look_cron',
  text: `
select ${ms('now()', 'nowMs')},
  (select ${"date_part('epoch', c.wake_at) * 1000"} from cron_tasks c
    where c.enabled and c.wake_at is not null order by c.wake_at limit 1) as "wakeAtMs",
  (select o.id from open_tasks o where o.status = 'BLOCKED' and o.cron_id is not null order by o.id, o.cron_id limit 1) is not null
    as "isBlocked"`,
}

const selectDue = `
select c.id, c.tenant, c.name, c.expression, c.every_ms::float8 as "everyMs", ${ms('c.anchor_at', 'anchorAtMs')}, c.timezone,
  c.overlap, c.misfire, c.grace_ms::float8 as "graceMs", ${ms('c.starts_at', 'startsAtMs')}, ${ms('c.ends_at', 'endsAtMs')},
  c.jitter_ms::float8 as "jitterMs", ${ms('c.next_fire_at', 'nextFireAtMs')}, ${ms('c.wake_at', 'wakeAtMs')}, c.error,
  c.task_type as "taskType", c.queue, c.task, c.metadata, octet_length(c.payload) as "payloadBytes", ${ms('now()', 'nowMs')}
from cron_tasks c
where c.enabled and c.wake_at is not null and c.wake_at <= now()`

/**
 * Definitions that are due, oldest first, locked to the end of the transaction. Rows that others hold are skipped: they fire them.
 * $2: only these, to find the one that spoils a batch.
 */
export const lockDue: Statement = {
  name: 'lock_cron_due',
  text: `${selectDue} and ($2::uuid[] is null or c.id = any ($2::uuid[]))
order by c.wake_at limit $1
for update skip locked`,
}

/** The first that is due, also if others hold it: in line with them. None if they fired it meanwhile. */
export const lockNext: Statement = {
  name: 'lock_cron_next',
  text: `${selectDue}
order by c.wake_at limit 1
for update`,
}

export const waitAtMost: Statement = {
  name: 'wait_for_cron',
  text: `select set_config('lock_timeout', $1, true)`,
}

/** One definition for a firing by hand. */
export const lockOne: Statement = {
  name: 'lock_cron_one',
  text: `
select c.id, c.tenant, c.task_type as "taskType", c.queue, c.task, c.metadata, c.payload, c.every_ms::float8 as "everyMs",
  ${ms('c.anchor_at', 'anchorAtMs')}, ${ms('now()', 'nowMs')}
from cron_tasks c where c.id = $1 and ($2::text is null or c.tenant = $2::text)
for update`,
}

export const payloads: Statement = {
  name: 'read_cron_payloads',
  text: `
select c.id, c.payload from unnest($1::uuid[]) as i (id)
cross join lateral (select c.id, c.payload from cron_tasks c where c.id = i.id limit 1) c`,
}

/**
 * Which of these definitions have unfinished tasks. A statement of its own, after the lock: its snapshot has what the one who held the
 * lock before did.
 */
export const busy: Statement = {
  name: 'busy_cron',
  text: `
select i.id from unnest($1::uuid[]) as i (id)
where (select true from open_tasks o where ${byKey('o.cron_id', 'i.id')} limit 1)`,
}

/** Fire times that are not to be judged yet after all, in the transaction that recorded them. */
export const unrecord: Statement = {
  name: 'unrecord_firings',
  text: `
delete from cron_firings f
using (${unnested([
    ['cron_id', 'uuid'],
    ['fire_time', 'timestamptz'],
  ])}) i
where ${byKey('f.cron_id', 'i.cron_id')} and f.fire_time = i.fire_time`,
}

/** The second guard of I6: of a fire time that was judged before, nothing comes back, and no task is made. */
export const record: Statement = {
  name: 'record_firings',
  text: `
insert into cron_firings (cron_id, fire_time, tenant, fired_at, outcome, task_id)
select i.cron_id, i.fire_time, i.tenant, now(), i.outcome, i.task_id
from (${unnested([
    ['cron_id', 'uuid'],
    ['fire_time', 'timestamptz'],
    ['tenant', 'text'],
    ['outcome', 'text'],
    ['task_id', 'uuid'],
  ])}) i
order by i.cron_id, i.fire_time
on conflict (cron_id, fire_time) do nothing
returning cron_id as "cronId", ${ms('fire_time', 'fireAtMs')}`,
}

/** Moves definitions on: the compare-and-set on the fire time that was judged. */
export const move: Statement = {
  name: 'move_cron',
  text: `
update cron_tasks c
set next_fire_at = i.next_at, wake_at = i.wake_at, error = null, fired = c.fired + i.fired, skipped = c.skipped + i.skipped,
  last_fire_at = coalesce(i.last_fire_at, c.last_fire_at), last_task_id = coalesce(i.last_task, c.last_task_id),
  last_fired_at = case when i.last_task is null then c.last_fired_at else now() end
from (${unnested([
    ['id', 'uuid'],
    ['from_at', 'timestamptz'],
    ['next_at', 'timestamptz'],
    ['wake_at', 'timestamptz'],
    ['fired', 'integer'],
    ['skipped', 'integer'],
    ['last_fire_at', 'timestamptz'],
    ['last_task', 'uuid'],
  ])}) i
where ${byKey('c.id', 'i.id')} and c.next_fire_at = i.from_at
returning c.id`,
}

/** After a firing by hand; what comes next stays. */
export const triggered: Statement = {
  name: 'cron_triggered',
  text: `update cron_tasks c set fired = c.fired + 1, last_fired_at = now(), last_task_id = $2 where c.id = $1`,
}

/** Definitions that could not be evaluated: looked at again in $3 ms. */
export const mark: Statement = {
  name: 'mark_cron_errors',
  text: `
update cron_tasks c set error = i.error, wake_at = now() + $3::bigint * interval '1 millisecond'
from (${unnested([
    ['id', 'uuid'],
    ['error', 'text'],
  ])}) i
where ${byKey('c.id', 'i.id')} and c.wake_at is not null`,
}

/**
 * Of the BLOCKED tasks that `driver` names (up to $1), in the order of their ids, those whose older ones, which were told to stop, have
 * all ended. `next` is where to go on; null: those were all.
 */
const unblockOf = (driver: string): string => `
with seen as materialized (${driver}),
free as materialized (
  select s.id from seen s where (
    select true from open_tasks r
    where ${byKey('r.cron_id', 's.cron_id')} and r.status = 'RUNNING' and r.cancel_requested_at is not null limit 1) is null
),
held as materialized (
  select o.id from free f cross join lateral (
    select o.id from open_tasks o where o.id = f.id and ${statusGuard('unblock', 'o.status')} for update skip locked) o
),
up as materialized (
  update open_tasks o set status = 'PENDING', blockers = 0, ready_at = now(), lane_version = o.lane_version + 1
  from held h where ${byKey('o.id', 'h.id')}
  returning o.*
),
counted as (${countPending('up', '', '$2')})
select u.id, u.tenant, u.queue, u.task_type as "taskType", u.priority, u.gate, ${ms('u.ready_at', 'dueAtMs')},
  case when (select count(*) from seen) = $1 then (select s.id from seen s order by s.id desc limit 1) end as next
from (select 1) one left join up u on true`

/**
 * Those of the definitions $3, which had something to wait for until now. The status is written so that the index of all that wait does
 * not match: it would be read from end to end for each of them.
 */
export const unblock: Statement = {
  name: 'unblock_cron',
  text: unblockOf(`
  select o.id, o.cron_id from unnest($3::uuid[]) as i (id) cross join lateral (
    select o.id, o.cron_id from open_tasks o where ${byKey('o.cron_id', 'i.id')} and o.status is not distinct from 'BLOCKED' limit $1) o
  limit $1`),
}

/** The next ones behind the id $3. The order is that of an index of them alone, and of no other one. */
export const unblockNext: Statement = {
  name: 'unblock_cron_next',
  text: unblockOf(`
  select o.id, o.cron_id from open_tasks o
  where ${statusGuard('unblock', 'o.status')} and o.cron_id is not null and o.id > $3::uuid
  order by o.id, o.cron_id limit $1`),
}
