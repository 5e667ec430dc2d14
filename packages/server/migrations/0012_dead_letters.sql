-- Dead letters by their error, and operations on many tasks.

-- What the error says without ids and numbers, as the program that buried the task computed it; null: a node of the version before
-- did, and the program fills it in.
alter table dead_letters add column error_pattern text;
-- What groups: the same queue, task type, class and pattern.
alter table dead_letters add column fingerprint text collate "C";

-- THE rule of the fingerprint: 64 bits in hexadecimal. Names hold no blank and the class says its length, so that the parts can't
-- run together.
create function duly_fingerprint(queue text, task_type text, error_class text, error_pattern text)
returns text language sql stable strict parallel safe as
$$ select left(encode(sha256(convert_to(
  queue || ' ' || task_type || ' ' || length(error_class) || ' ' || error_class || ' ' || error_pattern, 'UTF8')), 'hex'), 16) $$;

-- One index for each walk of a list, newest first: all, a tenant's, (a queue's is there,) a group's, a tenant's share of a group.
create index dead_letters_age on dead_letters (died_at, task_id);
create index dead_letters_tenant on dead_letters (tenant, died_at, task_id);
create index dead_letters_group on dead_letters (fingerprint, died_at, task_id);
create index dead_letters_tenant_group on dead_letters (tenant, fingerprint, died_at, task_id);
-- What a node of the version before left.
create index dead_letters_bare on dead_letters (task_id) where fingerprint is null;

-- Dead letters by group. Each writer of each node has a slot of its own, as in counters; readers sum.
create table dead_letter_counts (
  tenant text collate "C" not null,
  queue text collate "C" not null,
  task_type text collate "C" not null,
  fingerprint text collate "C" not null,
  slot integer not null,
  letters bigint not null,
  primary key (tenant, queue, task_type, fingerprint, slot)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.1);

-- Operations on many tasks: what was asked for, and how far it came.
create table bulk_operations (
  id uuid primary key,
  action text not null check (action in ('cancel', 'retry', 'discard')),
  -- which list its filter is of
  source text not null check (source in ('tasks', 'dead_letters')),
  filter text not null,
  -- what the caller's key is bound to
  tenant text collate "C",
  actor text not null,
  status text collate "C" not null default 'RUNNING' check (status in ('RUNNING', 'SUCCEEDED', 'CANCELLED', 'FAILED')),
  -- the place behind which the next batch begins; it moves in the transaction of the batch
  place text,
  matched bigint not null default 0,
  done bigint not null default 0,
  skipped bigint not null default 0,
  failed bigint not null default 0,
  error text,
  -- from when on a node may take it: at once, or when the node that has it was silent for a lease; null: it has ended
  runnable_at timestamptz default now(),
  -- raised by whoever takes it: a node that was replaced can write no more
  epoch bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  completed_at timestamptz,
  constraint bulk_operations_ended check (
    (status = 'RUNNING') = (runnable_at is not null) and (status = 'RUNNING') = (completed_at is null))
) with (fillfactor = 50);
create index bulk_operations_runnable on bulk_operations (runnable_at) where runnable_at is not null;
create index bulk_operations_tenant on bulk_operations (tenant, id);
create index bulk_operations_age on bulk_operations (completed_at) where completed_at is not null;
