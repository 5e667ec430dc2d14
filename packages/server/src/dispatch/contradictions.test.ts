import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../queue/testing/store-bench.js'
import { type HttpNode, openStore, startHttpNode } from './testing/http-node.js'

let sql: Sql
let node: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  node = await startHttpNode(store.url)
})

const failure = { outcome: 'failed', error: { class: 'E', message: 'no', retryable: false } }
const success = { outcome: 'succeeded', result: null }

describe('two different words on one lease in one call', () => {
  it.each([
    ['FAILED', failure, success],
    ['SUCCEEDED', success, failure],
  ])('end %s: the first one stands, the second comes too late', async (status, first, second) => {
    const worker = await node.api.worker({ queues: ['words'] })
    const { task_id } = await node.api.submit({ queue: 'words' })
    const [grant] = await worker.poll(1, { wait: 30 })
    const fence = { task_id, lease: String(grant?.lease) }
    const { results } = await worker.exchange(
      [
        { ...fence, ...first },
        { ...fence, ...second },
      ] as never,
      0,
    )
    expect(results).toMatchObject([
      { accepted: true, status },
      { accepted: false, code: 'lease_lost' },
    ])
    expect(await node.api.get(task_id)).toMatchObject({ status })
    await worker.leave()
  })
})

describe('a worker with a long lease', () => {
  it('does not put off the time limits of others after an outage', async () => {
    const worker = await node.api.worker({ queues: ['long'], heartbeatSeconds: 90 })
    await sql("update store_marks set marked_at = now() - interval '30 seconds'")
    const [before] = await sql<{ at: Date }>('select now() as at')
    for (;;) {
      const [mark] = await sql<{ waits: number }>(
        `select extract(epoch from judge_after - $1::timestamptz)::float8 as waits from store_marks
         where marked_at > $1::timestamptz`,
        [before?.at],
      )
      if (mark === undefined) continue
      expect(mark.waits).toBeGreaterThan(5)
      expect(mark.waits).toBeLessThan(20)
      break
    }
    await worker.leave()
  })
})

describe('many small batches at once', () => {
  it('wait for their turn instead of being refused', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => node.api.submitBatch([{ queue: 'small' }, { queue: 'small' }])),
    )
    expect(new Set(answers.flat().map((task) => task.task_id)).size).toBe(120)
  })

  it('name the item that used a key before, not a task that was never stored', async () => {
    const tasks = [1, 2].map((payload) => ({ task_type: 'work', payload, idempotency_key: 'twice' }))
    const answer = await node.api.call<{ errors: object[] }>('POST', '/tasks/batch', { tasks })
    expect(answer.status).toBe(409)
    expect(answer.body.errors).toEqual([
      { path: 'tasks[1].idempotency_key', message: 'was used for tasks[0], a different request' },
    ])
  })
})
