-- What must be true of a store, one query each; a row that comes out is a violation (subject, detail).
-- "at rest" ones hold when nothing is in flight; the others also under load. Instants get 10 s of patience.

-- invariant: a task is open or finished, never both and never neither
select t.id as subject, concat('open: ', o.id is not null, ', finished: ', u.id is not null) as detail
from tasks t left join open_tasks o on o.id = t.id left join outcomes u on u.id = t.id
where (o.id is null) = (u.id is null);

-- invariant: nothing is open or finished without having been asked for
select coalesce(o.id, u.id) as subject, concat('status: ', o.status, u.status) as detail
from open_tasks o full join outcomes u on u.id = o.id
where not exists (select from tasks t where t.id = coalesce(o.id, u.id));

-- invariant: what is open and what was asked agree, also after an edit
select o.id as subject, concat(o.queue, ' ', o.priority, ' ', o.timeout_ms, ', asked: ', t.queue, ' ', t.priority, ' ', t.timeout_ms) as detail
from open_tasks o join tasks t on t.id = o.id
where (o.tenant, o.queue, o.task_type, o.priority, o.timeout_ms) is distinct from (t.tenant, t.queue, t.task_type, t.priority, t.timeout_ms);

-- invariant: no delayed or retrying task is past its due time
select id as subject, concat(status, ' due ', due_at) as detail
from open_tasks where status in ('SCHEDULED', 'RETRYING') and due_at < now() - interval '10 seconds';

-- invariant: no task waits past its expiry
select id as subject, concat(status, ' expired ', expires_at) as detail
from open_tasks where status <> 'RUNNING' and attempt = 0 and expires_at < now() - interval '10 seconds';

-- invariant: no running task is past its deadline and grace
select id as subject, concat('deadline ', deadline_at, ', watched from ', wake_at) as detail
from open_tasks where status = 'RUNNING' and wake_at < now() - interval '10 seconds';

-- invariant: no running task without a live session
-- at rest
select o.id as subject, concat('session ', o.session, ' lived until ', s.live_until, ', ended ', s.ended_at) as detail
from open_tasks o left join worker_sessions s on s.id = o.session
where o.status = 'RUNNING' and (s.id is null or s.ended_at is not null or s.live_until < now() - interval '10 seconds');

-- invariant: a session holds no more tasks than it has slots
select s.id as subject, concat(count(*), ' tasks, ', s.slots, ' slots') as detail
from open_tasks o join worker_sessions s on s.id = o.session
group by s.id having count(*) > s.slots;

-- invariant: a session holds at most one suspect
select session as subject, concat(count(*), ' suspects') as detail
from open_tasks where session is not null and crashes > 0
group by session having count(*) > 1;

-- invariant: no grant has a number that its session has not given yet
select o.id as subject, concat('grant ', o.grant_no, ', last given ', n.last_grant) as detail
from open_tasks o join session_grants n on n.session = o.session where o.grant_no > n.last_grant;

-- invariant: the dead letters are the dead tasks that nobody discarded
select coalesce(u.id, d.task_id) as subject, concat('dead: ', u.id is not null, ', letter: ', d.task_id is not null) as detail
from (select id from outcomes where status = 'DEAD' and discarded_at is null) u full join dead_letters d on d.task_id = u.id
where u.id is null or d.task_id is null;

-- invariant: the counts of dead letters are those of each group
-- at rest
select concat_ws(' / ', coalesce(c.tenant, d.tenant), coalesce(c.queue, d.queue), coalesce(c.task_type, d.task_type), coalesce(c.fingerprint, d.fingerprint)) as subject,
  concat(coalesce(c.letters, 0), ' counted, ', coalesce(d.letters, 0), ' dead letters') as detail
from (select tenant, queue, task_type, fingerprint, sum(letters) as letters from dead_letter_counts group by 1, 2, 3, 4) c
full join (
  select tenant, queue, task_type, fingerprint, count(*) as letters from dead_letters where fingerprint is not null group by 1, 2, 3, 4) d
  using (tenant, queue, task_type, fingerprint)
where coalesce(c.letters, 0) <> coalesce(d.letters, 0);

-- invariant: an operation on many tasks counts each of them once
select b.id as subject, concat(b.matched, ' matched, ', b.done, ' done, ', b.skipped, ' skipped, ', b.failed, ' failed') as detail
from bulk_operations b where b.matched <> b.done + b.skipped + b.failed;

