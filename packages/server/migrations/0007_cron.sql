-- duly: no-transaction
-- Recurring tasks: definitions, and what became of each of their fire times.

create table if not exists cron_tasks (
  -- its partition is that of the tenant and the name
  id uuid primary key,
  tenant text collate "C" not null,
  name text collate "C" not null,
  -- raised by every change of the definition: edits compare and set it
  version integer not null default 1,
  expression text,
  -- from which instant an interval is counted
  every_ms bigint,
  anchor_at timestamptz not null,
  timezone text not null,
  overlap text not null,
  misfire text not null,
  grace_ms bigint not null,
  starts_at timestamptz,
  ends_at timestamptz,
  jitter_ms bigint not null,
  enabled boolean not null,
  -- the nominal time that comes next; null: nothing more comes. Firing compares and sets it (I6)
  next_fire_at timestamptz,
  -- when a node must look: that time, moved by the jitter; later, after a look that could not evaluate it
  wake_at timestamptz,
  last_fire_at timestamptz,
  last_fired_at timestamptz,
  last_task_id uuid,
  fired bigint not null default 0,
  skipped bigint not null default 0,
  error text,
  -- what each task is made of: its fields as JSON that was validated, payload and metadata as the text that was sent
  task_type text collate "C" not null,
  queue text collate "C" not null,
  task text not null,
  payload text not null,
  metadata text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint cron_tasks_name unique (tenant, name),
  constraint cron_tasks_bounds check (
    num_nonnulls(expression, every_ms) = 1 and (every_ms is null or every_ms > 0) and least(grace_ms, jitter_ms) >= 0
    and overlap in ('skip', 'queue', 'cancel_running') and misfire in ('fire_once', 'skip', 'fire_all')
    and (next_fire_at is null) = (wake_at is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- "What is due": the only question that is asked all the time.
create index if not exists cron_tasks_due on cron_tasks (wake_at) where enabled and wake_at is not null;
create index if not exists cron_tasks_tenant on cron_tasks (tenant, id);

-- How many definitions a tenant has: counting a million at each creation would be slow.
create table if not exists cron_tenants (
  tenant text collate "C" primary key,
  definitions bigint not null
) with (fillfactor = 50);

-- The second guard of I6: one row for each fire time that was judged. Kept for the retention, also without its definition.
create table if not exists cron_firings (
  cron_id uuid not null,
  fire_time timestamptz not null,
  tenant text collate "C" not null,
  fired_at timestamptz not null,
  outcome text not null check (outcome in ('fired', 'triggered', 'skipped_overlap', 'skipped_misfire')),
  task_id uuid,
  primary key (cron_id, fire_time),
  constraint cron_firings_task check ((task_id is not null) = (outcome in ('fired', 'triggered')))
);
create index if not exists cron_firings_age on cron_firings (fired_at);

-- Unfinished tasks of a definition: what overlap policies ask for, and what a BLOCKED one waits for.
alter table open_tasks add column if not exists cron_id uuid;
drop index concurrently if exists open_tasks_cron;
create index concurrently open_tasks_cron on open_tasks (cron_id, id) where cron_id is not null;
drop index concurrently if exists open_tasks_cron_blocked;
create index concurrently open_tasks_cron_blocked on open_tasks (id) where status = 'BLOCKED' and cron_id is not null;
