import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeStoreBench, type StoreBench } from '../queue/testing/store-bench.js'
import * as bulk from './bulk-sql.js'
import { hotPlanner, type Statement } from './database.js'
import * as letters from './dead-letter-sql.js'
import * as changes from './plain-change-sql.js'

const letterCount = 20_000

/** Statements over dead letters and operations must be led by an index, however many there are and whatever is known of them. */
describe('plans of dead letters and of operations on many tasks', () => {
  let bench: StoreBench
  let client: pg.Client
  const lists = [letters.letterLists, letters.letterCandidates].flatMap((each) => Object.values(each))
  const acts = [...Object.values(changes), bulk.unmoved, letters.discard]
  const statements: readonly Statement[] = [...lists, ...acts, letters.bareLetters, bulk.take]

  beforeAll(async () => {
    bench = await makeStoreBench()
    client = new pg.Client({ connectionString: bench.url, options: hotPlanner })
    await client.connect()
    for (const { name, text } of statements) await client.query(`prepare ${name} as ${text}`)
  })
  afterAll(async () => {
    await client.end()
    await bench.close()
  })

  async function planOf({ name }: Statement): Promise<string[]> {
    await client.query('discard plans')
    const { rows: found } = await client.query<{ n: number }>(
      `select array_length(parameter_types, 1) as n from pg_prepared_statements where name = $1`,
      [name],
    )
    const values = Array<string>(found[0]?.n ?? 0)
      .fill('null')
      .join(', ')
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain (costs off) execute ${name}${values === '' ? '' : `(${values})`}`,
    )
    return rows.map((row) => row['QUERY PLAN'].trim())
  }

  const settings = ['on an empty table', 'right after a bulk load', 'after ANALYZE'] as const
  describe.each(settings)('%s', (setting) => {
    beforeAll(async () => {
      if (setting === 'right after a bulk load') await bury(bench)
      if (setting === 'after ANALYZE') await bench.sql('analyze')
    })

    it.each(statements)('reads no table and no index as a whole: $name', async (statement) => {
      const plan = await planOf(statement)
      const wholes = plan.filter((line, n) => {
        const scan = /(Seq|Index|Index Only|Bitmap Heap) Scan.* on (\w+)/.exec(line)
        if (!scan || line.includes('dead_letters_older')) return false
        return !(scan[1]?.startsWith('Index') && plan[n + 1]?.startsWith('Index Cond'))
      })
      expect(wholes, plan.join('\n')).toEqual([])
      // the page alone, at the end
      expect(plan.filter((line) => line.startsWith('Sort Key: d.died_at')).length).toBeLessThanOrEqual(1)
    })
  })

  it('a summary reads sums, and two letters of each group that it shows, not the letters', async () => {
    await bench.sql('vacuum dead_letters, dead_letter_counts')
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) ${letters.summaries.all.text
        .replaceAll(/\$1(?!\d)/g, 'null')
        .replaceAll(/\$[23](?!\d)/g, 'null')
        .replaceAll('$4', '50')
        .replaceAll('$5', '10000')}`,
    )
    const [{ Plan: plan }] = rows[0]?.['QUERY PLAN'] ?? [{ Plan: {} }]
    const buffers = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
    console.info(`summary of ${letterCount} letters in 100 groups: ${buffers} buffers`)
    // two looks of some blocks each for 50 groups, and the sums
    expect(buffers).toBeLessThan(1_000)
    const found = await bench.stores.deadLetters.summary({ tenant: null, queue: null, taskType: null }, 50)
    expect(found).toMatchObject({ letters: letterCount, groups: 100, isComplete: true })
    expect(found.items).toHaveLength(50)
  })
})

/** Dead letters in 100 groups of two tenants, by one statement, as a bulk load would: no ANALYZE afterwards. */
async function bury({ sql, stores }: StoreBench): Promise<void> {
  await sql('alter table dead_letters set (autovacuum_enabled = false)')
  await sql(
    `insert into dead_letters (task_id, tenant, queue, task_type, died_at, error_class, error_message)
     select md5($2 || n)::uuid, case when n % 2 = 0 then 'acme' else 'rival' end, 'q' || n % 10, 'work', now() - n * interval '1 ms',
       'Boom', repeat('x', n % 100 / 10) || ' failed ' || n
     from generate_series(1, $1::integer) n`,
    [letterCount, randomUUID()],
  )
  while (await stores.deadLetters.fill(500)) {}
}
