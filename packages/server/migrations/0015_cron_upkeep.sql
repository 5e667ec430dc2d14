-- duly: no-transaction
-- What waits for an older task of its recurring task is looked at in parts, by an index whose order no other index has.
drop index concurrently if exists open_tasks_cron_waiting;
create index concurrently open_tasks_cron_waiting on open_tasks (id, cron_id) where status = 'BLOCKED' and cron_id is not null;
drop index concurrently if exists open_tasks_cron_blocked;

-- Which rules of time zones a node knows; null: of a version that does not say. Next fire times are computed by them.
alter table nodes add column if not exists time_zone_data text;
