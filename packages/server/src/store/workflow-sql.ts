import { grantTo, markedToken } from '../queue/postgres/claim-sql.js'
import { byKey, type Statement, unnested } from './database.js'
import { askedColumns, countPlaced, storeTasks } from './intake-sql.js'
import { ms } from './record-sql.js'
import { ofTenant } from './tenant-scope.js'

/**
 * The rows of workflows, in the order of their keys, so that two groups never lock each other out, the first of twins first; says
 * which were made: the key of the others is held.
 */
export const insertWorkflows: Statement = {
  name: 'insert_workflows',
  text: `
insert into workflows (id, tenant, name, status, failure_policy, idempotency_key, request_hash, holds_key, metadata, created_at,
  scheduled_at, nodes, edges, open, traceparent)
select i.id, i.tenant, i.name, 'RUNNING', i.failure_policy, i.key, i.request_hash, i.key is not null, i.metadata, now(),
  i.scheduled_at, i.nodes, i.edges, i.nodes, i.traceparent
from (${unnested([
    ['id', 'uuid'],
    ['tenant', 'text'],
    ['name', 'text'],
    ['failure_policy', 'text'],
    ['key', 'text'],
    ['request_hash', 'bytea'],
    ['metadata', 'text'],
    ['scheduled_at', 'timestamptz'],
    ['nodes', 'integer'],
    ['edges', 'integer'],
    ['traceparent', 'text'],
  ])}, generate_subscripts($1::uuid[], 1) as place) i
order by i.tenant, i.key, i.place
on conflict (tenant, idempotency_key) where holds_key do nothing
returning id`,
}

/** What a node is beside its task, in the order of the parameters behind those of the task. */
const nodeColumns = [
  ['start_at', 'timestamptz'],
  ['workflow_id', 'uuid'],
  ['node_name', 'text'],
  ['position', 'integer'],
  ['trigger_rule', 'text'],
  ['parents', 'integer'],
  ['added_by', 'uuid'],
  ['request_hash', 'bytea'],
  ['submitted_by', 'uuid'],
  ['session', 'uuid'],
  ['token', 'bigint'],
] as const

/**
 * Nodes with their tasks, what they wait for, and the depth of their lanes. What has parents is BLOCKED; all else waits for the start of
 * its workflow and for its own time, a delay being counted from that start. One that is due and has a session named for it is handed
 * to that waiting worker, as a task by itself is.
 */
export const insertNodes: Statement = {
  name: 'insert_nodes',
  text: `
with input as materialized (${unnested([...askedColumns, ...nodeColumns])}),
granted as materialized (
  ${grantTo('$38::uuid[]', '$39::uuid')}
),
judged as materialized (
  select i.*, d.due, g.last_grant
  from input i
  cross join lateral (select case when i.parents = 0 then greatest(i.scheduled_at, i.start_at,
    greatest(i.start_at, now()) + nullif(i.delay_ms, 0) * interval '1 millisecond') end as due) d
  left join granted g on i.session is not null and g.id = i.session and i.parents = 0 and coalesce(d.due <= now(), true)
    and (i.expires_at is null or i.expires_at > now())
    and not exists (select 1 from queues q where q.name = i.queue and q.paused)
),
placed as (
  insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, due_at, ready_at, wake_at,
    expires_at, timeout_ms, result_ttl_ms, concurrency_key, workflow_id, blockers, attempt, session, token, grant_no,
    started_at, deadline_at)
  select j.id, j.partition,
    case when j.parents > 0 then 'BLOCKED' when j.due > now() then 'SCHEDULED' when j.last_grant is not null then 'RUNNING'
      else 'PENDING' end,
    j.tenant, j.queue, j.task_type, j.priority, case when j.due > now() then j.due end,
    case when j.parents > 0 or j.due > now() then null else now() end,
    case when j.last_grant is not null then now() + (j.timeout_ms + $37::bigint) * interval '1 millisecond'
      when j.due > now() then least(j.due, j.expires_at) else j.expires_at end,
    j.expires_at, j.timeout_ms, j.result_ttl_ms, j.concurrency_key, j.workflow_id, least(j.parents, 1),
    case when j.last_grant is null then 0 else 1 end,
    case when j.last_grant is not null then j.session end,
    case when j.last_grant is not null then ${markedToken('j.token', 'j')} end, j.last_grant,
    case when j.last_grant is not null then now() end,
    case when j.last_grant is not null then now() + j.timeout_ms * interval '1 millisecond' end
  from judged j
  returning id, status, tenant, queue, priority, due_at, grant_no, deadline_at
),
stored as (${storeTasks('judged', 'coalesce(i.due, i.scheduled_at)', ['workflow_id', 'node_name', 'submitted_by'])}
),
nodes as (
  insert into workflow_nodes (id, workflow_id, position, name, trigger_rule, parents, triggered_at, delay_ms, due_at,
    added_by, request_hash)
  select i.id, i.workflow_id, i.position, i.node_name, i.trigger_rule, i.parents, case when i.parents = 0 then now() end,
    nullif(i.delay_ms, 0), case when i.parents = 0 then greatest(i.scheduled_at, i.start_at) else i.scheduled_at end,
    i.added_by, i.request_hash
  from input i
),
edges as (
  insert into workflow_edges (parent, child) select unnest($34::uuid[]), unnest($35::uuid[])
),
counted as (${countPlaced('$36')})
select p.id, p.status, ${ms('now()', 'createdAtMs')}, ${ms('p.due_at', 'dueAtMs')}, p.grant_no as "grant",
  ${ms('p.deadline_at', 'deadlineAtMs')}
from placed p`,
}

