import pg from 'pg'
import { expect, test } from 'vitest'
import { ensureDays } from '../../packages/server/src/store/days.js'
import { cleanUpLater } from './clean-up.js'
import { createDatabase } from './database.js'
import { installVirtualClock } from './virtual-store-clock.js'

const dayMs = 86_400_000

test('every statement of the store is on the clock, within one statement at one instant', async () => {
  const { url } = await createDatabase()
  const clock = await installVirtualClock(url)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  cleanUpLater(() => client.end())
  const read = async () =>
    (await client.query(`select now() as now, now() = now() as same, clock_timestamp() as clock`)).rows[0]

  const before = await read()
  expect(Math.abs(before.now.getTime() - Date.now())).toBeLessThan(60_000)
  await clock.advance(40 * dayMs)
  const after = await read()
  expect(after.same).toBe(true)
  for (const name of ['now', 'clock']) {
    const moved = after[name].getTime() - before[name].getTime()
    expect(moved).toBeGreaterThanOrEqual(40 * dayMs)
    expect(moved).toBeLessThan(40 * dayMs + 60_000)
  }
  // the store's own functions and the tables that they make
  await client.query(`update store_marks set marked_at = now()`)
  expect((await client.query(`select duly_judged_now() = now() as judged`)).rows[0].judged).toBe(true)
  expect(await ensureDays(client)).toHaveLength(5)
  const { rows } = await client.query(`select distinct schemaname from pg_tables where tablename ~ '^tasks_2'`)
  expect(rows).toEqual([{ schemaname: 'public' }])
  await expect(clock.advance(-1)).rejects.toThrow('does not go back')
})
