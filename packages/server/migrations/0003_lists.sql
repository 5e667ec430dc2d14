-- duly: no-transaction
-- What lists are driven by, in the order of their pages (newest first by id), and what an edit leaves behind.

-- On the parent alone, which is instant: `migrate` then builds what existing days lack, one by one, while work goes on.
create index if not exists tasks_tenant on only tasks (tenant, id);
create index if not exists tasks_workflow on only tasks (workflow_id, id) where workflow_id is not null;
create index if not exists tasks_cron on only tasks (cron_id, id) where cron_id is not null;

-- Most tasks succeed: these are found by walking the primary key, and cost nothing here.
create index if not exists outcomes_status on only outcomes (status, id) where status <> 'SUCCEEDED';

-- Running ones are found by their sessions: a claim and its report touch no index for this. Whatever asks for a status alone
-- (the claim) must not be led astray by this index: it serves only those who say that no session holds the task.
drop index concurrently if exists open_tasks_status;
create index concurrently open_tasks_status on open_tasks (status, id) where session is null;

-- The scheduled_at that a reschedule replaced: the trail is told from it.
alter table task_events add column if not exists previous_at timestamptz;
