import { makeStores } from '../../node/stores.js'
import { describeReadyQueue } from '../testing/conformance.js'
import { makeStoreBench } from '../testing/store-bench.js'

describeReadyQueue('PostgreSQL', async () => {
  const bench = await makeStoreBench()
  const { database, sql, close } = bench
  const another = makeStores(database, { nodeNumber: 1, graceMs: 5_000 }).queue
  return { queue: bench.stores.queue, another, sql, close }
})
