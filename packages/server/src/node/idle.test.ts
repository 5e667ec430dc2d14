import pg from 'pg'
import { expect, it } from 'vitest'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import { startOwnPostgres } from '../../../../tests/support/own-postgres.js'
import { enough, startHttpNode } from '../dispatch/testing/http-node.js'

const measuredSeconds = 20
const perSecond = 3

/** What is sent whether or not anything happens; what a worker sends by itself is not meant. */
const counted = `
select query, calls::integer as calls from pg_stat_statements s join pg_database d on d.oid = s.dbid
where d.datname = current_database() and query not like '%pg_stat_statements%' order by calls desc`

it(`an idle node with a worker that waits sends at most ${perSecond} statements a second`, async () => {
  const { url } = await startOwnPostgres()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  cleanUpLater(() => client.end())
  await client.query('create extension if not exists pg_stat_statements')
  const node = await startHttpNode(url)
  const worker = await node.api.worker()
  const waiting = worker.poll(1, { wait: 2 * measuredSeconds })
  // past the first looks of every duty
  await enough(3_000)
  await client.query('select pg_stat_statements_reset()')
  await enough(measuredSeconds * 1_000)
  const { rows } = await client.query<{ query: string; calls: number }>(counted)
  const calls = rows.reduce((sum, row) => sum + row.calls, 0)
  console.info(
    rows
      .map((row) => `${(row.calls / measuredSeconds).toFixed(2)}/s ${row.query.replace(/\s+/g, ' ').slice(0, 90)}`)
      .join('\n'),
  )
  expect(calls / measuredSeconds).toBeLessThanOrEqual(perSecond)
  // and it does look: a node that has stopped would pass the line above
  expect(calls / measuredSeconds).toBeGreaterThan(1)
  await node.stop()
  await waiting
}, 90_000)
