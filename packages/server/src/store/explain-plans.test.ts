import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addTasks, makeStoreBench, type StoreBench } from '../queue/testing/store-bench.js'
import { hotPlanner } from './database.js'
import { countBound, lane, lookBound } from './explain-sql.js'

/** What is explained of a ready task must cost the same whatever waits beside it, and whatever the statistics say. */
describe('the place of a task in its lane', () => {
  let bench: StoreBench
  let client: pg.Client
  beforeAll(async () => {
    bench = await makeStoreBench()
    client = new pg.Client({ connectionString: bench.url, options: hotPlanner })
    await client.connect()
    await client.query(`prepare ${lane.name} as ${lane.text}`)
  })
  afterAll(async () => {
    await client.end()
    await bench.close()
  })

  async function plan(): Promise<string[]> {
    await client.query('discard plans')
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain (costs off) execute ${lane.name}('00000000-0000-0000-0000-000000000000', 't')`,
    )
    return rows.map((row) => row['QUERY PLAN'].trim())
  }

  const settings = ['on an empty table', 'right after a bulk load', 'after ANALYZE'] as const
  it.each(settings)('is read along the ready index %s', async (setting) => {
    if (setting === 'right after a bulk load') {
      await bench.sql('alter table open_tasks set (autovacuum_enabled = false)')
      await addTasks(bench.sql, { count: 30_000, stepMs: 1 })
    }
    if (setting === 'after ANALYZE') await bench.sql('analyze')
    const lines = await plan()
    expect(lines.filter((line) => /Seq Scan|Bitmap|^Sort/.test(line))).toEqual([])
    expect(lines.some((line) => /^Index Cond: .*ROW\(ready_at, id\) < ROW\(o\.ready_at, o\.id\)/.test(line))).toBe(true)
    const unled = lines.filter((line, n) => /Index.* Scan using/.test(line) && !/^Index Cond/.test(lines[n + 1] ?? ''))
    expect(unled).toEqual([])
  })

  it('is counted up to a bound, and then told as more than that', async () => {
    const tasks = await addTasks(bench.sql, { count: countBound + 2, queue: 'deep', stepMs: 1 })
    const at = async (place: number) => bench.stores.explain.lane(tasks[place]?.id ?? '', null)
    expect(await at(0)).toMatchObject({ ahead: 0, isAheadExact: true, depth: countBound + 2 })
    expect(await at(countBound)).toMatchObject({ ahead: countBound, isAheadExact: true })
    expect(await at(countBound + 1)).toMatchObject({ ahead: countBound, isAheadExact: false, depth: countBound + 2 })
  })

  it('counts tenants up to a bound', async () => {
    const [own] = await addTasks(bench.sql, { queue: 'many' })
    await bench.sql(
      `insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, ready_at, timeout_ms)
       select gen_random_uuid(), 0, 'PENDING', 'tenant-' || n, 'many', 'work', 2, now(), 1000 from generate_series(1, $1::integer) n`,
      [lookBound + 10],
    )
    expect(await bench.stores.explain.lane(own?.id ?? '', null)).toMatchObject({
      tenants: lookBound,
      gates: 1,
      priorities: [2],
    })
  })
})
