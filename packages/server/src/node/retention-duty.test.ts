import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore, startHttpNode, until } from '../dispatch/testing/http-node.js'

let url: string
let client: pg.Client
beforeAll(async () => {
  url = (await openStore()).url
  client = new pg.Client({ connectionString: url })
  await client.connect()
})
afterAll(() => client.end())

/** Two tasks of 40 days ago: one that ended then, and one that waits. */
async function fillOldDay(): Promise<void> {
  await client.query(`select duly_make_day((now() at time zone 'UTC')::date - 40)`)
  await client.query(`
    create temporary table made as
    select (substr(duly_day_bound((now() at time zone 'UTC')::date - 40)::text, 1, 13) || '-7000-8000-00000000000' || n)::uuid as id, n
    from generate_series(1, 2) n`)
  await client.query(`
    insert into tasks (id, tenant, task_type, queue, priority, created_at, max_retries, retry_backoff, retry_jitter,
      retry_delay_ms, retry_max_delay_ms, timeout_ms, payload)
    select id, 'default', 'old', 'old', 2, now() - interval '40 days', 0, 'fixed', 'none', 1, 1, 1000, '{}' from made`)
  await client.query(`
    insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run)
    select id, 'CANCELLED', now() - interval '40 days', 0, 0, 0, 0, 0, 0, 1 from made where n = 1`)
  await client.query(`
    insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, due_at, wake_at, timeout_ms)
    select id, 0, 'SCHEDULED', 'default', 'old', 'old', 2, now() + interval '9 days', now() + interval '9 days', 1000
    from made where n = 2`)
}

const oldTasks = async () => (await client.query(`select 1 from tasks where task_type = 'old'`)).rows.length

test('a scheduler removes what is past its time, counts it, and says what it keeps', async () => {
  await fillOldDay()
  const node = await startHttpNode(url, {})
  await until('the finished one is gone', async () => (await oldTasks()) === 1, 60_000)
  await until('a pass is counted', () => hasPassed(node.url), 60_000)
  const metrics = await metricsOf(node.url)
  expect(metrics).toContain('duly_retention_removed_rows_total{kind="tasks"} 1')
  expect(metrics).toMatch(/^duly_retention_last_success_seconds 1\d{9}/m)
  expect(Number(/^duly_retention_oldest_day_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(39 * 86_400)
  const { rows } = await client.query('select retention_days from nodes')
  expect(rows).toEqual([{ retention_days: 30 }])
  await node.stop()
})

test('a node that keeps tasks for longer removes none of them', async () => {
  await client.query('delete from retention_marks')
  await client.query(`delete from open_tasks where task_type = 'old'`)
  await client.query(`
    insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run)
    select id, 'CANCELLED', now() - interval '40 days', 0, 0, 0, 0, 0, 0, 1 from tasks where task_type = 'old'`)
  const node = await startHttpNode(url, { retentionDays: 60 })
  await until('a pass is counted', () => hasPassed(node.url), 60_000)
  expect(await oldTasks()).toBe(1)
  await node.stop()
})

const hasPassed = async (base: string): Promise<boolean> =>
  (await metricsOf(base)).includes('duly_retention_pass_seconds_count 1')

const metricsOf = async (base: string): Promise<string> => (await fetch(`${base}/metrics`)).text()
