import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import { createDatabase } from '../../../../tests/support/database.js'
import { ensureDays } from '../store/days.js'
import { migrate } from '../store/migrations.js'
import { StoreTime } from './store-time.js'

const dayMs = 86_400_000

interface Reading {
  readonly now: Date
  readonly same: boolean
  readonly clock: Date
}

async function connect(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  cleanUpLater(() => client.end())
  const read = async (): Promise<Reading> => {
    const { rows } = await client.query(`select now() as now, now() = now() as same, clock_timestamp() as clock`)
    return rows[0]
  }
  return { client, read }
}

test('without an instant it goes on as usual, and every statement of the store is on it', async () => {
  const { url } = await createDatabase()
  const time = await StoreTime.install(url)
  cleanUpLater(() => time.close())
  const { client, read } = await connect(url)
  const before = await read()
  expect(Math.abs(before.now.getTime() - Date.now())).toBeLessThan(60_000)
  await time.move(40 * dayMs)
  const after = await read()
  expect(after.same).toBe(true)
  for (const name of ['now', 'clock'] as const) {
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
  await expect(time.move(-1)).rejects.toThrow('does not go back')
})

const days = { byMonths: false }
const at = new Date('2027-02-28T23:59:59.500Z')

/** A store on a time that stands still. */
async function openStill() {
  const { url } = await createDatabase({ empty: true })
  const time = await StoreTime.install(url, { at })
  cleanUpLater(() => time.close())
  await migrate(url)
  return { time, ...(await connect(url)) }
}

let still: Awaited<ReturnType<typeof openStill>>
beforeAll(async () => {
  still = await openStill()
})

test('with an instant it stands still, from the first day of the schema and to the microsecond', async () => {
  const { time, client, read } = still
  expect(await read()).toEqual({ now: at, same: true, clock: at })
  const { rows } = await client.query(`select max(applied_at) as at from duly_migrations`)
  expect(rows).toEqual([{ at }])
  expect(await time.moveTo('2027-03-01 00:00:00.000001+00', days)).toBe(Date.UTC(2027, 2, 1) + 0.001)
  expect((await client.query(`select now()::text as now`)).rows[0].now).toMatch(/^2027-03-01 00:00:00\.000001/)
  expect(await time.moveTo('2020-01-01T00:00:00Z', days)).toBe(Date.UTC(2027, 2, 1) + 0.001)
})

test('a move takes along what lives, in one step, and makes the day that it comes to', async () => {
  const { time, client } = still
  await client.query(`
    insert into worker_sessions (id, name, queues, task_types, slots, heartbeat_ms, lease_ms, registered_at, beat_at, live_until)
    select gen_random_uuid(), name, '{q}', '{t}', 1, 5000, 15000, now(), now(), now() + lease
    from (values ('alive', interval '7 s'), ('dead', interval '-1 s')) v (name, lease)`)
  const before = (await client.query<{ now: Date }>('select now()')).rows[0]?.now.getTime() ?? 0
  await time.moveTo(new Date(before + 100 * dayMs).toISOString(), days)
  const { rows } = await client.query(
    `select name, extract(epoch from live_until - now())::int as left, live_until > duly_judged_now() as lives
     from worker_sessions order by name`,
  )
  expect(rows).toEqual([
    { name: 'alive', left: 7, lives: true },
    { name: 'dead', left: -100 * 86_400 - 1, lives: false },
  ])
  const { rows: parts } = await client.query(
    `select to_regclass('tasks_' || to_char(now() at time zone 'UTC', 'YYYYMMDD')) is not null as today`,
  )
  expect(parts).toEqual([{ today: true }])
})

test('by months, a month has one partition, unless it was begun by days', async () => {
  const { time, client } = still
  const partitionsOf = async (month: string): Promise<string[]> => {
    const { rows } = await client.query(
      `select inhrelid::regclass::text as name from pg_inherits
       where inhparent in ('tasks'::regclass, 'outcomes'::regclass) and inhrelid::regclass::text ~ $1 order by 1`,
      [`_${month}`],
    )
    return rows.map(({ name }) => name)
  }
  const begun = await partitionsOf('202706')
  expect(begun.length).toBeGreaterThan(0)
  await time.moveTo('2027-06-20T00:00:00Z', { byMonths: true })
  expect(await partitionsOf('202706')).toEqual(
    expect.arrayContaining([...begun, 'outcomes_20270620', 'tasks_20270620']),
  )
  for (const day of ['2027-07-04', '2027-07-31']) await time.moveTo(`${day}T12:00:00Z`, { byMonths: true })
  expect(await partitionsOf('202707')).toEqual(['outcomes_202707', 'tasks_202707'])
  await client.query('begin')
  for (const day of ['2027-07-01', '2027-07-31']) {
    const { rows } = await client.query(
      `insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run)
      values (duly_day_bound($1), 'CANCELLED', now(), 0, 0, 0, 0, 0, 0, 1) returning tableoid::regclass::text as part`,
      [day],
    )
    expect(rows).toEqual([{ part: 'outcomes_202707' }])
  }
  await client.query('rollback')
})
