import pg from 'pg'
import { expect, test } from 'vitest'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import { startOwnPostgres } from '../../../../tests/support/own-postgres.js'
import { migrate } from '../store/migrations.js'
import { openTestNode } from '../testing/test-node.js'
import { Graph } from '../testing/workflows.js'

const { url } = await startOwnPostgres()
await migrate(url)
const client = new pg.Client({ connectionString: url })
await client.connect()
cleanUpLater(() => client.end())
await client.query('create extension if not exists pg_stat_statements')
const node = await openTestNode(url)
cleanUpLater(() => node.close())

/** Pages that statements of ends touched, claims left out. */
const touched = `
select sum(s.shared_blks_hit + s.shared_blks_read)::float8 as pages
from pg_stat_statements s join pg_database d on d.oid = s.dbid
where d.datname = current_database() and s.query like '%workflow%' and s.query not like '%wanted as materialized%'
  and s.query not like '%pg_stat_statements%'`

async function pagesOf(work: () => Promise<void>): Promise<number> {
  // what claims left behind is gone, whether or not autovacuum has come by
  await client.query('vacuum')
  await client.query('select pg_stat_statements_reset()')
  await work()
  const { rows } = await client.query<{ pages: number }>(touched)
  return rows[0]?.pages ?? 0
}

const batches = 50
const atOnce = 5

test('an end costs as much among 10 parents of a join as among 10,000', async () => {
  const small: Graph[] = []
  const fan = (count: number) => {
    const names = Array.from({ length: count }, (_, n) => `p${n}`)
    return { names, nodes: { ...Object.fromEntries(names.map((name) => [name, {}])), join: { after: names } } }
  }
  const { names, nodes } = fan(9_999)
  const large = await Graph.submit(node, nodes)
  for (let n = 0; n < 2 * batches; n++) small.push(await Graph.submit(node, fan(10).nodes))
  await large.claim()
  for (const graph of small) await graph.claim()
  const first = names.slice(0, atOnce)
  // indexes of tables that were empty get their height, and the plans of the connection are made
  for (const graph of small.slice(batches)) await graph.sayAll(first)
  const ofSmall = await pagesOf(async () => {
    for (const graph of small.slice(0, batches)) await graph.sayAll(first)
  })
  // of the 500 that a claim takes every second one, so that as many nodes of a page are written as in the small ones
  const claimed = names.slice(0, 2 * batches * atOnce).filter((_, n) => n % 2 === 0)
  const ofLarge = await pagesOf(async () => {
    for (let n = 0; n < batches; n++) await large.sayAll(claimed.slice(n * atOnce, (n + 1) * atOnce))
  })
  console.info(`pages an end: ${ofSmall / batches / atOnce} of 10 parents, ${ofLarge / batches / atOnce} of 9,999`)
  expect(ofLarge / ofSmall).toBeLessThan(1.1)
  expect(ofSmall).toBeGreaterThan(0)
}, 120_000)

test('a chain of 1,000 costs as much at its end as at its beginning', async () => {
  const names = Array.from({ length: 1_000 }, (_, n) => `n${n}`)
  const chain = await Graph.submit(
    node,
    Object.fromEntries(names.map((name, n) => [name, n === 0 ? {} : { after: [`n${n - 1}`] }])),
  )
  const run = (from: number) => async () => {
    for (const name of names.slice(from, from + 100)) {
      await chain.claim()
      await chain.say(name)
    }
  }
  const first = await pagesOf(run(0))
  for (const from of [100, 200, 300, 400, 500, 600, 700, 800]) await run(from)()
  const last = await pagesOf(run(900))
  console.info(`pages an end: ${first / 100} at the beginning, ${last / 100} at the end of the chain`)
  expect(last / first).toBeLessThan(1.25)
  expect(await chain.status()).toBe('SUCCEEDED')
}, 120_000)
