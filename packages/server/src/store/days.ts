import type { ClientBase } from 'pg'

/** Days ahead of today whose partitions are kept ready. Each one costs every claim some µs; a missing day is made by the insert that finds it missing. */
const DAYS_AHEAD = 3
const LOCK_TIMEOUT_MS = 2_000

/**
 * Makes the day partitions of `tasks` and `outcomes` that are missing, from yesterday to `ahead` days from today, by the
 * store's clock (I8). Yesterday, because ids minted just before midnight may arrive after it. Each day is a short transaction.
 * The client must be outside a transaction.
 * @returns the days made, as `YYYY-MM-DD`
 */
export async function ensureDays(client: ClientBase, { ahead = DAYS_AHEAD } = {}): Promise<readonly string[]> {
  const { rows } = await client.query<{ day: string }>(
    `select to_char(day, 'YYYY-MM-DD') as day
     from (select (now() at time zone 'UTC')::date + n as day from generate_series(-1, $1::int) as n) as wanted
     where to_regclass('tasks_' || to_char(day, 'YYYYMMDD')) is null
        or to_regclass('outcomes_' || to_char(day, 'YYYYMMDD')) is null
     order by day`,
    [ahead],
  )
  for (const { day } of rows) await makeDay(client, day)
  return rows.map(({ day }) => day)
}

/**
 * Makes one day's partitions, whichever day it is; nothing happens when they exist.
 * @param day as `YYYY-MM-DD`, in UTC
 */
export async function makeDay(client: ClientBase, day: string): Promise<void> {
  await client.query('begin')
  try {
    await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await client.query('select duly_make_day($1::date)', [day])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {}) // the first error is the one to tell
    throw error
  }
}
