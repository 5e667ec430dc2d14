-- duly: no-transaction
-- What is open in a workflow is cancelled in parts that one transaction each can hold. Why, and by whom, stands in its row until nothing
-- is left of it.
alter table workflows add column if not exists sweep_reason text;
alter table workflows add column if not exists sweep_actor text;
-- "What is to be gone on with?" Empty at rest.
drop index concurrently if exists workflows_sweeping;
create index concurrently workflows_sweeping on workflows (id) where sweep_reason is not null;
