-- What explains how a task stands, and its log.

-- Since when the queue is paused; null: it is not, or nobody wrote it down.
alter table queues add column paused_at timestamptz;

-- The delay before the next attempt was asked for by the handler, and not drawn; null: nobody wrote it down.
alter table failed_attempts add column delay_wished boolean;

-- Lines that found the log of their task full.
alter table task_progress add column log_dropped integer not null default 0;
