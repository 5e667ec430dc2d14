import { byKey } from '../database.js'

/** Keys of workflows that ended before the cutoff are free again. */
export const freeWorkflowKeys = {
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
export const sweepWorkflows = {
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