-- invariant: the counters are the waiting tasks of each lane
-- at rest
select concat_ws(' / ', coalesce(c.queue, o.queue), coalesce(c.priority, o.priority), coalesce(c.tenant, o.tenant), coalesce(c.gate, o.gate)) as subject,
  concat(coalesce(c.depth, 0), ' counted, ', coalesce(o.depth, 0), ' waiting') as detail
from (select queue, priority, tenant, gate, sum(depth) as depth from counters group by 1, 2, 3, 4) c
full join (select queue, priority, tenant, gate, count(*) as depth from open_tasks where status = 'PENDING' group by 1, 2, 3, 4) o
  using (queue, priority, tenant, gate)
where coalesce(c.depth, 0) <> coalesce(o.depth, 0);

-- invariant: a key belongs to a task of its tenant that carries it
select concat(k.tenant, ' / ', k.key) as subject, concat('task ', k.task_id, ' has ', t.tenant, ' / ', t.idempotency_key) as detail
from idempotency_keys k left join tasks t on t.id = k.task_id
where t.id is null or t.tenant <> k.tenant or t.idempotency_key is distinct from k.key;

-- invariant: an open task with a key is found by it
-- (unless it was replayed when the key's life was over: a day or more after an end)
select o.id as subject, concat(t.tenant, ' / ', t.idempotency_key) as detail
from open_tasks o join tasks t on t.id = o.id
where t.idempotency_key is not null
  and not exists (select from idempotency_keys k where k.tenant = t.tenant and k.key = t.idempotency_key and k.task_id = t.id)
  and (select count(*) from runs r where r.task_id = o.id and r.archived_at < r.completed_at + interval '24 hours') = o.run - 1;

-- invariant: every attempt that did not succeed left its record
select t.id as subject, concat(t.status, ', attempt ', t.attempt, ', ', count(a.attempt), ' records') as detail
from (select id, status, attempt from open_tasks union all select id, status, attempt from outcomes) t
left join failed_attempts a on a.task_id = t.id
group by t.id, t.status, t.attempt
having t.attempt <> count(a.attempt) + case when t.status in ('RUNNING', 'SUCCEEDED') then 1 else 0 end;

-- invariant: the counts of a run do not exceed its records
select t.id as subject, concat(t.failures, ' failures of ', count(a.attempt) filter (where a.outcome in ('failed', 'timed_out')),
  ', ', t.crashes, ' crashes of ', count(a.attempt) filter (where a.outcome = 'lost')) as detail
from (select id, run, failures, crashes from open_tasks union all select id, run, failures, crashes from outcomes) t
left join failed_attempts a on a.task_id = t.id and a.run = t.run
group by t.id, t.failures, t.crashes
having t.failures > count(a.attempt) filter (where a.outcome in ('failed', 'timed_out'))
  or t.crashes > count(a.attempt) filter (where a.outcome = 'lost');

-- invariant: runs are numbered without a gap
-- (the first ones go when they were taken back long ago: a day or more)
select t.id as subject, concat('run ', t.run, ', ', count(r.run), ' archived') as detail
from (select id, run from open_tasks union all select id, run from outcomes) t left join runs r on r.task_id = t.id
group by t.id, t.run
having t.run - 1 < count(r.run) or t.run - 1 <> max(r.run) or max(r.run) - min(r.run) + 1 <> count(r.run)
  or t.run - 1 - count(r.run) > (select count(*) from task_events e
    where e.task_id = t.id and e.transition = 'replay' and e.at < now() - interval '24 hours');

-- invariant: the partition of an open task stands in its id
select id as subject, concat('partition ', partition) as detail
from open_tasks where partition <> ('x' || substr(id::text, 16, 3))::bit(12)::int;

-- invariant: what a worker ended carries its fence
select id as subject, concat(status, ', session ', session, ', token ', token) as detail
from outcomes where status = 'SUCCEEDED' and (session is null or token is null or started_at is null);

-- invariant: time does not run backwards
select u.id as subject, concat('created ', t.created_at, ', started ', u.started_at, ', completed ', u.completed_at) as detail
from outcomes u join tasks t on t.id = u.id
where u.completed_at < u.started_at or u.completed_at < t.created_at or u.started_at < t.created_at;

-- invariant: a firing that makes a task made one
-- (the task may have gone before it: a day or more later)
select f.cron_id as subject, concat(f.outcome, ' at ', f.fire_time, ', task ', f.task_id) as detail
from cron_firings f
where f.outcome in ('fired', 'triggered') and f.fired_at > now() - interval '24 hours'
  and not exists (select from tasks t where t.id = f.task_id and t.cron_id = f.cron_id);

-- invariant: a task of a recurring task has its one firing
-- (which may have gone before it: a day or more later)
select t.id as subject, concat(count(f.cron_id), ' firings of ', t.cron_id) as detail
from tasks t left join cron_firings f on f.cron_id = t.cron_id and f.task_id = t.id
where t.cron_id is not null and t.created_at > now() - interval '24 hours'
group by t.id, t.cron_id having count(f.cron_id) <> 1;

-- invariant: what is open of a recurring task says so
select o.id as subject, concat('of ', o.cron_id, ', asked: ', t.cron_id) as detail
from open_tasks o join tasks t on t.id = o.id where o.cron_id is distinct from t.cron_id;

-- invariant: a tenant's recurring tasks are counted
select coalesce(n.tenant, c.tenant) as subject, concat(coalesce(n.definitions, 0), ' counted, ', coalesce(c.definitions, 0), ' there') as detail
from cron_tenants n full join (select tenant, count(*) as definitions from cron_tasks group by tenant) c on c.tenant = n.tenant
where coalesce(n.definitions, 0) <> coalesce(c.definitions, 0);

-- invariant: no recurring task is past its time
select id as subject, concat(name, ', fire time ', next_fire_at, ', looked for at ', wake_at) as detail
from cron_tasks where enabled and wake_at < now() - interval '10 seconds';

-- invariant: what waits for an older task of its recurring task does not wait in vain
-- at rest
select o.id as subject, concat('of ', o.cron_id, ', since ', t.created_at) as detail
from open_tasks o join tasks t on t.id = o.id
where o.status = 'BLOCKED' and o.cron_id is not null
  and not exists (select from open_tasks r where r.cron_id = o.cron_id and r.status = 'RUNNING' and r.cancel_requested_at is not null);

-- invariant: a workflow runs exactly while a task of it is open
select w.id as subject, concat(w.status, ', ', w.open, ' counted, ', count(o.id), ' open') as detail
from workflows w left join open_tasks o on o.workflow_id = w.id
group by w.id having count(o.id) <> w.open or (w.status = 'RUNNING') <> (w.open > 0);

-- invariant: a task of a workflow is a node of it, and a node is a task
-- (retention takes a workflow first, and the records of its tasks when it looks at their days next)
select coalesce(t.id, n.id) as subject, concat('task of ', t.workflow_id, ' as ', t.node_name, ', node of ', n.workflow_id, ' as ', n.name) as detail
from (select id, workflow_id, node_name from tasks where workflow_id is not null) t full join workflow_nodes n on n.id = t.id
where (n.id is not null or exists (select from workflows w where w.id = t.workflow_id) or exists (select from open_tasks o where o.id = t.id))
  and ((t.workflow_id, t.node_name) is distinct from (n.workflow_id, n.name) or not exists (select from workflows w where w.id = n.workflow_id));

-- invariant: a node has ended as its task has
select n.id as subject, concat('node: ', n.ended, ', task: ', o.status, u.status, ' ', u.reason) as detail
from workflow_nodes n left join open_tasks o on o.id = n.id left join outcomes u on u.id = n.id
where n.ended is distinct from case u.status when 'SUCCEEDED' then 'succeeded' when 'FAILED' then 'failed' when 'DEAD' then 'failed'
  when 'CANCELLED' then case when u.reason = 'skipped' then 'skipped' else 'cancelled' end end;

-- invariant: a node waits for others exactly until it was judged to run
select n.id as subject, concat(o.status, ', judged ', n.triggered_at) as detail
from workflow_nodes n join open_tasks o on o.id = n.id
where (o.status = 'BLOCKED') <> (n.triggered_at is null);

-- invariant: a node counts the parents that told it of their ends, each once
select n.id as subject, concat(n.parents, ' parents: ', n.succeeded, ' ', n.skipped, ' ', n.failed, ', told: ', c.parents, ': ', c.succeeded, ' ', c.skipped, ' ', c.failed) as detail
from workflow_nodes n cross join lateral (
  select count(p.id) as parents, count(*) filter (where p.settled and p.ended = 'succeeded') as succeeded,
    count(*) filter (where p.settled and p.ended = 'skipped') as skipped,
    count(*) filter (where p.settled and p.ended in ('failed', 'cancelled')) as failed
  from workflow_edges e join workflow_nodes p on p.id = e.parent where e.child = n.id) c
where (n.parents, n.succeeded, n.skipped, n.failed) is distinct from (c.parents, c.succeeded, c.skipped, c.failed);

-- invariant: an end that was not passed on yet is kept to be
select coalesce(n.id, s.node) as subject, concat('ended ', n.ended, ', kept: ', s.node is not null) as detail
from (select id, ended from workflow_nodes where ended is not null and not settled) n full join unsettled_ends s on s.node = n.id
where n.id is null or s.node is null;

-- invariant: every end of a node was passed on
-- at rest
select n.id as subject, concat('ended ', n.ended) as detail from workflow_nodes n where n.ended is not null and not n.settled;

-- invariant: no node runs before its trigger rule says so
-- (a retry can open parents again behind one that has run: then the workflow has more than one run)
select n.id as subject, concat(n.trigger_rule, ' of ', n.parents, ': ', n.succeeded, ' ', n.skipped, ' ', n.failed) as detail
from workflow_nodes n join workflows w on w.id = n.workflow_id
where n.triggered_at is not null and n.parents > 0 and w.run = 1 and not case n.trigger_rule
  when 'all_succeeded' then n.succeeded = n.parents
  when 'none_failed' then n.failed = 0 and n.succeeded + n.skipped = n.parents
  when 'all_done' then n.succeeded + n.skipped + n.failed = n.parents
  when 'one_succeeded' then n.succeeded > 0
  else n.failed > 0 end;

-- invariant: nothing of a workflow is left to be cancelled
-- at rest
select w.id as subject, concat('for ', w.sweep_reason) as detail from workflows w where w.sweep_reason is not null;

-- invariant: no node waits for parents that have all ended
-- at rest
select n.id as subject, concat(n.trigger_rule, ', ', n.parents, ' parents') as detail
from workflow_nodes n join open_tasks o on o.id = n.id
where o.status = 'BLOCKED' and n.succeeded + n.skipped + n.failed >= n.parents;

-- invariant: a node is judged once a run
select e.task_id as subject, concat(count(*), ' verdicts in run ', max(t.run)) as detail
from task_events e join (select id, run from open_tasks union all select id, run from outcomes) t on t.id = e.task_id
where e.transition in ('skip', 'upstream_fail')
group by e.task_id having count(*) > max(t.run);

-- invariant: the figures of a workflow are those of its nodes
select w.id as subject, concat(w.nodes, ' nodes, ', w.edges, ' edges, ', w.failed, ' failed, counted: ', c.nodes, ', ', c.edges, ', ', c.failed) as detail
from workflows w cross join lateral (
  select count(*) as nodes, coalesce(sum(n.parents), 0) as edges, count(*) filter (where n.ended = 'failed') as failed
  from workflow_nodes n where n.workflow_id = w.id) c
where (w.nodes, w.edges, w.failed) is distinct from (c.nodes, c.edges, c.failed);

-- invariant: a workflow has failed exactly if a failure was taken in by no other node
select w.id as subject, concat(w.status, ' by ', w.failure_policy, ', ', w.failed, ' failed, ', c.untaken, ' of them not taken in') as detail
from workflows w cross join lateral (
  select count(*) as untaken from workflow_nodes n
  where n.workflow_id = w.id and n.ended = 'failed' and not exists (
    select from workflow_edges e join workflow_nodes c on c.id = e.child
    where e.parent = n.id and c.triggered_at is not null and c.trigger_rule in ('all_done', 'one_succeeded', 'one_failed'))) c
where w.status in ('SUCCEEDED', 'FAILED')
  and (w.status = 'FAILED') <> (case w.failure_policy when 'fail_fast' then w.failed else c.untaken end > 0 or exists (
    select from workflow_nodes n join outcomes u on u.id = n.id where n.workflow_id = w.id and u.reason = 'workflow_failed'));

-- invariant: a workflow has succeeded only if a task of it did, and was cancelled only if that was asked for or nothing of it succeeded
select w.id as subject, concat(w.status, ', cancellation asked for ', w.cancel_requested_at, ', ', c.succeeded, ' succeeded, ', c.swept, ' left') as detail
from workflows w cross join lateral (
  select count(*) filter (where n.ended = 'succeeded') as succeeded, count(*) filter (where u.reason = 'workflow_cancelled') as swept
  from workflow_nodes n left join outcomes u on u.id = n.id where n.workflow_id = w.id) c
where case w.status when 'SUCCEEDED' then w.cancel_requested_at is not null or c.succeeded = 0 or c.swept > 0
  when 'FAILED' then w.cancel_requested_at is not null
  when 'CANCELLED' then w.cancel_requested_at is null and c.succeeded > 0 and c.swept = 0 end;
