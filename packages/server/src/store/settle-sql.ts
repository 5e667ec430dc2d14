import { type SweepReason, statusGuard, takesIn, triggerRules } from '@duly/domain'
import { grantTo, markedToken, takenColumns, takenJoins } from '../queue/postgres/claim-sql.js'
import { byKey, type Statement, unnested } from './database.js'
import { ms } from './record-sql.js'
import { countPending, waitingEnd } from './transition-parts.js'

/**
 * Tells the children of these nodes how they ended, and notes it at the nodes themselves unless that was done before. One update for
 * both, since a node can be a child of another one that ended with it. Answers the children that are to be judged: neither ended
 * nor judged to run; if $4, also what a worker is to serve for those of them that all parents have told, once a child whatever its
 * number of parents.
 */
export const passOn: Statement = {
  name: 'pass_on_ends',
  text: `
with input as materialized (${unnested([
    ['id', 'uuid'],
    ['kind', 'text'],
    ['is_noted', 'boolean'],
  ])}),
told as materialized (
  select d.id, max(d.kind) as kind, bool_or(d.is_end) as is_end, sum(d.succeeded)::integer as succeeded,
    sum(d.skipped)::integer as skipped, sum(d.failed)::integer as failed
  from (
    select i.id, case when not i.is_noted then i.kind end as kind, true as is_end, 0 as succeeded, 0 as skipped, 0 as failed
    from input i
    union all
    select e.child, null, false, (i.kind = 'succeeded')::integer, (i.kind = 'skipped')::integer,
      (i.kind in ('failed', 'cancelled'))::integer
    from input i cross join lateral (select e.child from workflow_edges e where ${byKey('e.parent', 'i.id')}) e
  ) d
  group by d.id
),
touched as (
  update workflow_nodes n
  set ended = coalesce(t.kind, n.ended), settled = n.settled or t.is_end, succeeded = n.succeeded + t.succeeded,
    skipped = n.skipped + t.skipped, failed = n.failed + t.failed
  from told t where ${byKey('n.id', 't.id')}
  returning n.*
)
select n.id, n.workflow_id as "workflowId", n.trigger_rule as "triggerRule", n.parents, n.succeeded, n.skipped, n.failed,
  o.tenant, o.queue, o.task_type as "taskType"
from touched n left join lateral (
  select o.tenant, o.queue, o.task_type from open_tasks o
  where $4::boolean and n.succeeded + n.skipped + n.failed = n.parents and o.id = n.id limit 1) o on true
where n.ended is null and n.triggered_at is null`,
}

/** Ends that are more than one transaction passes on: noted, and kept for the next one. */
export const putOff: Statement = {
  name: 'put_off_ends',
  text: `
with input as materialized (${unnested([
    ['id', 'uuid'],
    ['workflow_id', 'uuid'],
    ['kind', 'text'],
  ])}),
noted as (
  update workflow_nodes n set ended = i.kind from input i where ${byKey('n.id', 'i.id')}
)
insert into unsettled_ends (node, workflow_id) select i.id, i.workflow_id from input i on conflict do nothing`,
}

/** The next ends of a workflow that are to be passed on; they count as taken. */
export const takeUnsettled: Statement = {
  name: 'take_unsettled_ends',
  text: `
with taken as materialized (
  delete from unsettled_ends d using (select s.node from unsettled_ends s where s.workflow_id = $1 limit $2) s
  where ${byKey('d.node', 's.node')}
  returning d.node
)
select n.id, n.workflow_id as "workflowId", n.ended as kind
from taken t cross join lateral (select n.* from workflow_nodes n where n.id = t.node limit 1) n`,
}

/** Workflows of which ends are to be passed on, or in which more is to be cancelled; one may come twice. */
export const unsettled: Statement = {
  name: 'unsettled_workflows',
  text: `
select distinct s.workflow_id as id from (select s.workflow_id from unsettled_ends s order by s.workflow_id limit $1) s
union all
select w.id from (select w.id from workflows w where w.sweep_reason is not null order by w.id limit $1) w`,
}

/**
 * Nodes that were judged to run: ready at once, or after their own delay or at their own time. One that is ready and has a session
 * named for it runs at once under that worker's lease: tested as a claim tests it, and that the node is in the queue still for which
 * the worker was chosen. Answers those that were BLOCKED; one that an edit replaced at this very moment is missing, and found by a
 * second try.
 */
