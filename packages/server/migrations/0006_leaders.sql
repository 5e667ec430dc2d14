-- duly: no-transaction
-- Leaders of timer partitions, and an index for each of two questions that shared one: the look for overdue attempts read
-- past all that was due and not yet promoted (a million rows, once a second, after a burst). Only what runs has a deadline;
-- the status is not said, so that no statement that asks for a status is led astray by these indexes.

-- Deadline: "which attempts are past their deadline or the grace of their cancellation".
drop index concurrently if exists open_tasks_deadline;
create index concurrently open_tasks_deadline on open_tasks (wake_at) where deadline_at is not null;

-- Timers: "what is due next in this partition" (due, expiry).
drop index concurrently if exists open_tasks_timers;
create index concurrently open_tasks_timers on open_tasks (partition, wake_at) where wake_at is not null and deadline_at is null;
drop index concurrently if exists open_tasks_wake;

-- A leader lives by the row of its node; the epoch goes up whenever a partition gets another leader or none.
alter table partitions drop column if exists leased_until;
