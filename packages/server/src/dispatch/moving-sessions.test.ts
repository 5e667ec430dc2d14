import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../queue/testing/store-bench.js'
import { enough, type HttpNode, openStore, type RawWorker, startHttpNode } from './testing/http-node.js'

let url: string
let sql: Sql
let one: HttpNode
let two: HttpNode
beforeAll(async () => {
  const store = await openStore()
  url = store.url
  sql = store.sql
  one = await startHttpNode(url)
  two = await startHttpNode(url)
})

/** Longer than a node keeps what was handed to a worker that does not poll there. */
const longerThanKept = 600

let queues = 0
const newQueue = (): string => `moving${queues++}`

const statusOf = async (id: string): Promise<string | undefined> => {
  const rows = await sql<{ status: string }>('select status from open_tasks where id = $1', [decodeId('task', id)])
  return rows[0]?.status
}

/** A worker whose node handed it a task that it has not fetched there: it came between two polls. */
async function handedBetweenPolls(node: HttpNode): Promise<{ worker: RawWorker; queue: string; task: string }> {
  for (;;) {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    await worker.poll(4)
    const poll = worker.poll(4, { wait: 30 })
    await enough()
    await node.api.submit({ queue })
    await poll
    const { task_id: task } = await node.api.submit({ queue })
    // a loaded machine can stretch the round trip beyond the time in which the worker counts as waiting
    if ((await statusOf(task)) === 'RUNNING') return { worker, queue, task }
  }
}

/** … and what it got over the other node, before the first one took it back from a worker that did not come. */
async function fetchedElsewhere() {
  for (;;) {
    const handed = await handedBetweenPolls(one)
    handed.worker.moveTo(two.api)
    const grants = await handed.worker.poll(4)
    // a loaded machine can stretch the way to the other node beyond the time for which it waits
    if (grants[0]?.attempt === 1) return { ...handed, grants }
  }
}

describe('what one node handed to a worker that polls another', () => {
  it('is given out there, and not taken back from the worker that has it then', async () => {
    const { worker, queue, task, grants } = await fetchedElsewhere()
    expect(grants).toMatchObject([{ task_id: task, attempt: 1 }])
    const other = await two.api.worker({ queues: [queue] })
    expect(await other.poll(4, { wait: longerThanKept / 1_000 })).toEqual([])
    expect(await worker.report(grants)).toMatchObject([{ accepted: true, status: 'SUCCEEDED' }])
    expect(await two.api.get(task)).toMatchObject({ attempts: 1, failures: 0 })
  })

  it('goes to others at once when that node stops', async () => {
    const stopping = await startHttpNode(url)
    const { queue, task } = await handedBetweenPolls(stopping)
    await stopping.stop()
    expect(await statusOf(task)).toBe('PENDING')
    const other = await two.api.worker({ queues: [queue] })
    const grants = await other.poll(4)
    expect(grants).toMatchObject([{ task_id: task, failures: 0 }])
    expect(await other.report(grants)).toMatchObject([{ accepted: true }])
    expect(await two.api.get(task)).toMatchObject({ status: 'SUCCEEDED', attempts: 1, failures: 0, crashes: 0 })
  })
})

/** A claim of a number that no grant of the session had yet. */
const lie = 999_999

describe('an acknowledgement of what was never granted', () => {
  it('counts for nothing, over whichever node it comes', async () => {
    const queue = newQueue()
    await one.api.submitBatch(Array.from({ length: 20 }, () => ({ queue })))
    const worker = await one.api.worker({ queues: [queue], slots: 2 })
    const first = await worker.poll(2, { received: lie })
    const running = async (): Promise<number> =>
      (await sql("select from open_tasks where queue = $1 and status = 'RUNNING'", [queue])).length
    for (let round = 1; round < 8; round++) {
      worker.moveTo(round % 2 === 0 ? one.api : two.api)
      await worker.beat({ received: lie })
      const again = await worker.poll(2, { received: lie })
      expect(again.map(({ lease }) => lease).sort()).toEqual(first.map(({ lease }) => lease).sort())
      expect(await running()).toBe(2)
    }
    // the true number is taken, by the node that did not give the grants too
    expect(await worker.report(first)).toMatchObject([{ accepted: true }, { accepted: true }])
    const next = await worker.poll(2)
    expect(next.map(({ task_id: id }) => id)).not.toContain(first[0]?.task_id)
    worker.moveTo(one.api)
    expect(await worker.poll(0)).toEqual([])
    expect(next).toHaveLength(2)
  })
})
