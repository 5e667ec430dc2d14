import { byKey, type Statement } from './database.js'
import { ms } from './record-sql.js'
import { ofTenant } from './tenant-scope.js'

const summaryColumns = `
  w.id, w.name, w.status, w.tenant, ${ms('w.created_at', 'createdAtMs')}, ${ms('w.scheduled_at', 'scheduledAtMs')},
  ${ms('w.completed_at', 'completedAtMs')}, w.cancel_requested_at is not null as "cancelRequested",
  w.failure_policy as "failurePolicy", w.nodes, w.open, w.failed`

export const readSummary: Statement = {
  name: 'read_workflow_summary',
  text: `select ${summaryColumns} from workflows w where w.id = $1 and ${ofTenant('w.tenant', '$2')}`,
}

export const readWorkflow: Statement = {
  name: 'read_workflow',
  text: `
select ${summaryColumns}, w.metadata, w.idempotency_key as "idempotencyKey", w.run, w.edges
from workflows w where w.id = $1 and ${ofTenant('w.tenant', '$2')}`,
}

/** How a node ended, in the words of a task: what is left of it when its own record is gone. */
const endedStatus = `case n.ended when 'succeeded' then 'SUCCEEDED' when 'failed' then 'FAILED' else 'CANCELLED' end`

/** Ids and names of the nodes of one workflow, by position, each kind in one value: 10,000 rows cost ten times as much to read. */
export const readNames: Statement = {
  name: 'read_workflow_names',
  text: `
select string_agg(n.id::text, '' order by n.position) as ids, json_agg(n.name order by n.position) as names
from workflow_nodes n where n.workflow_id = $1`,
}

/**
 * The nodes of one workflow with their tasks, by position, and what each waits for, or waited for: the ids of its parents in one value, as
 * there may be 100,000 of them. They are fetched from the cursor in parts.
 */
export const openNodes: Statement = {
  name: 'open_workflow_nodes',
  text: `
declare workflow_nodes_read no scroll cursor for
select n.id, n.name, coalesce(t.task_type, '') as "taskType", coalesce(t.queue, '') as queue,
  coalesce(u.status, o.status, ${endedStatus}) as status, n.trigger_rule as "triggerRule",
  ${ms('coalesce(t.created_at, n.triggered_at)', 'createdAtMs')}, ${ms('coalesce(u.started_at, o.started_at)', 'startedAtMs')},
  ${ms('n.triggered_at', 'triggeredAtMs')}, ${ms('u.completed_at', 'completedAtMs')}, ${ms('o.due_at', 'dueAtMs')},
  (coalesce(u.attempt, o.attempt, 0) - (select count(*) from failed_attempts x
    where x.task_id = n.id and x.outcome = 'undelivered'))::integer as attempts,
  coalesce(u.failures, o.failures, 0) as failures, coalesce(u.reason, o.cancel_reason) as reason,
  coalesce(u.error_class, f.error_class) as "errorClass", coalesce(u.error_message, f.error_message) as "errorMessage",
  null as "errorStack", n.added_by as "addedBy",
  (select string_agg(e.parent::text, '') from workflow_edges e where ${byKey('e.child', 'n.id')}) as parents
from workflow_nodes n
left join lateral (select t.* from tasks t where t.id = n.id limit 1) t on true
left join lateral (select u.* from outcomes u where u.id = n.id limit 1) u on true
left join lateral (select o.* from open_tasks o where o.id = n.id limit 1) o on true
left join lateral (
  select a.error_class, a.error_message from failed_attempts a
  where a.task_id = n.id and u.id is null and a.run = o.run and a.error_class is not null
  order by a.attempt desc limit 1) f on true
where n.workflow_id = $1 order by n.position`,
}

/** The next ones; so few that a node is not away from others for long while it takes them in. */
export const fetchNodes = (count: number): Statement => ({
  name: `fetch_workflow_nodes_${count}`,
  text: `fetch ${count} from workflow_nodes_read`,
})

/** How many run, counted up to $1. */
export const countOpen: Statement = {
  name: 'count_open_workflows',
  text: `select count(*)::integer as open from (select from workflows w where w.status = 'RUNNING' and w.status <> 'SUCCEEDED' limit $1) w`,
}

/**
 * What a list walks along, newest first. Parameters of each: $1 ids before it, $2 ids from it on, $3 rows wanted, $4 rows looked at,
 * $5 tenant, $6 name, $7 status, $8 created from, $9 created before.
 */
const walks = {
  tenant: 'w.tenant = $5::text and',
  status: `w.status = $7::text and w.status <> 'SUCCEEDED' and`,
  all: '',
} as const

export type WorkflowDriver = keyof typeof walks

/** One page; when it yields fewer rows than wanted, `edge` is the last one looked at, or null: that was all. */
function listBy(driver: WorkflowDriver): Statement {
  return {
    name: `list_workflows_by_${driver}`,
    text: `
with seen as materialized (
  select w.id, w.tenant, w.name, w.status, w.created_at from workflows w
  where ${walks[driver]} w.id < $1::uuid and w.id >= $2::uuid
  order by ${driver === 'all' ? '' : `w.${driver} desc, `}w.id desc limit $4::integer
),
page as materialized (
  select s.id from seen s
  where ($5::text is null or s.tenant = $5) and ($6::text is null or s.name = $6) and ($7::text is null or s.status = $7)
    and ($8::timestamptz is null or s.created_at >= $8) and ($9::timestamptz is null or s.created_at < $9)
  order by s.id desc limit $3::integer
)
select case when (select count(*) from page) < $3::integer and (select count(*) from seen) = $4::integer
    then (select s.id from seen s order by s.id limit 1) end as edge, r.*
from (select true) one left join (
  select ${summaryColumns}
  from page g cross join lateral (select w.* from workflows w where w.id = g.id limit 1) w
) r on true
order by r.id desc`,
  }
}

export const lists: Readonly<Record<WorkflowDriver, Statement>> = {
  tenant: listBy('tenant'),
  status: listBy('status'),
  all: listBy('all'),
}
