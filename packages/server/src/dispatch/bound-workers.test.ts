import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Guarded, openGuarded } from '../access/testing/guarded-nodes.js'
import { addTasks } from '../queue/testing/store-bench.js'
import { type Api, enough, type RawWorker, until } from './testing/http-node.js'

// A worker whose key is bound to a tenant gets that tenant's tasks, whichever way a task comes to a worker.

let guarded: Guarded
/** By tenant and node. */
const apis = new Map<string, Api>()
const apiOf = (tenant: string, node: 0 | 1 = 0): Api => apis.get(`${tenant} ${node}`) as Api
beforeAll(async () => {
  guarded = await openGuarded()
  for (const tenant of ['acme', 'rival']) {
    const { secret } = await guarded.key(['submit', 'read', 'work'], tenant)
    for (const node of [0, 1] as const) apis.set(`${tenant} ${node}`, guarded.api(secret, node))
  }
})

let queues = 0
const newQueue = (): string => `bound-${queues++}`

interface Standing {
  readonly status: string
  readonly session: string | null
  readonly gate: string
}

async function standingOf(taskId: string): Promise<Standing | undefined> {
  const text = 'select status, session, gate from open_tasks where id = $1'
  return (await guarded.sql<Standing>(text, [taskId.startsWith('task-') ? decodeId('task', taskId) : taskId]))[0]
}

const untouched = { status: 'PENDING', session: null }

/** A worker of acme whose node has looked at the queue, so that it gets hand-offs. */
async function acmeWorker(queue: string, options: { taskTypes?: string[]; slots?: number } = {}): Promise<RawWorker> {
  const worker = await apiOf('acme').worker({ queues: [queue], ...options })
  await worker.poll(1)
  return worker
}

describe('a worker of one tenant, while it waits', () => {
  test('is handed what its own tenant submits, and nothing of another', async () => {
    const queue = newQueue()
    const worker = await acmeWorker(queue)
    const poll = worker.poll(5, { wait: 30 })
    await enough(150)
    const theirs = await apiOf('rival').submit({ queue })
    const ours = await apiOf('acme').submit({ queue })
    expect(await poll).toMatchObject([{ task_id: ours.task_id }])
    expect(await standingOf(theirs.task_id)).toMatchObject(untouched)
  })

  test('hears of what is submitted at another node, of its own tenant only', async () => {
    const queue = newQueue()
    const worker = await acmeWorker(queue)
    const poll = worker.poll(5, { wait: 30 })
    await enough(150)
    const theirs = await apiOf('rival', 1).submit({ queue })
    const ours = await apiOf('acme', 1).submit({ queue })
    expect(await poll).toMatchObject([{ task_id: ours.task_id }])
    expect(await standingOf(theirs.task_id)).toMatchObject(untouched)
  })

  test('is handed what falls due for its own tenant, and nothing of another', async () => {
    const queue = newQueue()
    const worker = await acmeWorker(queue)
    const poll = worker.poll(5, { wait: 30 })
    const theirs = await apiOf('rival').submit({ queue, delay_seconds: 0.3 })
    const ours = await apiOf('acme').submit({ queue, delay_seconds: 0.8 })
    expect(await poll).toMatchObject([{ task_id: ours.task_id }])
    expect(await standingOf(theirs.task_id)).toMatchObject(untouched)
  })
})

test('between two polls only its own tenant counts on its free slots', async () => {
  const queue = newQueue()
  const worker = await acmeWorker(queue)
  for (let round = 0; round < 5; round++) {
    const poll = worker.poll(10, { wait: 30 })
    await enough(30)
    await apiOf('acme').submit({ queue })
    const tasks = await poll
    const theirs = await apiOf('rival').submit({ queue })
    expect(await standingOf(theirs.task_id)).toMatchObject(untouched)
    await worker.report(tasks)
  }
})

test('a backlog of many tenants is claimed by each worker for its own', async () => {
  const queue = newQueue()
  const made = new Map<string, Set<string>>()
  for (const tenant of ['rival', 'acme']) {
    for (const priority of [1, 2] as const) {
      const tasks = await addTasks(guarded.sql, { queue, tenant, priority, count: 30, stepMs: 1 })
      made.set(tenant, new Set([...(made.get(tenant) ?? []), ...tasks.map(({ id }) => id)]))
    }
  }
  const drain = async (tenant: string): Promise<Set<string>> => {
    const worker = await apiOf(tenant).worker({ queues: [queue] })
    const taken = new Set<string>()
    await until(`the backlog of ${tenant}`, async () => {
      for (const { task_id } of await worker.poll(50, { wait: 1 })) taken.add(decodeId('task', task_id))
      return taken.size >= 60
    })
    expect(await worker.poll(50)).toEqual([])
    return taken
  }
  expect(await drain('acme')).toEqual(made.get('acme'))
  const [left] = await guarded.sql<{ count: number }>(
    `select count(*)::integer as count from open_tasks where queue = $1 and status = 'PENDING' and tenant = 'rival'`,
    [queue],
  )
  expect(left?.count).toBe(60)
  expect(await drain('rival')).toEqual(made.get('rival'))
})

test('what another tenant lost with its worker is no suspect for it', async () => {
  const queue = newQueue()
  const suspect = { queue, gate: '!suspect', crashes: 1 }
  const [theirs] = await addTasks(guarded.sql, { ...suspect, tenant: 'rival' })
  const worker = await apiOf('acme').worker({ queues: [queue] })
  expect(await worker.poll(5, { wait: 1.5 })).toEqual([])
  const [ours] = await addTasks(guarded.sql, { ...suspect, tenant: 'acme' })
  const [task, ...more] = await worker.poll(5, { wait: 30 })
  expect([decodeId('task', task?.task_id ?? ''), more]).toEqual([ours?.id, []])
  expect(await standingOf(theirs?.id ?? '')).toMatchObject(untouched)
})

test('a grant that got lost is repeated to it, on another node too, and is its own', async () => {
  const queue = newQueue()
  await apiOf('rival').submit({ queue })
  const ours = await apiOf('acme').submit({ queue })
  const worker = await apiOf('acme').worker({ queues: [queue] })
  const [first] = await worker.poll(5, { wait: 30 })
  worker.moveTo(apiOf('acme', 1))
  expect(await worker.poll(5, { received: 0 })).toMatchObject([{ task_id: ours.task_id, lease: first?.lease }])
})

test('types that it does not serve are moved out of its way, and no task of another tenant is moved', async () => {
  const queue = newQueue()
  const of = (tenant: string) => ({ queue, tenant, taskType: 'other', count: 20, stepMs: 1, readyAgoMs: 120_000 })
  const theirs = await addTasks(guarded.sql, of('rival'))
  const inTheWay = await addTasks(guarded.sql, of('acme'))
  const [ours] = await addTasks(guarded.sql, { queue, tenant: 'acme' })
  const worker = await apiOf('acme').worker({ queues: [queue], taskTypes: ['work'] })
  const tasks = await worker.poll(5, { wait: 30 })
  expect(tasks.map(({ task_id }) => decodeId('task', task_id))).toEqual([ours?.id])
  const poll = worker.tryPoll(5, { wait: 30 })
  const gatesOf = async (ids: readonly { readonly id: string }[]): Promise<string[]> =>
    (await Promise.all(ids.map(({ id }) => standingOf(id)))).map((row) => row?.gate ?? 'gone')
  await until('they are moved', async () => (await gatesOf(inTheWay)).every((gate) => gate === 'other'))
  expect(new Set(await gatesOf(theirs))).toEqual(new Set(['']))
  await apiOf('acme').submit({ queue })
  await poll
})
