-- The tenant whose key brought a name along, so that one tenant can't use up the names of all; null: a key that is bound to none.
alter table queues add column brought_by text collate "C";
alter table task_types add column brought_by text collate "C";
