import { beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, openStore, startHttpNode, timed, until } from '../dispatch/testing/http-node.js'
import type { Sql } from '../queue/testing/store-bench.js'

let sql: Sql
let node: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  node = await startHttpNode(store.url)
})

const waiting = async (queue: string): Promise<number> => {
  const [row] = await sql<{ n: number }>(
    "select count(*)::integer as n from open_tasks where queue = $1 and status = 'SCHEDULED'",
    [queue],
  )
  return row?.n ?? 0
}

describe('20,000 tasks due in the same second', () => {
  it('of one partition drain while a fresh task of another queue starts at once', async () => {
    const worker = await node.api.worker({ queues: ['fresh'] })
    const due = new Date(Date.now() + 5_000).toISOString()
    for (let batch = 0; batch < 2; batch++) {
      await node.api.submitBatch(Array.from({ length: 10_000 }, () => ({ queue: 'burst', scheduled_at: due })))
    }
    // the worst case: a batch is of one partition, and here all are
    await sql("update open_tasks set partition = 0 where queue = 'burst'")
    await until('the first promotion', async () => (await waiting('burst')) < 20_000)
    const delays: number[] = []
    const left: number[] = []
    const draining = timed(() => until('the end of the burst', async () => (await waiting('burst')) === 0, 150_000))
    for (let n = 0; n < 5; n++) {
      const poll = worker.poll(1, { wait: 30 })
      const { value, ms } = await timed(async () => {
        const { task_id } = await node.api.submit({ queue: 'fresh' })
        expect(await poll).toMatchObject([{ task_id }])
        return worker
      })
      delays.push(ms)
      left.push(await waiting('burst'))
      await value.report(await poll)
    }
    const { ms } = await draining
    console.info(
      `20,000 promoted in ${(ms / 1_000).toFixed(1)} s; fresh starts ${delays.map(Math.round).join(', ')} ms`,
    )
    // none of them came behind the burst
    expect(Math.min(...left)).toBeGreaterThan(0)
    const [order] = await sql<{ depth: number }>(
      "select sum(depth)::integer as depth from counters where queue = 'burst'",
    )
    expect(order?.depth).toBe(20_000)
  })
})
