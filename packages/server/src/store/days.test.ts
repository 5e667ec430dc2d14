import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../../tests/support/database.js'
import { StoreTime } from '../kit/store-time.js'
import { ensureDays, makeDay } from './days.js'
import { migrate } from './migrations.js'

let database: TestDatabase
let time: StoreTime
let client: pg.Client
beforeAll(async () => {
  // no midnight passes in between
  database = await createDatabase({ empty: true })
  time = await StoreTime.install(database.url, { at: new Date() })
  await migrate(database.url)
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await Promise.all([client.end(), time.close()])
  await database.drop()
})

/** The table of `tasks` that a UUIDv7 of this instant goes to. */
async function tableAt(instant: string): Promise<string> {
  const milliseconds = new Date(instant).getTime().toString(16).padStart(12, '0')
  const id = `${milliseconds.slice(0, 8)}-${milliseconds.slice(8)}-7000-8000-000000000000`
  const { rows } = await client.query(
    `insert into tasks (id, tenant, task_type, queue, priority, created_at, max_retries, retry_backoff, retry_jitter,
       retry_delay_ms, retry_max_delay_ms, timeout_ms, payload)
     values ($1, 'default', 'x', 'default', 2, now(), 0, 'fixed', 'none', 0, 0, 1, 'null') returning tableoid::regclass::text as table`,
    [id],
  )
  return rows[0].table
}

test('a migrated database has yesterday to three days ahead', async () => {
  expect(await ensureDays(client)).toEqual([])
  expect(await ensureDays(client, { ahead: 5 })).toHaveLength(2)
  const { rows } = await client.query(
    `select count(*)::int as days from pg_inherits where inhparent = 'tasks'::regclass`,
  )
  expect(rows[0].days).toBe(7)
})

test('what went missing is made again, in both tables', async () => {
  const { rows } = await client.query<{ day: string }>(
    `select to_char(now() at time zone 'UTC' + interval '1 day', 'YYYYMMDD') as day`,
  )
  await client.query(`drop table outcomes_${rows[0]?.day}`)
  expect(await ensureDays(client)).toHaveLength(1)
  expect(await ensureDays(client)).toEqual([])
})

test('a day holds the ids from its first to its last millisecond, in UTC', async () => {
  await client.query(`set timezone = 'America/New_York'`)
  await makeDay(client, '2031-03-09')
  await makeDay(client, '2031-03-09')
  await makeDay(client, '2031-03-10')
  expect(await tableAt('2031-03-09T00:00:00.000Z')).toBe('tasks_20310309')
  expect(await tableAt('2031-03-09T23:59:59.999Z')).toBe('tasks_20310309')
  expect(await tableAt('2031-03-10T00:00:00.000Z')).toBe('tasks_20310310')
  await expect(tableAt('2031-03-11T00:00:00.000Z')).rejects.toMatchObject({ code: '23514' })
})

test('several nodes may make the same days at once', async () => {
  const clients = Array.from({ length: 5 }, () => new pg.Client({ connectionString: database.url }))
  await Promise.all(clients.map((each) => each.connect()))
  await Promise.all(clients.map((each) => ensureDays(each, { ahead: 22 })))
  await Promise.all(clients.map((each) => each.end()))
  expect(await ensureDays(client, { ahead: 22 })).toEqual([])
})
