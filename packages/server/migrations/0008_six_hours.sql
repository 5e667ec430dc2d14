-- Sums over six hours between those of an hour and of a day: a window of a day is made up of a dozen sums, not of thirty.
alter table stats_rollups drop constraint stats_rollups_grain_check,
  add constraint stats_rollups_grain_check check (grain in (60, 600, 3600, 21600, 86400));
