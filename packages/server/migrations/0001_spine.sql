-- The spine: tasks, where they stand, how they ended, and what serves them.
-- Names are compared byte by byte (collate "C"): cheap, and the same order on every machine.

-- Facts fixed for the whole deployment, written once by the first node.
create table deployment (
  name text primary key,
  value text not null
);

-- What was asked. One row a task, range-partitioned by day on the id (a UUIDv7 sorts by time).
-- payload and metadata are text that was validated as JSON: jsonb doubles the CPU per task.
create table tasks (
  id uuid not null,
  tenant text collate "C" not null,
  task_type text collate "C" not null,
  queue text collate "C" not null,
  priority smallint not null,
  created_at timestamptz not null,
  scheduled_at timestamptz,
  expires_at timestamptz,
  max_retries integer not null,
  retry_backoff text not null,
  retry_jitter text not null,
  retry_delay_ms bigint not null,
  retry_max_delay_ms bigint not null,
  timeout_ms bigint not null,
  result_ttl_ms bigint,
  idempotency_key text collate "C",
  concurrency_key text collate "C",
  tags text[],
  metadata text,
  payload text not null,
  traceparent text,
  workflow_id uuid,
  node_name text,
  cron_id uuid,
  primary key (id),
  -- one constraint: PostgreSQL reads each of them anew in every statement (20 small ones took 200 µs of a lone insert's 550)
  constraint tasks_bounds check (
    priority between 1 and 3 and max_retries between 0 and 100 and least(retry_delay_ms, retry_max_delay_ms) >= 0
    and least(timeout_ms, result_ttl_ms) > 0 and retry_backoff in ('exponential', 'linear', 'fixed')
    and retry_jitter in ('full', 'equal', 'decorrelated', 'none'))
) partition by range (id);

-- Where it stands. One narrow row for every unfinished task.
create table open_tasks (
  id uuid primary key,
  partition smallint not null,
  status text collate "C" not null,
  tenant text collate "C" not null,
  queue text collate "C" not null,
  task_type text collate "C" not null,
  priority smallint not null,
  -- '' | a task type | '!suspect' | '!overflow': with queue, priority and tenant the lane
  gate text collate "C" not null default '',
  -- raised by every change of lane, due time or readiness: a hint that carries another version is stale
  lane_version integer not null default 0,
  due_at timestamptz,
  ready_at timestamptz,
  -- the next instant at which a timer must look: due, expiry, or deadline with its grace
  wake_at timestamptz,
  expires_at timestamptz,
  timeout_ms bigint not null,
  -- attempt counts claims and never goes back: it is part of the fence
  attempt integer not null default 0,
  failures integer not null default 0,
  crashes integer not null default 0,
  undelivered integer not null default 0,
  snoozes integer not null default 0,
  releases integer not null default 0,
  run integer not null default 1,
  previous_delay_ms bigint,
  session uuid,
  token bigint,
  grant_no integer,
  started_at timestamptz,
  deadline_at timestamptz,
  cancel_requested_at timestamptz,
  cancel_reason text,
  blockers integer not null default 0,
  concurrency_key text collate "C",
  workflow_id uuid,
  constraint open_tasks_bounds check (
    status in ('SCHEDULED', 'PENDING', 'BLOCKED', 'RUNNING', 'RETRYING') and priority between 1 and 3 and run > 0
    and least(attempt, failures, crashes, undelivered, snoozes, releases, blockers) >= 0),
  -- I4: who runs holds a whole lease, who does not run holds none
  constraint open_tasks_lease check (
    case when status = 'RUNNING'
      then num_nulls(session, token, grant_no, started_at, deadline_at, wake_at) = 0 and attempt > 0
      else num_nonnulls(session, token, grant_no, started_at, deadline_at, cancel_requested_at) = 0
    end),
  -- I3: each waiting state has what finds it again
  constraint open_tasks_found check (
    case status
      when 'PENDING' then ready_at is not null
      when 'SCHEDULED' then due_at is not null and wake_at is not null
      when 'RETRYING' then due_at is not null and wake_at is not null
      when 'BLOCKED' then blockers > 0
      else true
    end)
) with (
  -- the only table whose rows die fast: clean it all the time, but in steps that leave the cores to the work
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.2,
  autovacuum_vacuum_cost_delay = 1
);
-- One partial index a question. Ready: "the earliest of this lane" (I9).
create index open_tasks_ready on open_tasks (queue, priority, tenant, gate, ready_at, id) where status = 'PENDING';
-- Wake: "what is due next in this partition" (due, expiry, deadline).
create index open_tasks_wake on open_tasks (partition, wake_at) where wake_at is not null;
-- Sessions: "what does this worker hold, by grant".
create index open_tasks_session on open_tasks (session, grant_no) where session is not null;

-- How it ended. One row a finished task, partitioned like tasks; deleted by replay only (archived in runs).
create table outcomes (
  id uuid not null,
  status text collate "C" not null check (status in ('SUCCEEDED', 'FAILED', 'DEAD', 'CANCELLED')),
  completed_at timestamptz not null,
  started_at timestamptz,
  attempt integer not null,
  failures integer not null,
  crashes integer not null,
  undelivered integer not null,
  snoozes integer not null,
  releases integer not null,
  run integer not null,
  -- the fence of the attempt that ended it; null when it ended waiting
  session uuid,
  token bigint,
  worker_name text,
  reason text,
  error_class text,
  error_message text,
  error_stack text,
  result text,
  result_expires_at timestamptz,
  discarded_at timestamptz,
  primary key (id)
) partition by range (id);

-- Attempts that did not simply succeed.
create table failed_attempts (
  task_id uuid not null,
  attempt integer not null,
  run integer not null,
  outcome text not null check (outcome in ('failed', 'timed_out', 'lost', 'cancelled', 'snoozed', 'released', 'undelivered')),
  session uuid,
  token bigint,
  worker_name text,
  started_at timestamptz,
  ended_at timestamptz not null,
  error_class text,
  error_message text,
  error_stack text,
  retry_delay_ms bigint,
  primary key (task_id, attempt)
);

-- The audit trail of everything but a task that simply ran (that is derived from its timestamps).
create table task_events (
  task_id uuid not null,
  event_id bigint generated always as identity,
  at timestamptz not null,
  transition text not null,
  from_status text,
  to_status text not null,
  attempt integer,
  actor text not null,
  reason text,
  primary key (task_id, event_id)
);

-- Outcomes that a replay took back, as they were.
create table runs (
  task_id uuid not null,
  run integer not null,
  archived_at timestamptz not null,
  status text not null,
  completed_at timestamptz not null,
  started_at timestamptz,
  attempt integer not null,
  failures integer not null,
  crashes integer not null,
  session uuid,
  worker_name text,
  reason text,
  error_class text,
  error_message text,
  error_stack text,
  result text,
  primary key (task_id, run)
);

-- Exhausted tasks, kept until retried or discarded.
create table dead_letters (
  task_id uuid primary key,
  tenant text collate "C" not null,
  queue text collate "C" not null,
  task_type text collate "C" not null,
  died_at timestamptz not null,
  error_class text,
  error_message text
);
create index dead_letters_queue on dead_letters (queue, died_at, task_id);

-- What a running handler wrote for its next attempt and for whoever looks.
create table task_progress (
  task_id uuid primary key,
  percent real,
  note text,
  checkpoint text,
  -- what task_logs holds for the task, so that its bound costs one look
  log_lines integer not null default 0,
  log_bytes integer not null default 0,
  updated_at timestamptz not null
);

-- Lines that handlers logged: at most 10,000 and 1 MiB a task.
create table task_logs (
  task_id uuid not null,
  line integer not null,
  attempt integer not null,
  at timestamptz not null,
  level text not null,
  message text not null,
  primary key (task_id, line)
);

-- A key lives while its task is open, then 30 days, and never outlives the record.
create table idempotency_keys (
  tenant text collate "C" not null,
  key text collate "C" not null,
  task_id uuid not null,
  request_hash bytea not null,
  created_at timestamptz not null,
  primary key (tenant, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- Queues and task types come into being at first use.
create table queues (
  name text collate "C" primary key,
  paused boolean not null default false,
  max_depth bigint,
  max_running integer,
  priority_weights smallint[],
  created_at timestamptz not null default now()
);
create table task_types (
  name text collate "C" primary key,
  created_at timestamptz not null default now()
);
create table tenants (
  id text collate "C" primary key,
  weight real not null default 1 check (weight > 0),
  created_at timestamptz not null default now()
);

-- Sessions of workers. No index but the keys: a heartbeat stays a heap-only update.
create table worker_sessions (
  id uuid primary key,
  name text not null,
  host text,
  version text,
  queues text[] not null,
  task_types text[] not null,
  tenant text collate "C",
  slots integer not null,
  heartbeat_ms integer not null,
  lease_ms integer not null,
  registered_at timestamptz not null,
  beat_at timestamptz not null,
  live_until timestamptz not null,
  draining boolean not null default false,
  ended_at timestamptz,
  end_reason text,
  lag_ms real,
  rss_bytes bigint
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.1);
-- Grants are numbered within a session; received is the highest that the worker acknowledged. Apart from the session, so that
-- a heartbeat never waits for a claim under way.
create table session_grants (
  session uuid primary key,
  last_grant integer not null default 0,
  received integer not null default 0
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.1);
create index worker_sessions_live on worker_sessions (id) where ended_at is null;

-- One row: the watchdog marks the store every second, so that time in which it was not writable kills nobody.
create table store_marks (
  only_row boolean primary key default true check (only_row),
  marked_at timestamptz not null,
  -- no deadline is judged before this instant (set after an outage)
  judge_after timestamptz not null
) with (fillfactor = 10);
insert into store_marks values (true, now(), now());

-- The instant by which liveness is judged: the last mark while the marks are older than 3 s, else now.
create function duly_judged_now() returns timestamptz language sql stable as
$$ select case when marked_at < now() - interval '3 seconds' then marked_at else now() end from store_marks $$;

-- Nodes of the deployment; the number gives each its slots in counters.
create table nodes (
  id uuid primary key,
  number integer not null unique,
  roles text[] not null,
  version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null
) with (fillfactor = 50);

-- Timer partitions and their leaders; the epoch fences a leader that was replaced.
create table partitions (
  partition smallint primary key,
  leader uuid,
  epoch bigint not null default 0,
  leased_until timestamptz
);

-- Depth (PENDING only) by lane. Each writer of each node has a slot of its own; readers sum.
create table counters (
  queue text collate "C" not null,
  priority smallint not null,
  tenant text collate "C" not null,
  gate text collate "C" not null,
  slot integer not null,
  depth bigint not null,
  primary key (queue, priority, tenant, gate, slot)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.1);

-- The smallest id of a day: 48 bits of milliseconds, then zeros.
create function duly_day_bound(day date) returns uuid language sql immutable strict as
$$ select (lpad(to_hex((extract(epoch from day::timestamp at time zone 'UTC') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;

-- Makes one day's partitions; does nothing when they exist. Made aside and attached, because `partition of` takes an
-- exclusive lock on the parent: it would wait behind every open reader, and all work would wait behind it. Rows up to
-- 8 KB stay inline and uncompressed.
create function duly_make_day(day date) returns boolean language plpgsql as $$
declare
  suffix text := to_char(day, 'YYYYMMDD');
  parent text;
  is_new boolean := false;
begin
  if to_regclass('tasks_' || suffix) is not null and to_regclass('outcomes_' || suffix) is not null then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtext('duly_make_day'));
  foreach parent in array array['tasks', 'outcomes'] loop
    execute format('create table if not exists %I (like %I including defaults including constraints) with (toast_tuple_target = 8160)',
      parent || '_' || suffix, parent);
    -- asked of the table itself: the advisory lock does not refresh what to_regclass remembers
    if not exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid where c.relname = parent || '_' || suffix
        and i.inhparent = to_regclass(parent)) then
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, parent || '_' || suffix, duly_day_bound(day), duly_day_bound(day + 1));
      is_new := true;
    end if;
  end loop;
  return is_new;
end $$;

-- A task as one row, for people with psql.
create view task_records as
select t.id, coalesce(u.status, o.status) as status, t.tenant, t.queue, t.task_type,
       (array['high', 'medium', 'low'])[t.priority] as priority,
       t.created_at, t.scheduled_at, o.due_at, o.ready_at,
       coalesce(u.started_at, o.started_at) as started_at, u.completed_at,
       coalesce(u.attempt, o.attempt) as attempt, coalesce(u.failures, o.failures) as failures,
       coalesce(u.crashes, o.crashes) as crashes, coalesce(u.session, o.session) as session,
       u.reason, u.error_class, u.error_message, t.payload, u.result, t.metadata
from tasks t
left join outcomes u on u.id = t.id
left join open_tasks o on o.id = t.id;
