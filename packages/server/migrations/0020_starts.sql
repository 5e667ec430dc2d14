-- Of starts: when in their minute the first of them came, and until when the minute was counted, in ms of it; null: nobody wrote it down.
alter table stats_rollups add column first_ms integer, add column until_ms integer;
-- Starts by queue and tenant together, for whoever is bound to a tenant: of kind 'lane', with both as its name.
alter table stats_rollups drop constraint stats_rollups_kind_check,
  add constraint stats_rollups_kind_check check (kind in ('all', 'queue', 'task_type', 'tenant', 'lane'));
