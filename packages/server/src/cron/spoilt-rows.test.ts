import { decodeId } from '@duly/domain'
import { beforeAll, expect, test } from 'vitest'
import { type HttpNode, openStore, startHttpNode } from '../dispatch/testing/http-node.js'
import type { Sql } from '../queue/testing/store-bench.js'

let sql: Sql
let node: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  node = await startHttpNode(store.url)
})

async function call<T>(method: string, path: string, body?: object): Promise<{ status: number; body: T }> {
  const headers = { 'content-type': 'application/json' }
  const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) }
  const answer = await fetch(`${node.url}/api/v1/cron-tasks${path}`, init)
  return { status: answer.status, body: (await answer.json()) as T }
}

interface WireCron {
  readonly cron_id: string
  readonly created_at: string
}

let names = 0
const create = async () => {
  const body = { name: `row-${names++}`, cron_expression: '0 0 1 1 *', task_type: 'x', payload: { n: 1 } }
  return (await call<WireCron>('POST', '', body)).body
}

test.each([
  ...['starts_at', 'ends_at', 'next_fire_at', 'last_fire_at', 'last_fired_at', 'created_at', 'updated_at'].flatMap(
    (column) => [`${column} = 'infinity'`, `${column} = '-infinity'`, `${column} = '294000-01-01'`],
  ),
  ...[
    'expression = null, every_ms = 1',
    "metadata = 'no json'",
    "metadata = '[1]'",
    "metadata = ''",
    "payload = ''",
    "task = 'null'",
    "timezone = ''",
  ],
])('a row with %s fails no page of others, and can be looked at, triggered or not, and deleted', async (change) => {
  const good = await create()
  const bad = await create()
  await sql(`update cron_tasks set ${change} where id = $1`, [decodeId('cron', bad.cron_id)])
  const list = await call<{ items: WireCron[] }>('GET', '?limit=2')
  expect(list.body.items.map(({ cron_id }) => cron_id)).toEqual([bad.cron_id, good.cron_id])
  const one = await call<WireCron>('GET', `/${bad.cron_id}`)
  expect([one.status, Date.parse(one.body.created_at)]).toEqual([200, expect.any(Number)])
  expect([202, 422]).toContain((await call('POST', `/${bad.cron_id}/trigger`)).status)
  await fetch(`${node.url}/api/v1/cron-tasks/${bad.cron_id}`, { method: 'DELETE' })
  expect((await call('GET', `/${bad.cron_id}`)).status).toBe(404)
})
