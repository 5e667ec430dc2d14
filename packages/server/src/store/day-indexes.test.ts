import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import { makeDay } from './days.js'
import { MIGRATIONS_FOLDER } from './migration-files.js'
import { migrate, verifyMigrations } from './migrations.js'

let url: string
let drop: () => Promise<void>
let client: pg.Client
let writer: pg.Client
beforeAll(async () => {
  ;({ url, drop } = await createDatabase({ empty: true }))
  client = new pg.Client(url)
  writer = new pg.Client(url)
  await Promise.all([client.connect(), writer.connect()])
})
afterAll(async () => {
  await Promise.all([client.end(), writer.end()])
  await drop()
})

/** Migrates to what there was before the lists. */
async function migrateBefore(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'duly-migrations-'))
  for (const file of (await readdir(MIGRATIONS_FOLDER)).filter((name) => name < '0003')) {
    await writeFile(join(folder, file), await readFile(join(MIGRATIONS_FOLDER, file)))
  }
  await migrate(url, { folder })
  await rm(folder, { recursive: true })
}

const insert = `
with made as (select (substr(duly_day_bound(current_date)::text, 1, 14) || '7005-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id
  from generate_series($1::integer, $2::integer) n)
insert into tasks (id, tenant, task_type, queue, priority, created_at, max_retries, retry_backoff, retry_jitter, retry_delay_ms,
  retry_max_delay_ms, timeout_ms, payload)
select id, 'acme', 'work', 'q', 2, now(), 0, 'fixed', 'none', 0, 0, 1000, 'null' from made`

// F131: a plain `create index` on the parent stops all writers until every day is built
test('existing days get their indexes while tasks are written, also after a build that was cut off', async () => {
  await migrateBefore()
  const { rows } = await client.query<{ today: string }>(`select to_char(current_date, 'YYYY-MM-DD') as today`)
  const today = rows[0]?.today ?? ''
  await makeDay(client, today)
  await writer.query(insert, [1, 50_000])
  // what a build that was cut off leaves: an index by that name that is not what it should be
  await client.query(
    `create index "tasks_${today.replaceAll('-', '')}_tasks_tenant" on tasks_${today.replaceAll('-', '')} (queue)`,
  )
  let isOver = false
  let longestMs = 0
  let next = 50_001
  const writing = (async () => {
    while (!isOver) {
      const beganMs = performance.now()
      await writer.query(insert, [next, next])
      next += 1
      longestMs = Math.max(longestMs, performance.now() - beganMs)
    }
  })()
  await migrate(url)
  isOver = true
  await writing
  expect(next).toBeGreaterThan(50_002)
  // a lock is waited for in tries of 2 s
  expect(longestMs).toBeLessThan(10_000)
  expect(await verifyMigrations(url)).toEqual({ ok: true, problems: [] })
  const parents = await client.query(
    `select i.relname as name, x.indisvalid as valid,
       (select count(*)::integer from pg_inherits h where h.inhparent = i.oid) =
       (select count(*)::integer from pg_inherits h where h.inhparent = x.indrelid) as whole
     from pg_index x join pg_class i on i.oid = x.indexrelid where i.relkind = 'I' order by 1`,
  )
  expect(parents.rows.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['outcomes_status', 'tasks_cron', 'tasks_tenant', 'tasks_workflow']),
  )
  expect(parents.rows.filter(({ valid, whole }) => !valid || !whole)).toEqual([])
  expect(await migrate(url)).toEqual({ applied: [] })
})
