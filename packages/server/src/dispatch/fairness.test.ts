import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import { addTasks, type Sql } from '../queue/testing/store-bench.js'
import { type HttpNode, openStore, type RawWorker, startHttpNode, timed, until } from './testing/http-node.js'
import { untilItWaits } from './testing/known-states.js'

let sql: Sql
let node: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  node = await startHttpNode(store.url)
})

/** Starts in their order, as the worker got them: ids of the store. */
async function starts(worker: RawWorker, count: number, slots: number): Promise<string[]> {
  const order: string[] = []
  let tasks = await worker.poll(slots, { wait: 30 })
  while (order.length < count) {
    order.push(...tasks.map((task) => decodeId('task', task.task_id)))
    const reports = tasks.map(({ task_id, lease }) => ({ task_id, lease, outcome: 'succeeded', result: null }))
    tasks = (await worker.exchange(reports, slots, { wait: 30 })).tasks
  }
  return order
}

describe('tenants', () => {
  it('one with 100 tasks behind one with 100,000: all of its start within the first 1,000', async () => {
    await addTasks(sql, { queue: 'tenants', tenant: 'big', count: 100_000, stepMs: 1, readyAgoMs: 200_000 })
    const small = await addTasks(sql, { queue: 'tenants', tenant: 'small', count: 100, readyAgoMs: 1_000 })
    const worker = await node.api.worker({ queues: ['tenants'], slots: 50 })
    const order = (await starts(worker, 1_000, 50)).slice(0, 1_000)
    const ids = new Set(small.map((task) => task.id))
    const places = order.flatMap((id, place) => (ids.has(id) ? [place] : []))
    expect(places).toHaveLength(100)
    console.info(`the last task of the small tenant started as number ${(places.at(-1) ?? 0) + 1}`)
    expect(await worker.leave()).toBe(204)
  })

  it('that come late start within one round', async () => {
    const { task_id } = await node.api.submit({ queue: 'tenants', metadata: { tenant_id: 'late' } })
    const worker = await node.api.worker({ queues: ['tenants'], slots: 10 })
    expect((await starts(worker, 10, 10)).slice(0, 10)).toContain(decodeId('task', task_id))
    await worker.leave()
  })
})

describe('priorities', () => {
  it('share 70 : 25 : 5 within 5 % of 1,000 starts, each in its own order', async () => {
    const lanes = []
    for (const priority of [1, 2, 3] as const) {
      lanes.push(await addTasks(sql, { queue: 'weights', priority, count: 1_500, stepMs: 1 }))
    }
    const worker = await node.api.worker({ queues: ['weights'], slots: 20 })
    const order = (await starts(worker, 1_000, 20)).slice(0, 1_000)
    const shares = lanes.map((tasks) => {
      const ids = new Set(tasks.map((task) => task.id))
      return order.filter((id) => ids.has(id)).length
    })
    console.info(`1,000 starts by priority: ${shares.join(' : ')}`)
    for (const [index, share] of [700, 250, 50].entries())
      expect(Math.abs((shares[index] ?? 0) - share)).toBeLessThan(50)
    // a poll's answer names its tasks in no promised order, so order shows in what had started by then
    for (const [index, tasks] of lanes.entries()) {
      const first = new Set(tasks.slice(0, (shares[index] ?? 0) + 20).map((task) => task.id))
      const mine = new Set(tasks.map((task) => task.id))
      expect(order.filter((id) => mine.has(id) && !first.has(id))).toEqual([])
    }
    await worker.leave()
  })

  it('one slot at a time, a lane is served strictly by readiness', async () => {
    const tasks = await addTasks(sql, { queue: 'strict', count: 60, stepMs: 1 })
    const worker = await node.api.worker({ queues: ['strict'], slots: 1 })
    expect(await starts(worker, 60, 1)).toEqual(tasks.map((task) => task.id))
  })
})

describe('a type that nobody serves', () => {
  it('50,000 of its tasks in front in the same lane hold up nobody', async () => {
    await addTasks(sql, { queue: 'mixed', taskType: 'forgotten', count: 50_000, stepMs: 1, readyAgoMs: 90_000 })
    const served = await addTasks(sql, { queue: 'mixed', count: 200, stepMs: 1, readyAgoMs: 1_000 })
    const worker = await node.api.worker({ queues: ['mixed'], slots: 10 })
    const { value, ms } = await timed(() => starts(worker, 200, 10))
    expect(value).toEqual(expect.arrayContaining(served.map((task) => task.id)))
    console.info(`200 tasks behind 50,000 of another type: ${ms.toFixed(0)} ms`)
    // each poll would wait for 30 s
    expect(ms).toBeLessThan(25_000)
    // and they are cleared away while workers wait, so that the next ones do not even pass them
    const poll = worker.poll(10, { wait: 30 })
    await until('the clearing', async () => {
      const [row] = await sql<{ n: number }>(
        "select count(*)::integer as n from open_tasks where queue = 'mixed' and gate = ''",
      )
      return (row?.n ?? 0) <= 30_000
    })
    const { task_id } = await node.api.submit({ queue: 'mixed', priority: 'high' })
    expect(await poll).toMatchObject([{ task_id }])
    const late = await node.api.worker({ queues: ['mixed'], taskTypes: ['forgotten'], slots: 5 })
    expect(await late.poll(5, { wait: 30 })).toHaveLength(5)
  })
})

describe('a greedy worker', () => {
  it('that asks for 500 leaves the others their share (F066)', async () => {
    const small = await Promise.all(Array.from({ length: 4 }, () => node.api.worker({ queues: ['greed'], slots: 5 })))
    const greedy = await node.api.worker({ queues: ['greed'], slots: 500 })
    const polls = [greedy.poll(500, { wait: 30 }), ...small.map((worker) => worker.poll(5, { wait: 30 }))]
    for (const worker of [greedy, ...small]) await untilItWaits(worker)
    await node.api.submitBatch(Array.from({ length: 100 }, () => ({ queue: 'greed' })))
    const counts = (await Promise.all(polls)).map((tasks) => tasks.length)
    for (const count of counts.slice(1)) expect(count).toBe(5)
    expect(counts[0]).toBeLessThanOrEqual(80)
  })
})
