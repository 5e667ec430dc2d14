import type { Statement } from './database.js'
import { ms } from './record-sql.js'
import { ofTenant } from './tenant-scope.js'

const columns = `
  b.id, b.action, b.source, b.filter, b.tenant, b.actor, b.status, b.matched::float8 as matched, b.done::float8 as done,
  b.skipped::float8 as skipped, b.failed::float8 as failed, b.error, ${ms('b.created_at', 'createdAtMs')},
  ${ms('b.updated_at', 'updatedAtMs')}, ${ms('b.completed_at', 'completedAtMs')}`

/** The namespace of our locks by two numbers. */
const startLocks = 1

/**
 * Those of one tenant, or of those who are bound to none, start one after the other, so that what is counted then is so. A statement by
 * itself: the next one's snapshot has what the one who held the lock before did. Tenants that share a hash wait for each other, no more.
 */
export const lockStarts: Statement = {
  name: 'lock_bulk_starts',
  text: `select pg_advisory_xact_lock(${startLocks}, coalesce(hashtext($1::text), 0))`,
}

/** Unless the tenant, or those who are bound to none, have $7 running already. Exact under {@link lockStarts}. */
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
update bulk_operations b set place = coalesce($3, b.place), matched = b.matched + $4, done = b.done + $5, skipped = b.skipped + $6,
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

/** Which of these have neither ended nor been marked: they moved while they were looked at. */
export const unmoved: Statement = {
  name: 'bulk_unmoved',
  text: `
select o.id from open_tasks o
where o.id = any ($1::uuid[]) and o.cancel_requested_at is null and o.workflow_id is null`,
}
