import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addTasks, makeStoreBench, type StoreBench } from '../queue/testing/store-bench.js'
import { hotPlanner } from './database.js'
import { type Driver, lists, probes } from './list-sql.js'

/** Each list must be led by its own index, in the order of the page, on an empty table as on a full one. */
describe('plans of lists', () => {
  let bench: StoreBench
  let client: pg.Client
  beforeAll(async () => {
    bench = await makeStoreBench()
    client = new pg.Client({ connectionString: bench.url, options: hotPlanner })
    await client.connect()
    for (const { name, text } of [...lists.map(({ statement }) => statement), ...Object.values(probes)]) {
      await client.query(`prepare ${name} as ${text}`)
    }
  })
  afterAll(async () => {
    await client.end()
    await bench.close()
  })

  const uuid = (digit: string) => `'${'00000000-0000-0000-0000-000000000000'.replaceAll('0', digit)}'`
  const page = `${uuid('f')}, ${uuid('0')}, 51, 10000, 't', 'x', 'q', 'tag', ${uuid('0')}, ${uuid('0')}, now(), now(), 'c', 'FAILED'`

  async function planOf(name: string, values: string): Promise<string[]> {
    await client.query('discard plans')
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (costs off) execute ${name}(${values})`)
    return rows.map((row) => row['QUERY PLAN'].trim())
  }

  const led: Readonly<Record<Driver, RegExp>> = {
    workflow: /^Index Cond: \(\(workflow_id = \$9\) AND \(id < \$1\) AND \(id >= \$2\)\)$/,
    cron: /^Index Cond: \(\(cron_id = \$10\) AND \(id < \$1\) AND \(id >= \$2\)\)$/,
    tenant: /^Index Cond: \(\(tenant = \$5\) AND \(id < \$1\) AND \(id >= \$2\)\)$/,
    open: /^Index Cond: \(\(id < \$1\) AND \(id >= \$2\)\)$/,
    all: /^Index Cond: \(\(id < \$1\) AND \(id >= \$2\)\)$/,
    waiting: /^Index Cond: \(\(ROW\(status, id\) < ROW\(\$14, \$1\)\) AND \(ROW\(status, id\) >= ROW\(\$14, \$2\)\)\)$/,
    running: /^Index Cond: \(session >= '0/,
    ended: /^Index Cond: \(\(status = \$14\) AND \(id < \$1\) AND \(id >= \$2\)\)$/,
    succeeded: /^Index Cond: \(\(id < \$1\) AND \(id >= \$2\)\)$/,
  }

  const settings = ['on an empty table', 'right after a bulk load', 'after ANALYZE'] as const
  describe.each(settings)('%s', (setting) => {
    beforeAll(async () => {
      if (setting === 'right after a bulk load') {
        await bench.sql('alter table open_tasks set (autovacuum_enabled = false)')
        await addTasks(bench.sql, { count: 40_000 })
      }
      if (setting === 'after ANALYZE') await bench.sql('analyze')
    })

    it.each(lists)(
      '$statement.name is led by the index of its $driver, and reads no table or index as a whole',
      async ({ driver, statement }) => {
        const plan = await planOf(statement.name, page)
        expect(plan.filter((line) => led[driver].test(line)).length, plan.join('\n')).toBeGreaterThan(0)
        const wholes = plan.filter((line, n) => {
          if (!/(Seq|Index|Index Only|Bitmap Heap) Scan/.test(line)) return false
          return !/^Index Cond/.test(plan[n + 1] ?? '')
        })
        expect(wholes).toEqual([])
        if (['workflow', 'cron', 'tenant', 'ended'].includes(driver)) {
          expect(plan.filter((line) => led.all.test(line))).toEqual([])
        }
        if (/^list_by_(workflow|cron|tenant)_/.test(statement.name)) {
          // no task is read before it is known to stand as is asked
          const walk = plan.findIndex((line) => led[driver].test(line))
          expect(plan[walk - 1]).toMatch(/^-> {2}Index Only Scan Backward using tasks_/)
        }
        // the page itself, and the running ones, which are as many as there are slots
        const sorts = plan.filter((line) => line.startsWith('Sort Key')).map((line) => line.replace(/_\d+/, ''))
        const gathered = driver === 'running' ? ['Sort Key: h.id DESC', 'Sort Key: h.id DESC'] : []
        expect(sorts.sort()).toEqual([...gathered, 'Sort Key: t.id DESC'])
      },
    )

    it.each(Object.values(probes))('$name is led by both its indexes', async ({ name }) => {
      const plan = await planOf(name, `${uuid('f')}, ${uuid('0')}, 't', 'FAILED'`)
      expect(plan.some((line) => line.includes('(tenant = $3)'))).toBe(true)
      expect(plan.some((line) => /status = \$4|ROW\(\$4, \$1\)/.test(line))).toBe(true)
      expect(plan.filter((line) => line.startsWith('Sort') || line.includes('Seq Scan'))).toEqual([])
    })
  })
})
