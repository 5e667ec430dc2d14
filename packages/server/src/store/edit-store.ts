import { gates, type Priority, statusGuard, type TenantScope, type Uuid } from '@duly/domain'
import type { TaskEdit } from '../model.js'
import { changeBy } from './commits.js'
import type { Database, Statement } from './database.js'
import { ofTenant } from './tenant-scope.js'
import type { DueTimer } from './timer-store.js'
import { addDepths } from './transition-parts.js'

/** Where an edited task stands now. `wakeAtMs` is null when no timer concerns it. */
export type EditedTask = Omit<DueTimer, 'wakeAtMs' | 'firstMs'> & { readonly wakeAtMs: number | null }

/**
 * The edit replaces the open row, it does not update it. A claim, a promotion or a repeat that began before sees the old row by
 * its snapshot, and the old payload with it: an updated row it would follow to its new version, and run the old payload in the
 * new lane; a deleted one it lets go, and a new one it does not see. So whatever starts after the edit was answered runs as
 * edited. Who keeps its lane keeps its place in it; who enters one gets a fresh `ready_at`.
 */
const edit: Statement = {
  name: 'edit_task',
  text: `
with gone as materialized (
  delete from open_tasks o
  where o.id = $1 and ${statusGuard('edit', 'o.status')} and (not $6::boolean or ${statusGuard('reschedule', 'o.status')})
    and ${ofTenant('o.tenant', '$2')}
  returning o.*
),
wanted as materialized (
  select g.*, coalesce($10::text, g.queue) as new_queue, coalesce($8::smallint, g.priority) as new_priority,
    case when not $6::boolean then g.status when $7::timestamptz > now() then 'SCHEDULED' else 'PENDING' end as new_status,
    case when g.attempt = 0 then g.expires_at end as expiry,
    coalesce($10::text, g.queue) <> g.queue or coalesce($8::smallint, g.priority) <> g.priority as moves
  from gone g
),
placed as materialized (
  insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, gate, lane_version, due_at, ready_at,
    wake_at, expires_at, timeout_ms, attempt, failures, crashes, undelivered, snoozes, releases, run, previous_delay_ms,
    cancel_reason, blockers, concurrency_key, workflow_id, cron_id, result_ttl_ms)
  select w.id, w.partition, w.new_status, w.tenant, w.new_queue, w.task_type, w.new_priority,
    case when w.moves and w.gate <> '${gates.suspect}' then '${gates.none}' else w.gate end, w.lane_version + 1,
    case when not $6::boolean then w.due_at when w.new_status = 'SCHEDULED' then $7::timestamptz end,
    case when w.new_status = 'PENDING' and (w.moves or w.status <> 'PENDING') then now()
      when w.new_status = 'PENDING' then w.ready_at end,
    case when not $6::boolean then w.wake_at when w.new_status = 'SCHEDULED' then least($7::timestamptz, w.expiry)
      else w.expiry end,
    w.expires_at, coalesce($12::bigint, w.timeout_ms), w.attempt, w.failures, w.crashes, w.undelivered, w.snoozes, w.releases,
    w.run, w.previous_delay_ms, w.cancel_reason, w.blockers, w.concurrency_key, w.workflow_id, w.cron_id,
    w.result_ttl_ms
  from wanted w
  returning *
),
asked as (
  update tasks t set queue = g.new_queue, priority = g.new_priority, payload = coalesce($9::text, t.payload),
    max_retries = coalesce($11::integer, t.max_retries), timeout_ms = coalesce($12::bigint, t.timeout_ms),
    scheduled_at = case when $6::boolean then $7::timestamptz else t.scheduled_at end
  from wanted g where t.id = $1 and g.id = t.id
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, actor, reason, previous_at)
  select w.id, now(), case when $6::boolean then 'reschedule' else 'edit' end, w.status, w.new_status, $4, $5,
    case when $6::boolean then (select t.scheduled_at from tasks t where t.id = $1) end
  from wanted w
),
delta as (
  select d.queue, d.priority, d.tenant, d.gate, sum(d.depth) as depth from (
    select queue, priority, tenant, gate, -1 as depth from gone where status = 'PENDING'
    union all select queue, priority, tenant, gate, 1 from placed where status = 'PENDING') d
  group by 1, 2, 3, 4 having sum(d.depth) <> 0
),
counted as (${addDepths('select queue, priority, tenant, gate, $3::integer, depth from delta order by 1, 2, 3, 4')})
select p.id, p.partition, p.status, p.tenant, p.queue, p.task_type as "taskType", p.priority, p.gate,
  date_part('epoch', p.wake_at) * 1000 as "wakeAtMs", p.crashes + p.undelivered > 0 as suspect,
  p.expires_at is not null and p.attempt = 0 as "mayExpire"
from placed p`,
}

/** Fields of an edit by the names that the API has for them. */
const fieldNames: Readonly<Record<keyof TaskEdit, string>> = {
  scheduledAtMs: 'scheduled_at',
  priority: 'priority',
  payload: 'payload',
  queue: 'queue',
  maxRetries: 'max_retries',
  timeoutMs: 'timeout_seconds',
}

const fieldsOf = (change: TaskEdit): string =>
  (Object.keys(fieldNames) as (keyof TaskEdit)[])
    .filter((field) => change[field] !== undefined)
    .map((field) => fieldNames[field])
    .join(', ')

/** Edits of tasks that wait. */
export class EditStore {
  readonly #database: Database
  readonly #slot: number

  constructor(database: Database, options: { slot: number }) {
    this.#database = database
    this.#slot = options.slot
  }

  /** Where the task stands now, or null: it was in no state for this edit. */
  async edit(id: Uuid, tenant: TenantScope, change: { edit: TaskEdit; actor: string }): Promise<EditedTask | null> {
    const { scheduledAtMs, priority, payload, queue, maxRetries, timeoutMs } = change.edit
    const scheduledAt = typeof scheduledAtMs === 'number' ? new Date(scheduledAtMs) : null
    const [row] = await changeBy<EditedTask & { priority: Priority }>(this.#database, edit, [
      ...[id, tenant, this.#slot, change.actor, fieldsOf(change.edit)],
      ...[scheduledAtMs !== undefined, scheduledAt, priority ?? null, payload ?? null, queue ?? null],
      ...[maxRetries ?? null, timeoutMs === undefined ? null : Math.round(timeoutMs)],
    ])
    return row ?? null
  }
}
