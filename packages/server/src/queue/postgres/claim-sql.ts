import { workflowTokenMark } from '@duly/domain'
import { byKey, type Statement, unnested } from '../../store/database.js'
import { addDepths } from '../../store/transition-parts.js'

/** What a claim gives out of one task; `c` is the open row, `t` the task. Shared by claims, repeats and promotions. */
export const takenColumns = `
  c.id, c.session, c.grant_no as "grant", c.attempt, c.token, c.failures,
  c.crashes + c.undelivered > 0 as suspect, c.tenant, c.queue, c.task_type as "taskType", c.priority, c.gate,
  t.payload, t.metadata, c.timeout_ms::float8 as "timeoutMs",
  date_part('epoch', c.deadline_at) * 1000 as "deadlineAtMs", date_part('epoch', c.started_at) * 1000 as "startedAtMs",
  date_part('epoch', c.ready_at) * 1000 as "readyAtMs", date_part('epoch', t.created_at) * 1000 as "createdAtMs",
  t.idempotency_key as "idempotencyKey", t.traceparent, p.checkpoint, t.cron_id as "cronId",
  date_part('epoch', t.scheduled_at) * 1000 as "scheduledAtMs", t.workflow_id as "workflowId", t.node_name as "nodeName"`

/**
 * Joins of `takenColumns`. A checkpoint can only exist from the second attempt on. The limits keep each a look by key: a plan
 * made while a table is empty would otherwise read all of it for every row, and stay when it has filled.
 */
export const takenJoins = `
  cross join lateral (select t.* from tasks t where t.id = c.id limit 1) t
  left join lateral (select g.checkpoint from task_progress g where g.task_id = c.id and c.attempt > 1 limit 1) p on true`

/** The token of a lease on the row `alias`: of a workflow's task it carries the mark that its lease tells. */
export const markedToken = (token: string, alias: string): string =>
  `${token} + case when ${alias}.workflow_id is null then 0 else ${workflowTokenMark}::bigint end`

/**
 * Counts a grant up for those of the sessions that live and that the node serves, and answers its number. The row is the
 * session's own for this: claims and hand-offs of one session wait for each other, its heartbeats wait for neither. A node that
 * lost the session to another one grants nothing more, for it knows no more what the session holds.
 */
export const grantTo = (sessions: string, node: string): string => `
  update session_grants n set last_grant = n.last_grant + 1
  from worker_sessions s
  where n.session = any (${sessions}) and coalesce(n.node, ${node}) = ${node}
    and s.id = n.session and s.ended_at is null and not s.draining and s.live_until > (select duly_judged_now())
  returning n.session as id, n.last_grant`

/**
 * The claim: for each wanted lane the earliest ready tasks that nobody else holds (I9), given to the sessions named for
 * them, one compare-and-set a task. The session must live in the same statement, and be served by this node, $13; the number of
 * its grants goes up by one if it gets any, which serialises it with the watchdog and with other nodes. A session that was refused
 * what was picked for it is answered beside the tasks: there is work, only not for it. Rows are skipped, not waited for. A suspect
 * goes only to a session that holds none, and one claim gives it no second one from another lane. An expired task that never ran
 * is left to the timer. $6 is the mark below which nothing was found, $7 where the lane's sessions begin in $9.
 *
 * started_at is no earlier than ready_at: now() is the instant at which the statement came in, and it may have seen a
 * promotion that was committed later.
 *
 * Suspects are asked for by a scalar, and the status in `c` (true already: the rows are locked) in words that match no
 * partial index: a plan made while the table was empty would otherwise read all of it at every claim, and stay.
 */
