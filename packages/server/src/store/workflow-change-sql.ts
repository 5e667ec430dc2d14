import { statusGuard, workflowStatusGuard } from '@duly/domain'
import { byKey, type Statement, unnested } from './database.js'
import { ms } from './record-sql.js'
import { takenBack } from './transition-parts.js'

/** Whoever wants a workflow cancelled; what that does is in the same transaction. */
export const requestCancel: Statement = {
  name: 'request_workflow_cancel',
  text: `
update workflows w set cancel_requested_at = now(), cancel_actor = $2
where w.id = $1 and ${workflowStatusGuard('request_cancel', 'w.status')} and w.cancel_requested_at is null`,
}

/** The graph of a workflow as a retry sees it, by position. */
export const readStanding: Statement = {
  name: 'read_nodes_standing',
  text: `
select n.id, n.name, n.trigger_rule as "triggerRule", n.ended as "end", n.triggered_at is not null as triggered,
  n.delay_ms is not null or n.due_at > now() as "isDelayed", coalesce(u.discarded_at is null, false) as "isKept",
  ${ms('u.completed_at', 'endedAtMs')}
from workflow_nodes n
left join lateral (select u.discarded_at, u.completed_at from outcomes u where u.id = n.id limit 1) u on true
where n.workflow_id = $1 order by n.position`,
}

/** Whether ends of the workflow are still to be passed on. */
export const isUnsettled: Statement = {
  name: 'is_workflow_unsettled',
  text: `select exists (select from unsettled_ends s where s.workflow_id = $1) as is`,
}

/**
 * Nodes that are to run again: deleting the outcome is the compare-and-set, as for any task. All come back BLOCKED, with their parents
 * counted anew; those that wait for none are unblocked next, in the same transaction, and their events say PENDING.
 */
export const reopen: Statement = {
  name: 'reopen_nodes',
  text: `
with input as materialized (${unnested([
    ['id', 'uuid'],
    ['partition', 'smallint'],
    ['next', 'text'],
    ['succeeded', 'integer'],
    ['skipped', 'integer'],
    ['failed', 'integer'],
  ])}),
gone as materialized (
  delete from outcomes u using input i
  where ${byKey('u.id', 'i.id')} and ${statusGuard('replay', 'u.status')} and u.discarded_at is null
  returning u.*, i.partition, i.next, i.succeeded, i.skipped, i.failed
),${takenBack({ next: 'next', actor: '$7', reason: 'null', slot: '$8' })},
again as (
  insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, blockers, timeout_ms,
    result_ttl_ms, concurrency_key, workflow_id, attempt, releases, run)
  select t.id, g.partition, 'BLOCKED', t.tenant, t.queue, t.task_type, t.priority, 1, t.timeout_ms,
    t.result_ttl_ms, t.concurrency_key, t.workflow_id, g.attempt, g.releases, g.run + 1
  from gone g cross join lateral (select t.* from tasks t where t.id = g.id limit 1) t
  returning id
),
nodes as (
  update workflow_nodes n
  set ended = null, settled = false, triggered_at = null, succeeded = g.succeeded, skipped = g.skipped, failed = g.failed
  from gone g where ${byKey('n.id', 'g.id')}
)
select a.id from again a`,
}

/** Nodes that stay as they are while fewer of their parents have ended. */
export const recount: Statement = {
  name: 'recount_nodes',
  text: `
update workflow_nodes n set succeeded = i.succeeded, skipped = i.skipped, failed = i.failed
from (${unnested([
    ['id', 'uuid'],
    ['succeeded', 'integer'],
    ['skipped', 'integer'],
    ['failed', 'integer'],
  ])}) i
where ${byKey('n.id', 'i.id')}`,
}

/** The workflow of nodes that run again is open; a cancellation that it had is over. */
export const resume: Statement = {
  name: 'resume_workflow',
  text: `
update workflows w
set status = 'RUNNING', completed_at = null, open = w.open + $2::integer, failed = w.failed - $3::integer, run = w.run + 1,
  cancel_requested_at = null, cancel_actor = null
where w.id = $1`,
}

/** Holds the running attempt that adds nodes, if the lease is its: none of this counts once it is lost (I4). */
export const lockAdder: Statement = {
  name: 'lock_adder',
  text: `
select o.cancel_reason as "cancelReason" from open_tasks o
where o.id = $1 and o.workflow_id = $2 and o.status = 'RUNNING' and o.attempt = $3::integer and o.token = $4::bigint
for update`,
}

/** Nodes of a workflow by their names. */
export const findNodes: Statement = {
  name: 'find_nodes',
  text: `
select n.id, n.name, n.added_by as "addedBy", n.request_hash as "requestHash", coalesce(u.status, o.status) as status
from unnest($2::text[]) as i (name)
cross join lateral (select n.* from workflow_nodes n where n.workflow_id = $1 and n.name = i.name limit 1) n
left join lateral (select u.status from outcomes u where u.id = n.id limit 1) u on true
left join lateral (select o.status from open_tasks o where o.id = n.id limit 1) o on true`,
}

/** A workflow with nodes more. */
export const grow: Statement = {
  name: 'grow_workflow',
  text: `
update workflows w set nodes = w.nodes + $2::integer, open = w.open + $2::integer, edges = w.edges + $3::integer
where w.id = $1`,
}

/**
 * Counts parents of new nodes that had ended before: those whose ends were passed on, since the others are going to tell. Answers the
 * nodes that are to be judged.
 */
export const countEnded: Statement = {
  name: 'count_ended_parents',
  text: `
with counted as materialized (
  select i.id, (count(*) filter (where p.ended = 'succeeded'))::integer as succeeded,
    (count(*) filter (where p.ended = 'skipped'))::integer as skipped,
    (count(*) filter (where p.ended in ('failed', 'cancelled')))::integer as failed
  from unnest($1::uuid[]) as i (id)
  cross join lateral (select e.parent from workflow_edges e where ${byKey('e.child', 'i.id')}) e
  cross join lateral (select p.ended from workflow_nodes p where p.id = e.parent and p.settled limit 1) p
  group by i.id
)
update workflow_nodes n set succeeded = c.succeeded, skipped = c.skipped, failed = c.failed
from counted c where ${byKey('n.id', 'c.id')}
returning n.id, n.workflow_id as "workflowId", n.trigger_rule as "triggerRule", n.parents, n.succeeded, n.skipped, n.failed`,
}

/** What the nodes of one workflow wait for, or waited for. */
export const readEdges: Statement = {
  name: 'read_workflow_edges',
  text: `
select e.parent, e.child
from workflow_nodes n cross join lateral (
  select e.parent, e.child from workflow_edges e where ${byKey('e.child', 'n.id')}) e
where n.workflow_id = $1`,
}
