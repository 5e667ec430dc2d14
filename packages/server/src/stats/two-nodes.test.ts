import { beforeAll, expect, it } from 'vitest'
import { type HttpNode, openStore, startHttpNode, until } from '../dispatch/testing/http-node.js'
import type { Sql } from '../queue/testing/store-bench.js'

interface Answer {
  readonly totals: Readonly<Record<string, number>> & { readonly wait_seconds: { p50: number } | null }
  readonly items: readonly (Readonly<Record<string, number>> & { readonly name: string })[]
}

let url: string
let sql: Sql
let a: HttpNode
let b: HttpNode
beforeAll(async () => {
  const store = await openStore()
  url = store.url
  sql = store.sql
  a = await startHttpNode(url)
  b = await startHttpNode(url)
})

const stats = async (node: HttpNode, query: string) => (await node.api.call<Answer>('GET', `/stats?${query}`)).body
const pick = (figures: Readonly<Record<string, unknown>> | undefined, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, figures?.[name]]))

it('counts every task of two nodes once, whatever becomes of it', async () => {
  const tasks = (queue: string, count: number, over = {}) => Array.from({ length: count }, () => ({ queue, ...over }))
  const tenant = { metadata: { tenant_id: 'acme' } }
  const worker = await a.api.worker({ queues: ['ok', 'bad'], slots: 500 })
  const other = await b.api.worker({ queues: ['ok', 'bad'], slots: 500 })
  await a.api.submitBatch(tasks('ok', 120, tenant))
  await b.api.submitBatch(tasks('ok', 80))
  for (let n = 0; n < 10; n++) await (n % 2 === 0 ? a : b).api.submit({ queue: 'ok' })
  let done = 0
  while (done < 210) {
    for (const each of [worker, other]) {
      const taken = await each.poll(50)
      if (taken.length > 0) done += (await each.report(taken)).filter(({ accepted }) => accepted).length
    }
  }
  await a.api.submitBatch(tasks('bad', 5, { max_retries: 1, retry_delay_seconds: 0 }))
  const error = { class: 'E', message: 'e', retryable: true }
  for (let failures = 0; failures < 10; ) {
    const taken = await other.poll(5, { wait: 30 })
    failures += taken.length
    await other.report(taken, { outcome: 'failed', error })
  }
  await b.api.submitBatch(tasks('bad', 3))
  for (let failures = 0; failures < 3; ) {
    const taken = await worker.poll(3, { wait: 30 })
    failures += taken.length
    await worker.report(taken, { outcome: 'failed', error: { ...error, retryable: false } })
  }
  // what ends while it waits: purged, cancelled, expired
  await a.api.call('POST', '/queues/held/pause')
  await b.api.submitBatch(tasks('held', 40))
  await b.api.call('POST', '/queues/held/purge')
  const { task_id } = await a.api.submit({ queue: 'held' })
  await b.api.call('POST', `/tasks/${task_id}/cancel`)
  const expiring = await a.api.submit({ queue: 'held', expires_at: new Date(Date.now() + 1_000).toISOString() })
  await until('it expired', async () => (await b.api.get(expiring.task_id, 5)).status === 'CANCELLED')
  // lost with its worker
  const doomed = await b.api.worker({ queues: ['lost'] })
  await b.api.submit({ queue: 'lost', max_retries: 0 })
  expect(await doomed.poll(1, { wait: 30 })).toHaveLength(1)
  await doomed.beat()
  await sql(`update worker_sessions set live_until = 'epoch' where id = $1`, [doomed.uuid])
  await until(
    'the loss is judged',
    async () => (await sql('select from failed_attempts where outcome = $1', ['lost'])).length > 0,
  )

  // each writes down what it has when it is asked
  await stats(b, 'window_seconds=3600')
  const all = await stats(a, 'window_seconds=3600&by=queue')
  expect(
    pick(all.totals, 'submitted', 'started', 'succeeded', 'failed', 'dead', 'cancelled', 'retried', 'lost'),
  ).toEqual({
    ...{ submitted: 261, started: 224, succeeded: 210, failed: 3, dead: 5, cancelled: 42, retried: 5, lost: 1 },
  })
  expect(pick(all.totals, 'depth', 'running')).toEqual({ depth: 1, running: 0 })
  expect(all.totals.error_rate).toBeCloseTo(8 / 218, 3)
  expect(all.totals.wait_seconds).not.toBeNull()
  expect(Object.fromEntries(all.items.map(({ name, submitted }) => [name, submitted]))).toEqual({
    ...{ ok: 210, bad: 8, held: 42, lost: 1 },
  })
  expect(
    pick(
      all.items.find(({ name }) => name === 'held'),
      'cancelled',
      'started',
    ),
  ).toEqual({ cancelled: 42, started: 0 })
  const tenants = await stats(b, 'window_seconds=7200&by=tenant')
  expect(
    pick(
      tenants.items.find(({ name }) => name === 'acme'),
      'submitted',
      'succeeded',
    ),
  ).toEqual({ submitted: 120, succeeded: 120 })
  const [facts] = await sql<{ n: number }>('select count(*)::integer as n from tasks')
  expect(facts?.n).toBe(all.totals.submitted)
})

it('writes down what it counted when it stops', async () => {
  const node = await startHttpNode(url)
  await node.api.submit({ queue: 'last-words' })
  await node.stop()
  expect(await sql("select submitted from stats_rollups where kind = 'queue' and name = 'last-words'")).toEqual([
    { submitted: 1 },
  ])
})
