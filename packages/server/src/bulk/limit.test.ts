import { expect, test } from 'vitest'
import type { BulkRecord } from '../model.js'
import { isUnavailable } from '../store/faults.js'
import { openTestNode, openTestStore } from '../testing/test-node.js'
import { BulkBench } from './testing/bulk-bench.js'

const store = await openTestStore()

/** On a slow machine some wait too long for a connection: nothing of them was done, so that they are asked for again. */
const startOne = (bench: BulkBench, queue: string, tenant: string | null): Promise<BulkRecord> =>
  bench.start('cancel', { queue }, tenant).catch((error: unknown) => {
    if (isUnavailable(error)) return startOne(bench, queue, tenant)
    throw error
  })

test('of two hundred that start at once over two nodes a hundred do, whoever else starts beside them', async () => {
  const other = await openTestNode(store.url, { number: 1 })
  const benches = [new BulkBench(store.node), new BulkBench(other)]
  const startAll = (count: number, tenant: string | null) =>
    Promise.allSettled(Array.from({ length: count }, (_, n) => startOne(benches[n % 2] as BulkBench, `q-${n}`, tenant)))
  const [acme, rival, unbound] = await Promise.all([startAll(200, 'acme'), startAll(10, 'rival'), startAll(10, null)])
  const refusals = acme.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
  expect(refusals).toEqual(Array(100).fill('rate_limited'))
  expect([...rival, ...unbound].filter(({ status }) => status === 'rejected')).toEqual([])
  const running = `select tenant, count(*)::integer as count from bulk_operations where status = 'RUNNING' group by 1 order by 1`
  expect(await store.node.query(running)).toEqual([
    { tenant: 'acme', count: 100 },
    { tenant: 'rival', count: 10 },
    { tenant: null, count: 10 },
  ])
  await other.close()
})