export const claim: Statement = {
  name: 'claim',
  text: `
with wanted as materialized (
  select w.*
  from (${unnested([
    ['queue', 'text'],
    ['priority', 'smallint'],
    ['tenant', 'text'],
    ['gate', 'text'],
    ['count', 'integer'],
    ['mark', 'timestamptz'],
    ['first', 'integer'],
  ])}) w
  where not exists (select 1 from queues q where q.name = w.queue and q.paused)
    and (w.gate <> '!suspect' or (
      select true from open_tasks h where h.session = ($9::uuid[])[w.first] and h.crashes + h.undelivered > 0 limit 1
    ) is null and w.first = (
      select min(e.first) from unnest($4::text[], $7::integer[]) as e (gate, first)
      where e.gate = '!suspect' and ($9::uuid[])[e.first] = ($9::uuid[])[w.first]))
),
picked as materialized (
  select o.id, ($9::uuid[])[w.first - 1 + row_number() over (partition by w.first order by o.ready_at, o.id)] as session,
    row_number() over () as place
  from wanted w cross join lateral (
    select r.id, r.ready_at from open_tasks r
    where r.status = 'PENDING' and r.queue = w.queue and r.priority = w.priority and r.tenant = w.tenant
      and r.gate = w.gate and r.ready_at >= w.mark
      and ($8::text[] is null or r.task_type = any ($8::text[]))
      and (r.expires_at is null or r.expires_at > now() or r.attempt > 0)
    order by r.ready_at, r.id
    limit w.count
    for update skip locked
  ) o
),
granted as materialized (
  ${grantTo('array(select distinct k.session from picked k)', '$13::uuid')}
),
c as materialized (
  update open_tasks o
  set status = 'RUNNING', attempt = o.attempt + 1, session = g.id,
    token = ${markedToken('$10::bigint + k.place', 'o')}, grant_no = g.last_grant,
    started_at = greatest(now(), o.ready_at), deadline_at = now() + o.timeout_ms * interval '1 millisecond',
    wake_at = now() + (o.timeout_ms + $12::bigint) * interval '1 millisecond', lane_version = o.lane_version + 1
  from picked k, granted g
  where ${byKey('o.id', 'k.id')} and g.id = k.session and o.status is not distinct from 'PENDING'
  returning o.*
),
counted as (${addDepths(
    'select c.queue, c.priority, c.tenant, c.gate, $11::integer, -count(*) from c group by 1, 2, 3, 4 order by 1, 2, 3, 4',
  )})
select ${takenColumns} from c ${takenJoins}
union all
select null, k.session, null, null, null, null, null, null, null, null, null, null,
  null, null, null, null, null, null, null, null, null, null, null, null, null, null
from (select k.session from picked k except select g.id from granted g) k`,
}

/**
 * Lanes that have ready tasks, by skipping through the ready index from lane to lane: the cost follows the number of
 * lanes, not of tasks. A paused queue is one row, whatever waits in it.
 */
export const lanes: Statement = {
  name: 'lanes',
  text: `
with named as materialized (
  select n.name, exists (select from queues q where q.name = n.name and q.paused) as paused
  from unnest($1::text[]) as n (name)
)
select q.name as queue, null::smallint as priority, null as tenant, null as gate, true as paused
from named q where q.paused
union all
(select l.queue, l.priority, l.tenant, l.gate, false
from named q cross join lateral (
  with recursive lane as (
    (select r.queue, r.priority, r.tenant, r.gate from open_tasks r
     where r.status = 'PENDING' and r.queue = q.name
     order by r.queue, r.priority, r.tenant, r.gate limit 1)
    union all
    select n.* from lane l cross join lateral (
      select r.queue, r.priority, r.tenant, r.gate from open_tasks r
      where r.status = 'PENDING' and r.queue = q.name
        and (r.queue, r.priority, r.tenant, r.gate) > (l.queue, l.priority, l.tenant, l.gate)
      order by r.queue, r.priority, r.tenant, r.gate limit 1) n
  )
  select * from lane
) l
where not q.paused
limit $2)`,
}

export const depths: Statement = {
  name: 'depths',
  text: `
select queue, priority, tenant, gate, sum(depth)::float8 as depth from counters
where $1::text is null or queue = $1
group by 1, 2, 3, 4 having sum(depth) <> 0
order by 1, 2, 3, 4`,
}

/**
 * Moves tasks of types that a lane's workers do not serve out of their way, into a gate of their own type: the earliest
 * $5 at most. What nobody serves waits and blocks nobody. Not in a paused queue, whose lane is full of what they serve: it
 * would be read to its end.
 */
export const setAside: Statement = {
  name: 'set_aside',
  text: `
with head as materialized (
  select r.id from open_tasks r
  where r.status = 'PENDING' and r.queue = $1 and r.priority = $2::smallint and r.tenant = $3 and r.gate = ''
    and not r.task_type = any ($4::text[]) and not (select exists (select from queues q where q.name = $1 and q.paused))
  order by r.ready_at, r.id limit $5::integer for update skip locked
),
moved as (
  update open_tasks o set gate = o.task_type, lane_version = o.lane_version + 1
  from head h where ${byKey('o.id', 'h.id')} and o.status is not distinct from 'PENDING'
  returning o.queue, o.priority, o.tenant, o.gate
),
delta as (
  select queue, priority, tenant, gate, count(*) as depth from moved group by 1, 2, 3, 4
  union all select queue, priority, tenant, '', -count(*) from moved group by 1, 2, 3
),
counted as (${addDepths('select queue, priority, tenant, gate, $6::integer, depth from delta order by 1, 2, 3, 4')})
select count(*)::integer as moved from moved`,
}
