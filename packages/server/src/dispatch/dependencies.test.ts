import { beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, openStore, type RawWorker, startHttpNode, type WireGrant } from './testing/http-node.js'

let node: HttpNode
beforeAll(async () => {
  node = await startHttpNode((await openStore()).url)
})

interface NodeGrant extends WireGrant {
  readonly workflow_id?: string
  readonly node_name?: string
  readonly dependency_results: Readonly<Record<string, unknown>>
  readonly dependency_results_omitted?: readonly string[]
  readonly dependency_statuses?: Readonly<Record<string, string>>
}

let queues = 0

/** Submits a graph to a queue of its own: for each task the names that it waits for. */
async function submit(
  graph: Readonly<Record<string, readonly string[]>>,
  rules: Readonly<Record<string, string>> = {},
) {
  const queue = `dependencies-${queues++}`
  const tasks = Object.entries(graph).map(([task_id, dependencies]) => ({
    ...{ task_id, dependencies, task_type: 'work', queue, max_retries: 0 },
    ...(rules[task_id] === undefined ? {} : { trigger_rule: rules[task_id] }),
  }))
  const { status, body } = await node.api.call<{ workflow_id: string }>('POST', '/workflows', {
    workflow_name: 'w',
    tasks,
  })
  expect(status).toBe(202)
  return { id: body.workflow_id, worker: await node.api.worker({ queues: [queue] }) }
}

const poll = async (worker: RawWorker, slots: number) =>
  (await worker.poll(slots, { wait: 30 })) as readonly NodeGrant[]

const succeed = (worker: RawWorker, grant: NodeGrant, result: unknown) =>
  worker.report([grant], { outcome: 'succeeded', result })

const ask = (worker: RawWorker, { task_id, lease }: WireGrant, names: readonly string[]) =>
  node.api.call<{ results: Record<string, unknown>; omitted: string[]; code?: string }>(
    'POST',
    `/workers/${worker.id}/dependency-results`,
    { task_id, lease, names },
  )

describe('a task of a workflow', () => {
  it('is given the results of those that it waited for, and how they ended', async () => {
    const { id, worker } = await submit({ a: [], b: [], join: ['a', 'b'] }, { join: 'all_done' })
    const roots = await poll(worker, 2)
    for (const root of roots) {
      expect(root).toMatchObject({ workflow_id: id, dependency_results: {}, dependency_statuses: {} })
      if (root.node_name === 'a') await succeed(worker, root, { n: 1 })
      else await worker.report([root], { outcome: 'failed', error: { class: 'E', message: 'm', retryable: false } })
    }
    const [join] = await poll(worker, 1)
    expect(join).toMatchObject({
      ...{ workflow_id: id, node_name: 'join', dependency_results: { a: { n: 1 }, b: null } },
      ...{ dependency_results_omitted: [], dependency_statuses: { a: 'SUCCEEDED', b: 'FAILED' } },
    })
  })

  it('is given results up to 1 MiB, the smallest first, and fetches the others', async () => {
    const { worker } = await submit({ large: [], small: [], middle: [], join: ['large', 'small', 'middle'] })
    const sizes: Record<string, number> = { large: 900_000, small: 10, middle: 200_000 }
    for (const root of await poll(worker, 3)) await succeed(worker, root, 'x'.repeat(sizes[root.node_name ?? ''] ?? 0))
    const [join] = await poll(worker, 1)
    expect(Object.keys(join?.dependency_results ?? {}).sort()).toEqual(['middle', 'small'])
    expect(join?.dependency_results_omitted).toEqual(['large'])
    expect(join?.dependency_statuses).toEqual({ large: 'SUCCEEDED', small: 'SUCCEEDED', middle: 'SUCCEEDED' })
    if (!join) return
    const { status, body } = await ask(worker, join, ['large', 'small'])
    expect([status, body.omitted]).toEqual([200, []])
    expect(Object.entries(body.results).map(([name, text]) => [name, String(text).length])).toEqual([
      ['large', 900_000],
      ['small', 10],
    ])
  })

  it('is answered a bounded part of large results, and at least one', async () => {
    const parents = Array.from({ length: 20 }, (_, n) => `p${n}`)
    const { worker } = await submit({ ...Object.fromEntries(parents.map((name) => [name, []])), join: parents })
    for (const root of await poll(worker, 20)) await succeed(worker, root, 'x'.repeat(1_000_000))
    const [join] = await poll(worker, 1)
    if (!join) throw new Error('the join did not come')
    let left = parents
    let calls = 0
    for (; left.length > 0; calls++) {
      const { body } = await ask(worker, join, left)
      expect(Object.keys(body.results)).toEqual(left.slice(0, left.length - body.omitted.length))
      left = body.omitted
    }
    expect(calls).toBe(2)
  })

  it('fetches with its own lease alone, and only what it waited for', async () => {
    const { worker } = await submit({ a: [], join: ['a'], other: ['a'] })
    const [a] = await poll(worker, 1)
    if (!a) throw new Error('nothing came')
    await succeed(worker, a, 1)
    const [join, other] = await poll(worker, 2)
    if (!join || !other) throw new Error('nothing came')
    expect((await ask(worker, join, ['a'])).body.results).toEqual({ a: 1 })
    expect(await ask(worker, join, ['a', 'other'])).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await ask(worker, { ...join, lease: other.lease }, ['a'])).toMatchObject({
      status: 409,
      body: { code: 'lease_lost' },
    })
    expect(await ask(worker, { ...join, lease: 'x' }, ['a'])).toMatchObject({
      status: 409,
      body: { code: 'lease_lost' },
    })
    const stranger = await node.api.worker()
    expect(await ask(stranger, join, ['a'])).toMatchObject({ status: 409, body: { code: 'lease_lost' } })
    await succeed(worker, join, null)
    expect(await ask(worker, join, ['a'])).toMatchObject({ status: 409, body: { code: 'lease_lost' } })
  })
})

it('of no workflow has nothing of one', async () => {
  const worker = await node.api.worker({ queues: ['plain'] })
  await node.api.submit({ queue: 'plain' })
  const [grant] = await poll(worker, 1)
  expect(grant?.dependency_results).toEqual({})
  expect(grant).not.toHaveProperty('workflow_id')
  expect(grant).not.toHaveProperty('dependency_statuses')
})
