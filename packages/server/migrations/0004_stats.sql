-- Figures of what tasks did, kept by those who did it: nothing has to count rows afterwards.

-- One row for each minute (grain 60), kind, name and writer: a node overwrites its own rows with what it has counted so far, so that
-- writing twice changes nothing. Ten minutes, hours and days are sums of the grain below, under the writer of zeros.
create table stats_rollups (
  grain integer not null check (grain in (60, 600, 3600, 86400)),
  kind text collate "C" not null check (kind in ('all', 'queue', 'task_type', 'tenant')),
  start timestamptz not null,
  name text collate "C" not null,
  writer uuid not null,
  submitted integer not null,
  started integer not null,
  succeeded integer not null,
  failed integer not null,
  dead integer not null,
  cancelled integer not null,
  retried integer not null,
  lost integer not null,
  timed_out integer not null,
  -- logarithmic histograms: how long tasks waited when they were ready, and how long their last attempts ran
  wait bytea not null,
  run bytea not null,
  primary key (grain, kind, start, name, writer)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1);

-- "What waits for this tenant?"
create index counters_tenant on counters (tenant);
