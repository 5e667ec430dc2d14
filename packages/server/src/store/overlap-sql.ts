import { byKey, type Statement } from './database.js'

/*
 * What the policy cancel_running does to the earlier tasks of a recurring one: a bounded number of them in one transaction.
 */

/**
 * Holds up to $2 unfinished tasks of these definitions where they stand, so that what is cancelled next misses none of them. Those that
 * run and were told to stop before are passed by. `found` below $2: there are no others.
 */
export const lockOpen: Statement = {
  name: 'lock_cron_open',
  text: `
with mine as materialized (
  select o.id from unnest($1::uuid[]) as i (id)
  cross join lateral (
    select o.id from open_tasks o
    where ${byKey('o.cron_id', 'i.id')} and (o.status <> 'RUNNING' or o.cancel_requested_at is null) limit $2::integer) o
  limit $2::integer
)
select (select count(*)::integer from mine) as found, h.id
from (select true) one left join (
  select o.id from (select m.id from mine m order by m.id) m
  cross join lateral (select o.id from open_tasks o where ${byKey('o.id', 'm.id')} for update) o
) h on true`,
}

/** What of these definitions runs and was told to stop, up to $2 of each: their ends are waited for. */
export const stopping: Statement = {
  name: 'stopping_cron',
  text: `
select o.id, o.cron_id as "cronId", o.session from unnest($1::uuid[]) as i (id)
cross join lateral (
  select o.id, o.cron_id, o.session from open_tasks o
  where ${byKey('o.cron_id', 'i.id')} and o.status = 'RUNNING' and o.cancel_requested_at is not null limit $2::integer) o`,
}

/** Which of these definitions have unfinished tasks that were not told to stop. */
export const uncancelled: Statement = {
  name: 'uncancelled_cron',
  text: `
select i.id from unnest($1::uuid[]) as i (id)
where (select true from open_tasks o
  where ${byKey('o.cron_id', 'i.id')} and (o.status <> 'RUNNING' or o.cancel_requested_at is null) limit 1)`,
}