export const unblock: Statement = {
  name: 'unblock_nodes',
  text: `
with run as materialized (
  update workflow_nodes n set triggered_at = now()
  from (${unnested([
    ['id', 'uuid'],
    ['session', 'uuid'],
    ['token', 'bigint'],
    ['queue', 'text'],
  ])}) i where ${byKey('n.id', 'i.id')}
  returning n.id, case when n.delay_ms is null then n.due_at
    else greatest(n.due_at, now()) + n.delay_ms * interval '1 millisecond' end as due, i.session, i.token, i.queue
),
wished as materialized (
  select r.id, r.session from run r
  where r.session is not null and coalesce(r.due <= now(), true)
    and not exists (select 1 from queues q where q.name = r.queue and q.paused)
    and (select o.queue = r.queue and o.gate = '' and o.crashes + o.undelivered = 0 and ${statusGuard('unblock', 'o.status')}
      and (o.expires_at is null or o.expires_at > now() or o.attempt > 0) from open_tasks o where o.id = r.id limit 1)
),
granted as materialized (
  ${grantTo('array(select distinct w.session from wished w)', '$7::uuid')}
),
ready as materialized (
  select r.id, r.due, r.session, r.token, g.last_grant as grant_no
  from run r left join wished w on w.id = r.id left join granted g on g.id = w.session
),
up as materialized (
  update open_tasks o
  set status = case when r.due > now() then 'SCHEDULED' when r.grant_no is not null then 'RUNNING' else 'PENDING' end,
    blockers = 0, lane_version = o.lane_version + 1,
    due_at = case when r.due > now() then r.due end, ready_at = case when r.due > now() then null else now() end,
    attempt = case when r.grant_no is null then o.attempt else o.attempt + 1 end,
    session = case when r.grant_no is not null then r.session end,
    token = case when r.grant_no is not null then ${markedToken('r.token', 'o')} end, grant_no = r.grant_no,
    started_at = case when r.grant_no is not null then now() end,
    deadline_at = case when r.grant_no is not null then now() + o.timeout_ms * interval '1 millisecond' end,
    wake_at = case when r.grant_no is not null then now() + (o.timeout_ms + $6::bigint) * interval '1 millisecond'
      when r.due > now() then least(r.due, case when o.attempt = 0 then o.expires_at end)
      when o.attempt = 0 then o.expires_at end
  from ready r where ${byKey('o.id', 'r.id')} and ${statusGuard('unblock', 'o.status')}
  returning o.*
),
asked as (
  update tasks t set scheduled_at = u.due_at from up u where u.due_at is not null and ${byKey('t.id', 'u.id')}
),
counted as (${countPending('up', '', '$5')}),
c as (select * from up where status = 'RUNNING')
select ${takenColumns}, c.status, c.partition, false as "mayExpire", ${ms('c.ready_at', 'dueAtMs')} from c ${takenJoins}
union all
select u.id, null, null, null, null, null, null, u.tenant, u.queue, u.task_type, u.priority, u.gate,
  null, null, null, null, null, null, null, null, null, null, null, null, null, null,
  u.status, u.partition, u.expires_at is not null and u.attempt = 0, ${ms('coalesce(u.due_at, u.ready_at)', 'dueAtMs')}
from up u where u.status <> 'RUNNING'`,
}

/** From where each end of a waiting node may come; a purge takes what is ready alone. */
const mayEnd = `case i.how
  when 'cancel' then ${statusGuard('cancel', 'o.status')}
  when 'purge' then o.status is not distinct from 'PENDING'
  when 'expire' then ${statusGuard('expire', 'o.status')} and o.attempt = 0 and o.expires_at <= now()
  when 'skip' then ${statusGuard('skip', 'o.status')}
  when 'upstream_fail' then ${statusGuard('upstream_fail', 'o.status')} end`

/** Ends nodes that wait, each in its own way: what a parent's end means for them, a cancellation, an expiry, a purge. */
export const endWaiting: Statement = {
  name: 'end_waiting_nodes',
  text: `
with input as materialized (${unnested([
    ['id', 'uuid'],
    ['how', 'text'],
    ['reason', 'text'],
  ])}),
gone as materialized (
  delete from open_tasks o using input i
  where ${byKey('o.id', 'i.id')} and o.workflow_id is not null and ${mayEnd}
  returning o.*, i.reason, case i.how when 'purge' then 'cancel' else i.how end as transition,
    case i.how when 'upstream_fail' then 'FAILED' else 'CANCELLED' end as final
),${waitingEnd({ transition: 'transition', final: 'final', actor: '$4', reason: 'reason', slot: '$5' })}
select id, workflow_id as "workflowId", tenant, queue, task_type as "taskType", final as status, reason,
  ${ms('now()', 'endedAtMs')}
from gone`,
}

/**
 * Holds the next $2 open tasks of a workflow where they stand, so that what is cancelled next misses none: those that could start before
 * those that wait for others. Attempts that were marked before are left out.
 */
export const lockOpen: Statement = {
  name: 'lock_open_nodes',
  text: `
with next as materialized (
  select n.id from workflow_nodes n cross join lateral (
    select o.status from open_tasks o
    where o.id = n.id and (o.status is distinct from 'RUNNING' or o.cancel_requested_at is null) limit 1) o
  where ${byKey('n.workflow_id', '$1::uuid')} and n.ended is null
  order by o.status = 'BLOCKED', n.id limit $2::integer
),
node as materialized (select x.id from next x order by x.id)
select n.id, o.status from node n left join lateral (select o.status from open_tasks o where o.id = n.id for update) o on true`,
}

const takingRules = triggerRules
  .filter(takesIn)
  .map((rule) => `'${rule}'`)
  .join(', ')

/** Whether a node of the workflow `i` ended because all that was open in it was cancelled for this reason. */
const isLeftBy = (reason: SweepReason): string => `exists (
    select from workflow_nodes n cross join lateral (select u.reason from outcomes u where u.id = n.id limit 1) u
    where ${byKey('n.workflow_id', 'i.id')} and n.ended = 'cancelled' and u.reason = '${reason}')`

/** What the verdict on a workflow needs, asked only when its row and its last ends leave a doubt. */
export const verdictFacts: Statement = {
  name: 'workflow_verdict_facts',
  text: `
select i.id,
  (select count(*)::integer from workflow_nodes n
    where ${byKey('n.workflow_id', 'i.id')} and n.ended = 'failed' and (
      select true from workflow_edges e cross join lateral (
        select c.id from workflow_nodes c
        where c.id = e.child and c.triggered_at is not null and c.trigger_rule in (${takingRules}) limit 1) c
      where ${byKey('e.parent', 'n.id')} limit 1) is null) as untaken,
  exists (select from workflow_nodes n where ${byKey('n.workflow_id', 'i.id')} and n.ended = 'succeeded') as "hasSucceeded",
  case when ${isLeftBy('workflow_failed')} then 'workflow_failed' when ${isLeftBy('workflow_cancelled')} then 'workflow_cancelled' end
    as "leftBy"
from unnest($1::uuid[]) as i (id)`,
}
