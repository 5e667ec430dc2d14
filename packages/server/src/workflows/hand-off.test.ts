import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  enough,
  type HttpNode,
  openStore,
  type RawWorker,
  startHttpNode,
  type WireGrant,
  type WireReport,
} from '../dispatch/testing/http-node.js'
import type { Sql } from '../queue/testing/store-bench.js'

let sql: Sql
let node: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  node = await startHttpNode(store.url)
})

let queues = 0
const newQueue = (): string => `q${queues++}`

type Spec = Readonly<Record<string, unknown>>

interface Submitted {
  readonly tasks: Readonly<Record<string, string>>
  readonly task_ids: Readonly<Record<string, string>>
}

/** Submits a graph of one queue; the ids of its tasks by name. */
async function submit(queue: string, tasks: Readonly<Record<string, Spec>>): Promise<Readonly<Record<string, string>>> {
  const items = Object.entries(tasks).map(([name, spec]) => ({ task_id: name, task_type: 'work', queue, ...spec }))
  const body = { workflow_name: 'graph', tasks: items }
  const answer = await node.api.call<Submitted>('POST', '/workflows', body)
  expect(answer.status).toBe(202)
  const { tasks: statuses, task_ids: ids } = answer.body
  // one that a worker has already was PENDING first
  for (const status of Object.values(statuses)) expect(status).toMatch(/^(PENDING|BLOCKED|SCHEDULED)$/)
  return ids
}

/** A worker, and a node that knows that nothing waits for it. */
async function idleWorker(queue: string, slots = 5): Promise<RawWorker> {
  const worker = await node.api.worker({ queues: [queue], slots })
  await worker.poll(slots)
  return worker
}

const reportsOf = (grants: readonly WireGrant[]): WireReport[] =>
  grants.map(({ task_id, lease }) => ({ task_id, lease, outcome: 'succeeded', result: null }))

/** Whether the task started in the very transaction that made it, or made it ready. */
async function startedAtOnce(id: string | undefined): Promise<boolean> {
  const [row] = await sql<{ atOnce: boolean }>(
    `select n.triggered_at = coalesce(o.started_at, u.started_at) as "atOnce"
     from workflow_nodes n left join open_tasks o on o.id = n.id left join outcomes u on u.id = n.id where n.id = $1`,
    [decodeId('task', id ?? '')],
  )
  return row?.atOnce ?? false
}

describe('a waiting worker', () => {
  it('is handed the first tasks of a workflow by their submission, and each next one by the report on its parent', async () => {
    const queue = newQueue()
    const worker = await idleWorker(queue)
    const poll = worker.poll(5, { wait: 30 })
    await enough(100)
    const ids = await submit(queue, {
      first: {},
      other: {},
      second: { dependencies: ['first'] },
      third: { dependencies: ['second', 'other'] },
    })
    const roots = await poll
    expect(roots.map(({ task_id }) => task_id).sort()).toEqual([ids.first, ids.other].sort())
    const of = (name: string) => reportsOf(roots.filter(({ task_id }) => task_id === ids[name]))
    const afterFirst = await worker.exchange(of('first'), 5, { wait: 30 })
    expect(afterFirst.tasks).toMatchObject([{ task_id: ids.second, attempt: 1 }])
    // the other parent runs still
    const afterSecond = await worker.exchange(reportsOf(afterFirst.tasks), 5, { wait: 30 })
    expect(afterSecond.tasks).toEqual([])
    const last = await worker.exchange(of('other'), 5, { wait: 30 })
    expect(last.tasks).toMatchObject([{ task_id: ids.third, attempt: 1, node_name: 'third' }])
    for (const id of Object.values(ids)) expect(await startedAtOnce(id)).toBe(true)
  })
  it.each<[string, Spec, string]>([
    ['of a type that it does not serve', { task_type: 'other' }, 'PENDING'],
    ['of another queue', { queue: 'elsewhere' }, 'PENDING'],
    ['with a delay of its own', { delay_seconds: 60 }, 'SCHEDULED'],
    ['with a time of its own', { scheduled_at: '2100-01-01T00:00:00Z' }, 'SCHEDULED'],
  ])('is not handed a task %s', async (_, spec, status) => {
    const queue = newQueue()
    const worker = await idleWorker(queue)
    const ids = await submit(queue, { first: {}, root: spec, second: { ...spec, dependencies: ['first'] } })
    const tasks = await worker.poll(5, { wait: 30 })
    expect(tasks).toMatchObject([{ task_id: ids.first }])
    expect(await worker.exchange(reportsOf(tasks), 5, { wait: 30 })).toMatchObject({
      results: [{ accepted: true }],
      tasks: [],
    })
    for (const name of ['root', 'second']) expect(await node.api.get(ids[name] ?? '')).toMatchObject({ status })
  })

  it('is handed nothing of a paused queue, and all of it when it goes on', async () => {
    const queue = newQueue()
    const worker = await idleWorker(queue)
    const ids = await submit(queue, { first: {}, second: { dependencies: ['first'] } })
    const tasks = await worker.poll(5, { wait: 30 })
    expect(tasks).toHaveLength(1)
    // by another's hand: this node has not heard of it
    await sql('update queues set paused = true where name = $1', [queue])
    expect((await worker.exchange(reportsOf(tasks), 5, { wait: 30 })).tasks).toEqual([])
    expect(await node.api.get(ids.second ?? '')).toMatchObject({ status: 'PENDING' })
    await sql('update queues set paused = false where name = $1', [queue])
    expect(await worker.poll(5, { wait: 30 })).toMatchObject([{ task_id: ids.second, attempt: 1 }])
  })

  it('is handed no more than it has slots for; the others go on with the next one', async () => {
    const queue = newQueue()
    const worker = await idleWorker(queue, 2)
    const names = ['a', 'b', 'c', 'd', 'e']
    const ids = await submit(queue, {
      first: {},
      ...Object.fromEntries(names.map((name) => [name, { dependencies: ['first'] }])),
    })
    const seen: string[] = []
    let reports: WireReport[] = []
    while (seen.length < 6) {
      const { tasks } = await worker.exchange(reports, 2, { wait: 30 })
      expect(tasks.length).toBeLessThanOrEqual(2)
      seen.push(...tasks.map(({ task_id }) => task_id))
      reports = reportsOf(tasks)
    }
    await worker.exchange(reports, 0)
    expect(seen).toEqual(['first', ...names].map((name) => ids[name]))
  })

  it('does not overtake what waits in its queue already', async () => {
    const queue = newQueue()
    const worker = await idleWorker(queue, 1)
    await submit(queue, { first: {}, second: { dependencies: ['first'] } })
    const first = await worker.poll(1, { wait: 30 })
    const waiting = await node.api.submit({ queue })
    const { tasks } = await worker.exchange(reportsOf(first), 1, { wait: 30 })
    expect(tasks.length > 0 ? tasks : await worker.poll(1, { wait: 30 })).toMatchObject([{ task_id: waiting.task_id }])
  })
})
