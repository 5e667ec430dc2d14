-- duly: breaking
-- A session gets its tasks from one node at a time, the one that it polled last: who grants must know all that the session
-- holds, so that it never holds more than its slots. Null: no node yet, or only one of an earlier version.
alter table session_grants add column node uuid;

-- The API key that submitted the task, for its trail; null: none was asked for, or no call submitted it.
alter table tasks add column submitted_by uuid;

-- Names are in the use of tenants (0010); who brought one is asked no more.
alter table queues drop column brought_by;
alter table task_types drop column brought_by;
