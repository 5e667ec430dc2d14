-- Retention: what is past its time goes, by day, while work goes on.

-- A result that is to be cleared some time after the end of its task. On the parent alone: existing days get theirs from the
-- program, one after the other.
alter table open_tasks add column result_ttl_ms bigint;
create index outcomes_result_expiry on only outcomes (result_expires_at) where result_expires_at is not null;

-- Past runs go by their age even while their task lives.
create index runs_age on runs (archived_at);

-- What each node was told to keep; while they differ, the longest counts.
alter table nodes add column retention_days integer;

-- When what was done last, for the whole deployment.
create table retention_marks (
  name text collate "C" primary key,
  done_at timestamptz not null
);

-- The rewrite under way, if any: ids from `lower` to below `upper`, the partitions (by suffix) that are replaced, and the
-- suffix of the new one. Finished before `cutoff` means removable.
create table retention_job (
  only_row boolean primary key default true check (only_row),
  lower uuid not null,
  upper uuid not null,
  suffix text not null,
  old text[] not null,
  cutoff timestamptz not null
);

-- Ids that work changed in partitions that are being copied.
create table retention_changes (id uuid not null);

create function duly_note_change() returns trigger language plpgsql as $$
begin
  insert into retention_changes values (coalesce(new.id, old.id));
  return null;
end $$;

-- THE rule: does the record of this finished task stay? Open tasks stay anyway. Nodes of open workflows will get a clause
-- here; `task` is given for them.
create function duly_stays(task uuid, status text, completed_at timestamptz, discarded_at timestamptz, cutoff timestamptz)
returns boolean language sql immutable as
$$ select completed_at >= cutoff or (status = 'DEAD' and discarded_at is null) $$;

-- Empty tables beside the partitions, made like them, indexes included, with the CHECK that spares the scan at the attach.
create function duly_make_next(lower uuid, upper uuid) returns void language plpgsql as $$
declare
  parent text;
begin
  foreach parent in array array['tasks', 'outcomes'] loop
    execute format('create table %I (like %I including defaults including constraints including indexes,
      constraint next_range check (id >= %L and id < %L)) with (toast_tuple_target = 8160)', parent || '_next', parent, lower, upper);
  end loop;
end $$;

-- Brings the copies of these tasks to what is true now: the same for the first copy and for every change after it.
create function duly_carry(ids uuid[]) returns integer language plpgsql as $$
declare
  job retention_job;
  carried integer;
begin
  select * into strict job from retention_job;
  delete from tasks_next n where n.id = any (ids);
  delete from outcomes_next n where n.id = any (ids);
  insert into outcomes_next
  select u.* from (select distinct unnest(ids) as id) i
  cross join lateral (select u.* from outcomes u where u.id = i.id limit 1) u
  where i.id >= job.lower and i.id < job.upper and duly_stays(u.id, u.status, u.completed_at, u.discarded_at, job.cutoff);
  insert into tasks_next
  select t.* from (select distinct unnest(ids) as id) i
  cross join lateral (select t.* from tasks t where t.id = i.id limit 1) t
  where i.id >= job.lower and i.id < job.upper
    and (exists (select from outcomes_next n where n.id = i.id) or exists (select from open_tasks o where o.id = i.id));
  get diagnostics carried = row_count;
  return carried;
end $$;

-- Notes changes of the partitions that are to be replaced, from now on. Waits for writers that are at work in them.
create function duly_watch() returns void language plpgsql as $$
declare
  part text;
  parent text;
begin
  foreach parent in array array['tasks', 'outcomes'] loop
    foreach part in array (select old from retention_job) loop
      if not exists (select from pg_trigger where tgrelid = to_regclass(parent || '_' || part) and tgname = 'retention_note') then
        execute format('create trigger retention_note after insert or update or delete on %I
          for each row execute function duly_note_change()', parent || '_' || part);
      end if;
    end loop;
  end loop;
end $$;

-- Keeps vacuum away from what is about to be replaced: it would hold up the swap. Nothing else minds this lock.
create function duly_hold_vacuum() returns void language plpgsql as $$
declare
  part text;
begin
  foreach part in array (select old from retention_job) loop
    execute format('lock table only %I, only %I in share update exclusive mode', 'tasks_' || part, 'outcomes_' || part);
  end loop;
end $$;

-- The swap: the last changes, then the old partitions go and the new one comes, if it has rows. All work on the two tables
-- waits meanwhile, so it is one statement: no client stands between its steps. With more than `most` changes left it does
-- nothing and answers false. Order of locks: tasks, then outcomes.
create function duly_swap(most integer) returns boolean language plpgsql as $$
declare
  job retention_job;
  parent text;
  part text;
  changed uuid[];
  is_kept boolean;
begin
  lock table only tasks in access exclusive mode;
  lock table only outcomes in access exclusive mode;
  select * into strict job from retention_job;
  changed := array(select c.id from retention_changes c limit most + 1);
  if cardinality(changed) > most then
    return false;
  end if;
  perform duly_carry(changed);
  is_kept := exists (select from tasks_next);
  foreach parent in array array['tasks', 'outcomes'] loop
    foreach part in array job.old loop
      execute format('alter table %I detach partition %I', parent, parent || '_' || part);
      execute format('alter table %I rename to %I', parent || '_' || part, parent || '_gone_' || part);
    end loop;
    if is_kept then
      execute format('alter table %I rename to %I', parent || '_next', parent || '_' || job.suffix);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, parent || '_' || job.suffix, job.lower, job.upper);
      execute format('alter table %I drop constraint next_range', parent || '_' || job.suffix);
    end if;
  end loop;
  delete from retention_job;
  return true;
end $$;

-- As before, but a day that stands in its month's partition is there.
create or replace function duly_make_day(day date) returns boolean language plpgsql as $$
declare
  suffix text := to_char(day, 'YYYYMMDD');
  parent text;
  is_new boolean := false;
begin
  if to_regclass('tasks_' || suffix) is not null and to_regclass('outcomes_' || suffix) is not null
    or to_regclass('tasks_' || to_char(day, 'YYYYMM')) is not null then
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
