import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../queue/testing/store-bench.js'
import { enough, type HttpNode, openStore, type RawWorker, startHttpNode } from './testing/http-node.js'

let sql: Sql
let node: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  node = await startHttpNode(store.url)
})

/** Tests share the node, so each has a queue of its own. */
let queues = 0
const newQueue = (): string => `between${queues++}`

const statusOf = async (id: string): Promise<string | undefined> => {
  const rows = await sql<{ status: string }>('select status from open_tasks where id = $1', [decodeId('task', id)])
  return rows[0]?.status
}

/**
 * A worker that was answered with one task and did not poll again, and the task that came right after it. The time between
 * the two is a round trip, which a loaded machine can stretch beyond the window: then it is tried in another queue.
 */
async function caughtBetween(slots: number): Promise<{ worker: RawWorker; queue: string; second: string }> {
  for (;;) {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    await worker.poll(slots)
    const poll = worker.poll(slots, { wait: 30 })
    await enough()
    await node.api.submit({ queue })
    const grants = await poll
    const { task_id: second } = await node.api.submit({ queue })
    if (grants.length === 1 && (await statusOf(second)) === 'RUNNING') return { worker, queue, second }
  }
}

describe('a task that comes between two polls of a worker with free slots', () => {
  it('is handed off to it and waits for its next poll', async () => {
    const { worker, second } = await caughtBetween(4)
    expect(await worker.poll(3)).toMatchObject([{ task_id: second, attempt: 1 }])
  })

  it('is left to others when the last answer took all slots', async () => {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    await worker.poll(1)
    const poll = worker.poll(1, { wait: 30 })
    await node.api.submit({ queue })
    expect(await poll).toHaveLength(1)
    const { task_id } = await node.api.submit({ queue })
    expect(await statusOf(task_id)).toBe('PENDING')
  })

  it('is given to another worker when nobody fetches it, and that costs no attempt', async () => {
    const { queue, second } = await caughtBetween(4)
    const other = await node.api.worker({ queues: [queue] })
    const [grant] = await other.poll(1, { wait: 30 })
    expect(grant).toMatchObject({ task_id: second, failures: 0 })
    await other.report([grant as NonNullable<typeof grant>])
    const record = await node.api.get(second)
    expect(record).toMatchObject({ status: 'SUCCEEDED', attempts: 1, failures: 0, crashes: 0 })
  })
})
