-- Workflows: graphs whose nodes are tasks. The row of a workflow is the one lock of everything that ends or re-opens one of its
-- tasks (ADR 19), so its counters are exact, and each child is judged once (I7).

create table workflows (
  -- its partition is that of the tenant and the key, or drawn; those of its tasks are the same
  id uuid primary key,
  tenant text collate "C" not null,
  name text collate "C" not null,
  status text collate "C" not null,
  failure_policy text not null,
  idempotency_key text collate "C",
  request_hash bytea,
  -- a key lives while its workflow is open, then for some time; the record tells it as long as it stays
  holds_key boolean not null,
  metadata text,
  created_at timestamptz not null,
  scheduled_at timestamptz,
  completed_at timestamptz,
  cancel_requested_at timestamptz,
  cancel_actor text,
  nodes integer not null,
  edges integer not null,
  -- nodes that have not ended, and those that ended FAILED or DEAD
  open integer not null,
  failed integer not null default 0,
  run integer not null default 1,
  traceparent text,
  -- no workflow runs without an open node, and none is closed with one
  constraint workflows_bounds check (
    case when status = 'RUNNING' then open > 0 and completed_at is null
      else status in ('SUCCEEDED', 'FAILED', 'CANCELLED') and open = 0 and completed_at is not null end
    and failure_policy in ('fail_dependents', 'fail_fast') and nodes >= open and least(edges, failed) >= 0
    and (not holds_key or idempotency_key is not null and request_hash is not null))
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- "Who holds this key?"
create unique index workflows_key on workflows (tenant, idempotency_key) where holds_key;
-- Lists, newest first. Most workflows succeed: they are found by walking the primary key.
create index workflows_tenant on workflows (tenant, id);
create index workflows_status on workflows (status, id) where status <> 'SUCCEEDED';
-- Retention: "what ended long ago", and of that "what holds its key still".
create index workflows_age on workflows (completed_at, id) where completed_at is not null;
create index workflows_key_age on workflows (completed_at) where holds_key and completed_at is not null;

-- What a task is within its workflow. All columns that a run changes are in no index: its updates stay heap-only.
create table workflow_nodes (
  -- the task's
  id uuid primary key,
  workflow_id uuid not null,
  position integer not null,
  name text collate "C" not null,
  trigger_rule text not null,
  -- how many it has, and how many of them ended so and told it; `failed` is every end that is neither a success nor a skip
  parents integer not null,
  succeeded integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  -- how it ended itself; null: it is open
  ended text,
  -- when it was judged to run; of a root when it was made
  triggered_at timestamptz,
  -- its end was passed on to its children
  settled boolean not null default false,
  -- its own delay, counted from then, or its own time
  delay_ms bigint,
  due_at timestamptz,
  -- the running task that added it, and what was asked for then
  added_by uuid,
  request_hash bytea,
  constraint workflow_nodes_name unique (workflow_id, name),
  constraint workflow_nodes_bounds check (
    trigger_rule in ('all_succeeded', 'none_failed', 'all_done', 'one_succeeded', 'one_failed')
    and ended in ('succeeded', 'skipped', 'failed', 'cancelled') and least(succeeded, skipped, failed) >= 0
    and succeeded + skipped + failed <= parents and (not settled or ended is not null)
    and (added_by is null) = (request_hash is null))
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);

-- What waits for what. Each pair stands there once, since a graph is judged before it is stored. One column an index: one with both
-- would tempt a plan that is made while the table is empty to read it from end to end.
create table workflow_edges (
  parent uuid not null,
  child uuid not null
);
create index workflow_edges_parent on workflow_edges (parent);
create index workflow_edges_child on workflow_edges (child);

-- Ends that were too many to be passed on in the transaction that wrote them: what is here is passed on by the next ones (I3).
-- Empty at rest, so that the question costs nothing.
create table unsettled_ends (
  node uuid primary key,
  workflow_id uuid not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index unsettled_ends_workflow on unsettled_ends (workflow_id);

-- THE rule: does the record of this finished task stay? Open tasks stay anyway, and so do those of an open workflow.
create or replace function duly_stays(task uuid, status text, completed_at timestamptz, discarded_at timestamptz, cutoff timestamptz)
returns boolean language sql stable as
$$ select completed_at >= cutoff or (status = 'DEAD' and discarded_at is null)
  or exists (select from workflow_nodes n join workflows w on w.id = n.workflow_id where n.id = task and w.status = 'RUNNING') $$;