/** Who holds these keys; a second statement, since the first one's snapshot can't see who won against it. */
export const keyHolders: Statement = {
  name: 'workflow_key_holders',
  text: `
select h.id, h.tenant, h.idempotency_key as key, h.request_hash as "requestHash"
from unnest($1::text[], $2::text[]) as k (tenant, key)
cross join lateral (
  select h.* from workflows h where h.tenant = k.tenant and h.idempotency_key = k.key and h.holds_key limit 1) h`,
}

/** Workflows that are there, of which an earlier submission made some, and their nodes, by position. */
export const standing: Statement = {
  name: 'workflow_standing',
  text: `
select w.id, w.status, n.id as "nodeId", n.name, n.position, coalesce(u.status, o.status) as "nodeStatus"
from unnest($1::uuid[]) as i (id)
cross join lateral (select w.* from workflows w where w.id = i.id limit 1) w
cross join lateral (select n.* from workflow_nodes n where ${byKey('n.workflow_id', 'w.id')}) n
left join lateral (select u.status from outcomes u where u.id = n.id limit 1) u on true
left join lateral (select o.status from open_tasks o where o.id = n.id limit 1) o on true`,
}

/** The columns of a locked workflow. */
const lockedColumns = `
  w.id, w.tenant, w.name, w.status, w.failure_policy as "failurePolicy", w.nodes, w.edges, w.open, w.failed, w.run,
  ${ms('w.created_at', 'createdAtMs')}, w.cancel_requested_at is not null as "cancelRequested", w.sweep_reason as "sweepReason",
  w.sweep_actor as "sweepActor"`

/**
 * THE lock: whoever ends or re-opens a task of a workflow holds the row of the workflow first (ADR 19). In the order of their ids. A
 * statement by itself, so that the next one's snapshot has what the one who held the lock before did.
 */
export const lockOf: Statement = {
  name: 'lock_workflows_of',
  text: `
select ${lockedColumns} from workflows w
where w.id = any (array(
  select distinct n.workflow_id from unnest($1::uuid[]) as i (id)
  cross join lateral (select n.workflow_id from workflow_nodes n where n.id = i.id limit 1) n))
order by w.id for update`,
}

/** One workflow for a call of its own, or those that a duty goes on with. */
export const lockOne: Statement = {
  name: 'lock_workflow',
  text: `select ${lockedColumns} from workflows w where w.id = $1 and ${ofTenant('w.tenant', '$2')} for update`,
}

/** Why what is open in it is being cancelled, and by whom, for the transactions that go on with it; null: nothing is left to be. */
export const keepSweep: Statement = {
  name: 'keep_sweep',
  text: `update workflows w set sweep_reason = $2, sweep_actor = $3 where w.id = $1`,
}

/** What ended, by count; a status closes the workflow. The counters are exact under the lock. */
export const tally: Statement = {
  name: 'tally_workflows',
  text: `
update workflows w
set open = w.open - i.ended, failed = w.failed + i.failed, status = coalesce(i.status, w.status),
  completed_at = case when i.status is not null then now() else w.completed_at end
from (${unnested([
    ['id', 'uuid'],
    ['ended', 'integer'],
    ['failed', 'integer'],
    ['status', 'text'],
  ])}) i
where ${byKey('w.id', 'i.id')}
returning w.id, w.name, w.tenant, w.status, w.open > 0 as "isOpen", date_part('epoch', now() - w.created_at) * 1000 as "durationMs"`,
}
