import { describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { openTestStore } from '../testing/test-node.js'
import { Graph, newWorkflow } from '../testing/workflows.js'

const { node } = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const

describe('a submission', () => {
  const keyed = (request: string, queue: string, key = 'key') =>
    newWorkflow({ a: {}, b: { after: ['a'] } }, { queue, idempotencyKey: key, requestHash: Buffer.alloc(32, request) })

  test('under a key makes one workflow, however many come at once', async () => {
    const submitted = await Promise.all(Array.from({ length: 20 }, () => node.workflows.submit(keyed('x', 'once'))))
    expect(new Set(submitted.map(({ id }) => id)).size).toBe(1)
    expect(submitted.filter(({ replayed }) => !replayed)).toHaveLength(1)
    for (const { nodes } of submitted) expect(nodes.map(({ name }) => name)).toEqual(['a', 'b'])
    await expect(node.workflows.submit(keyed('y', 'once'))).rejects.toMatchObject({ code: 'idempotency_conflict' })
    const other = await node.workflows.submit({ ...keyed('y', 'once'), tenant: 'other' })
    expect(other.replayed).toBe(false)
    await expectSound(node)
  })

  test('that the store refuses fails alone in its group', async () => {
    const spoilt = newWorkflow({ a: { task: { payload: '"\u0000"' } } })
    const results = await Promise.allSettled([
      ...[node.workflows.submit(newWorkflow({ a: {} })), node.workflows.submit(spoilt)],
      node.workflows.submit(newWorkflow({ a: {} })),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await expectSound(node)
  })

  test('of 10,000 nodes is one workflow, which can be cancelled whole', async () => {
    const names = Array.from({ length: 9_998 }, (_, n) => `n${n}`)
    const fan = Object.fromEntries(names.map((name) => [name, { after: ['first'] }]))
    const graph = await Graph.submit(node, { first: {}, ...fan, last: { after: names } })
    expect(graph.submitted.nodes).toHaveLength(10_000)
    await graph.claim()
    await graph.say('first')
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'CANCELLED', open: 0 })
    await node.nodeEnds.drained()
    await expectSound(node)
  }, 120_000)

  test('with a time starts then; delays of nodes count from their turn, and expiries end what waits', async () => {
    const later = Date.now() + 3_600_000
    const graph = await Graph.submit(
      node,
      { a: {}, slow: { task: { delayMs: 60_000 } }, b: { after: ['a'], task: { delayMs: 5_000 } } },
      { scheduledAtMs: later },
    )
    const due = async (name: string) => (await node.tasks.get(graph.idOf(name), null)).dueAtMs
    expect(await graph.standing()).toEqual({ a: 'SCHEDULED', slow: 'SCHEDULED', b: 'BLOCKED' })
    expect(await due('a')).toBe(later)
    expect(await due('slow')).toBe(later + 60_000)
    await node.query(`update open_tasks set due_at = now(), wake_at = now() where id = $1`, [graph.idOf('a')])
    await node.stores.timers.promote([{ id: graph.idOf('a'), handoff: null, epoch: 1 }])
    await graph.claim()
    await graph.say('a')
    expect(await graph.standing()).toMatchObject({ b: 'SCHEDULED' })
    const left = ((await due('b')) ?? 0) - node.storeClock.nowMs()
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(5_000)
    await expectSound(node)
  })

  test('a node that expires while it waits ends so, and what depends on it hears of it', async () => {
    const graph = await Graph.submit(node, {
      ...{ a: {}, b: { after: ['a'], task: { expiresAtMs: Date.now() + 50 } }, c: { after: ['b'] } },
      clean: { after: ['b'], rule: 'one_failed' },
    })
    const id = graph.idOf('b')
    while ((await node.stores.timers.expire([{ id, epoch: 1 }])).nodes.length === 0);
    expect(await node.nodeEnds.expire([id])).toMatchObject([{ id, status: 'CANCELLED', reason: 'expired' }])
    expect(await graph.standing()).toEqual({
      ...{ a: 'PENDING', b: 'CANCELLED expired', c: 'FAILED dependency', clean: 'PENDING' },
    })
    expect(await node.nodeEnds.expire([id])).toEqual([])
    await expectSound(node)
  })
})

test('lists tell of workflows newest first, by what they are', async () => {
  const tenant = 'lists'
  const graphs: Graph[] = []
  for (const name of ['one', 'two', 'one']) graphs.push(await Graph.submit(node, { a: {} }, { tenant, name }))
  await node.workflows.cancel((graphs[1] as Graph).id, null, api)
  const none = { status: null, name: null, tenant: null, createdAfterMs: null, createdBeforeMs: null }
  const list = async (over: object, after: string | null = null, limit = 10) => {
    const page = await node.workflows.list({ ...none, ...over }, tenant, { after, limit })
    return { ids: page.items.map(({ id }) => id), next: page.next }
  }
  const ids = graphs.map(({ id }) => id).reverse()
  expect([...ids].sort().reverse()).toEqual((await list({})).ids)
  expect((await list({ name: 'two' })).ids).toEqual([graphs[1]?.id])
  expect((await list({ status: 'CANCELLED' })).ids).toEqual([graphs[1]?.id])
  const first = await list({}, null, 2)
  expect(first.ids).toHaveLength(2)
  const rest = await list({}, first.next, 2)
  expect([...first.ids, ...rest.ids]).toEqual((await list({})).ids)
  expect(rest.next).toBeNull()
  await expect(list({ tenant: 'another' })).rejects.toMatchObject({ code: 'forbidden' })
})
