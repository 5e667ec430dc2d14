import type { Uuid } from '@duly/domain'
import { byKey } from '../database.js'
import type { OwnConnection } from '../own-connection.js'

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

/** One step through a table: where the next one begins (null: it was the last), and how many rows went. */
export interface Swept<Place> {
  readonly next: Place | null
  readonly removed: number
}

/** Rows of tasks that are gone. Only below an edge under which no task is made any more. */
const sweepRelated = Object.fromEntries(
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
const sweepKeys = {
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
const sweepRuns = {
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
const sweepFirings = {
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
const sweepSessions = {
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
const sweepRevoked = {
  name: 'retention_sweep_api_keys',
  text: `
with past as (
  select k.id from api_keys k where k.revoked_at < $1::timestamptz limit $2 for update skip locked
),
gone as (delete from api_keys k using past p where k.id = p.id returning 1)
select count(*)::integer as removed from gone`,
}

/**
 * Counters of lanes in which nothing waits. Any rows that sum up to zero may go: the sum stays what it was, and a writer that
 * waits for one of them writes it anew. Rows that others hold are skipped, so nobody is waited for.
 */
const sweepCounters = {
  name: 'retention_sweep_counters',
  text: `
with lane as materialized (
  select c.queue, c.priority, c.tenant, c.gate from counters c
  where (c.queue, c.priority, c.tenant, c.gate) > ($1::text, $2::smallint, $3::text, $4::text)
  group by 1, 2, 3, 4 order by 1, 2, 3, 4 limit $5
),
held as materialized (
  select c.* from lane l cross join lateral (
    select c.* from counters c
    where c.queue = l.queue and c.priority = l.priority and c.tenant = l.tenant and c.gate = l.gate
    for update skip locked
  ) c
),
idle as materialized (
  select h.queue, h.priority, h.tenant, h.gate from held h group by 1, 2, 3, 4 having sum(h.depth) = 0
),
gone as (
  delete from counters c using idle i join held h using (queue, priority, tenant, gate)
  where c.queue = h.queue and c.priority = h.priority and c.tenant = h.tenant and c.gate = h.gate and c.slot = h.slot
  returning 1
)
select (select count(*)::integer from gone) as removed,
  case when (select count(*) from lane) = $5 then (
    select json_build_array(l.queue, l.priority, l.tenant, l.gate) from lane l order by l.queue desc, l.priority desc, l.tenant desc, l.gate desc limit 1
  ) end as next`,
}

/** Counts of groups of dead letters that are gone: as of lanes, any that sum up to zero may go. */
const sweepLetterCounts = {
  name: 'retention_sweep_letter_counts',
  text: `
with looked as materialized (
  select c.tenant, c.queue, c.task_type, c.fingerprint from dead_letter_counts c
  where (c.tenant, c.queue, c.task_type, c.fingerprint) > ($1::text, $2::text, $3::text, $4::text)
  group by 1, 2, 3, 4 order by 1, 2, 3, 4 limit $5
),
held as materialized (
  select c.* from looked l cross join lateral (
    select c.* from dead_letter_counts c
    where c.tenant = l.tenant and c.queue = l.queue and c.task_type = l.task_type and c.fingerprint = l.fingerprint
    for update skip locked
  ) c
),
idle as materialized (
  select h.tenant, h.queue, h.task_type, h.fingerprint from held h group by 1, 2, 3, 4 having sum(h.letters) = 0
),
gone as (
  delete from dead_letter_counts c using idle i join held h using (tenant, queue, task_type, fingerprint)
  where c.tenant = h.tenant and c.queue = h.queue and c.task_type = h.task_type and c.fingerprint = h.fingerprint
    and c.slot = h.slot
  returning 1
)
select (select count(*)::integer from gone) as removed,
  case when (select count(*) from looked) = $5 then (
    select json_build_array(l.tenant, l.queue, l.task_type, l.fingerprint) from looked l
    order by l.tenant desc, l.queue desc, l.task_type desc, l.fingerprint desc limit 1
  ) end as next`,
}

/** Operations on many tasks that ended so long ago. */
const sweepBulk = {
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
const clearResults = {
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

/** Keys of workflows that ended before the cutoff are free again. */
const freeWorkflowKeys = {
  name: 'retention_free_workflow_keys',
  text: `
with past as materialized (
  select w.id from workflows w where w.holds_key and w.completed_at < $1::timestamptz
  order by w.completed_at limit $2 for update skip locked
),
freed as (update workflows w set holds_key = false from past p where ${byKey('w.id', 'p.id')} returning 1)
select count(*)::integer as removed from freed`,
}

/**
 * Workflows that ended before the cutoff, of which no dead letter is left, with their graphs: at most so many rows a step, and one workflow
 * in any case. The records of their tasks can go after them.
 */
const sweepWorkflows = {
  name: 'retention_sweep_workflows',
  text: `
with seen as materialized (
  select w.id, w.completed_at, w.failed, w.nodes + w.edges as rows from workflows w
  where w.completed_at < $1::timestamptz and (w.completed_at, w.id) > ($2::timestamptz, $3::uuid)
  order by w.completed_at, w.id limit $4 for update skip locked
),
summed as materialized (
  select s.*, sum(s.rows) over (order by s.completed_at, s.id) - s.rows as before from seen s
),
step as materialized (select s.* from summed s where s.before < $5::bigint),
past as materialized (
  select s.id from step s where s.id < $6::uuid and (s.failed = 0 or (
    select true from workflow_nodes n cross join lateral (select from dead_letters d where d.task_id = n.id limit 1) d
    where ${byKey('n.workflow_id', 's.id')} limit 1) is null)
),
nodes as materialized (
  delete from workflow_nodes n using past p where ${byKey('n.workflow_id', 'p.id')} returning n.id
),
edges as (delete from workflow_edges e using nodes n where ${byKey('e.child', 'n.id')}),
gone as (delete from workflows w using past p where ${byKey('w.id', 'p.id')} returning 1),
final as (select s.* from step s order by s.completed_at desc, s.id desc limit 1)
select (select count(*)::integer from gone) as removed,
  case when (select count(*) from seen) = $4 or (select count(*) from step) < (select count(*) from seen)
    then (select json_build_array(f.completed_at::text, f.id) from final f) end as next`,
}

/** A place among the workflows that have ended: instant, id. */
export type WorkflowPlace = readonly [completedAt: string, id: Uuid]
/** A place among the keys: instant, tenant, key. */
export type KeyPlace = readonly [createdAt: string, tenant: string, key: string]
/** A place among the firings: when it was judged, definition, fire time. */
export type FiringPlace = readonly [firedAt: string, cronId: Uuid, fireTime: string]
/** A place among the lanes: queue, priority, tenant, gate. */
export type LanePlace = readonly [queue: string, priority: number, tenant: string, gate: string]
/** A place among the groups of dead letters: tenant, queue, task type, fingerprint. */
export type GroupPlace = readonly [tenant: string, queue: string, taskType: string, fingerprint: string]

/** Removal of what hangs on tasks, and of what is simply old: bounded steps, each a statement of its own. */
export class SweepStore {
  readonly #connection: OwnConnection

  constructor(connection: OwnConnection) {
    this.#connection = connection
  }

  related(table: RelatedTable, place: Uuid, edge: Uuid, limit: number): Promise<Swept<Uuid>> {
    return this.#step<Uuid>(sweepRelated[table], [place, edge, limit])
  }

  keys(cutoff: string, place: KeyPlace, limit: number): Promise<Swept<KeyPlace>> {
    return this.#step<KeyPlace>(sweepKeys, [cutoff, ...place, limit])
  }

  counters(place: LanePlace, limit: number): Promise<Swept<LanePlace>> {
    return this.#step<LanePlace>(sweepCounters, [...place, limit])
  }

  letterCounts(place: GroupPlace, limit: number): Promise<Swept<GroupPlace>> {
    return this.#step<GroupPlace>(sweepLetterCounts, [...place, limit])
  }

  async bulk(cutoff: string, limit: number): Promise<number> {
    return (await this.#step(sweepBulk, [cutoff, limit])).removed
  }

  async runs(cutoff: string, limit: number): Promise<number> {
    return (await this.#step(sweepRuns, [cutoff, limit])).removed
  }

  firings(cutoff: string, place: FiringPlace, limit: number): Promise<Swept<FiringPlace>> {
    return this.#step<FiringPlace>(sweepFirings, [cutoff, ...place, limit])
  }

  async sessions(limit: number): Promise<number> {
    return (await this.#step(sweepSessions, [limit])).removed
  }

  async workflowKeys(cutoff: string, limit: number): Promise<number> {
    return (await this.#step(freeWorkflowKeys, [cutoff, limit])).removed
  }

  /** Below the edge; `limit` of them at once, and ten times as many rows of their graphs. */
  workflows(
    cutoff: string,
    place: WorkflowPlace,
    { limit, edge }: { limit: number; edge: string },
  ): Promise<Swept<WorkflowPlace>> {
    return this.#step<WorkflowPlace>(sweepWorkflows, [cutoff, ...place, limit, limit * 10, edge])
  }

  async revoked(cutoff: string, limit: number): Promise<number> {
    return (await this.#step(sweepRevoked, [cutoff, limit])).removed
  }

  /** `seen`: those that were looked at; fewer than the limit when there are no more. */
  async results(limit: number): Promise<{ readonly removed: number; readonly seen: number }> {
    const [row] = await this.#connection.query<{ removed: number; seen: number }>(clearResults, [limit])
    return row ?? { removed: 0, seen: 0 }
  }

  async #step<Place = never>(
    statement: { name: string; text: string },
    values: readonly unknown[],
  ): Promise<Swept<Place>> {
    const [row] = await this.#connection.query<Swept<Place>>(statement, values)
    return row ?? { next: null, removed: 0 }
  }
}
