import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { expectSound } from '../../testing/facts.js'
import { words } from '../../testing/lives.js'
import type { TestNode } from '../../testing/test-node.js'
import { openVirtualStore, type VirtualStore } from '../../testing/virtual-store.js'
import { Graph, newWorkflow } from '../../testing/workflows.js'

vi.setConfig({ testTimeout: 180_000 })

let store: VirtualStore
let node: TestNode
beforeAll(async () => {
  store = await openVirtualStore()
  node = store.node
})
afterAll(() => store.close())

const key = { idempotencyKey: 'k', requestHash: Buffer.alloc(32, 'a') }
const left = async () =>
  (
    await node.query(
      'select (select count(*)::int from workflow_nodes) as nodes, (select count(*)::int from workflow_edges) as edges',
    )
  )[0]

test('records of an open workflow stay, however old; a closed one goes when all of them have gone', async () => {
  const open = await Graph.submit(node, { a: {}, b: { after: ['a'] } })
  const done = await Graph.submit(node, { a: {}, b: { after: ['a'] } }, key)
  const dead = await Graph.submit(node, { a: { task: { maxRetries: 0 } }, b: { after: ['a'] } })
  await open.claim()
  await open.say('a')
  await done.run()
  await dead.run(() => words.retry)
  await store.advance(29)
  await store.retain()
  expect((await done.node.workflows.submit(newWorkflow({ a: {} }, key))).id).toBe(done.id)
  await store.advance(2)
  await store.retain()
  await expect(node.workflows.get(done.id, null)).rejects.toMatchObject({ code: 'not_found' })
  expect((await node.workflows.submit(newWorkflow({ a: {} }, key))).replayed).toBe(false)
  expect(await node.workflows.get(open.id, null)).toMatchObject({
    status: 'RUNNING',
    graph: [{ status: 'SUCCEEDED' }, { status: 'PENDING' }],
  })
  // its dead letter was neither retried nor discarded
  expect((await node.workflows.get(dead.id, null)).graph[0]).toMatchObject({ status: 'DEAD' })
  expect(await left()).toEqual({ nodes: 5, edges: 2 })
  await expectSound(node, /open task|counted|a workflow runs|told/)
})
