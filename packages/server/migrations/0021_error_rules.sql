-- duly: no-transaction
-- By which rules the pattern of a letter was made; those by older ones get new ones, in batches.
alter table dead_letters add column if not exists pattern_rules smallint not null default 1;
drop index concurrently if exists dead_letters_older;
create index concurrently dead_letters_older on dead_letters (task_id) where pattern_rules < 2;
-- What it led to is among these.
drop index concurrently if exists dead_letters_bare;
