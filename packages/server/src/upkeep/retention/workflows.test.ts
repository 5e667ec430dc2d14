import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { expectSound } from '../../testing/facts.js'
import { words } from '../../testing/lives.js'
import type { TestNode } from '../../testing/test-node.js'
import { openVirtualStore, type VirtualStore } from '../../testing/virtual-store.js'
import { Graph, newWorkflow, whole } from '../../testing/workflows.js'

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

test('an open workflow stays, however old; a closed one goes, but with a dead letter', async () => {
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
  await expect(node.workflows.read(done.id, null, whole)).rejects.toMatchObject({ code: 'not_found' })
  expect((await node.workflows.submit(newWorkflow({ a: {} }, key))).replayed).toBe(false)
  expect(await node.workflows.read(open.id, null, whole)).toMatchObject({
    status: 'RUNNING',
    graph: [{ status: 'SUCCEEDED' }, { status: 'PENDING' }],
  })
  // its dead letter was neither retried nor discarded
  expect((await node.workflows.read(dead.id, null, whole)).graph[0]).toMatchObject({ status: 'DEAD' })
  expect(await left()).toEqual({ nodes: 5, edges: 2 })
  await expectSound(node, /open task|counted|a workflow runs|told/)
})

/** Its worker has beaten all along. */
const revive = (graph: Graph) =>
  node.query(`update worker_sessions set live_until = now() + interval '1 hour' where id = $1`, [graph.worker.row.id])

/** What the record of a workflow tells of its tasks: nothing is missing where their types stand. */
const typesOf = async (graph: Graph) =>
  (await node.workflows.read(graph.id, null, whole)).graph.map(({ taskType }) => taskType)
const recordsOf = (graph: Graph) =>
  node.query(
    'select id from tasks where workflow_id = $1 union all select id from outcomes where id = any ($2::uuid[])',
    [graph.id, [...graph.ids.values()]],
  )

test('a workflow goes whole: its first tasks stay as long as it does, counted from its own end', async () => {
  const slow = await Graph.submit(node, { a: {}, b: { after: ['a'] } })
  await slow.claim()
  await slow.say('a')
  await store.advance(20)
  await revive(slow)
  await slow.run()
  await store.advance(11)
  await store.retain()
  expect(await typesOf(slow)).toEqual(['work', 'work'])
  await store.advance(20)
  await store.retain()
  await expect(node.workflows.read(slow.id, null, whole)).rejects.toMatchObject({ code: 'not_found' })
  expect(await recordsOf(slow)).toEqual([])
  await expectSound(node, /open task|counted|a workflow runs|told|is a node/)
})

test('a dead letter keeps its workflow whole, until it is discarded', async () => {
  const dead = await Graph.submit(node, { a: {}, b: { after: ['a'], task: { maxRetries: 0 } }, c: { after: ['b'] } })
  await dead.run((name) => (name === 'b' ? words.retry : words.succeed))
  await store.advance(40)
  await store.retain()
  expect(await typesOf(dead)).toEqual(['work', 'work', 'work'])
  await node.stores.deadLetters.discard([dead.idOf('b')], null, { actor: 'api:tester', reason: null })
  await store.advance(2)
  await store.retain()
  await expect(node.workflows.read(dead.id, null, whole)).rejects.toMatchObject({ code: 'not_found' })
  expect(await recordsOf(dead)).toEqual([])
  await expectSound(node, /open task|counted|a workflow runs|told|is a node/)
})

test('workflows that are past go in bounded steps, the rest of a step with the next', async () => {
  const graphs: Graph[] = []
  for (let n = 0; n < 12; n++)
    graphs.push(await Graph.submit(node, { a: {}, b: { after: ['a'] }, c: { after: ['a'] } }))
  for (const graph of graphs) await graph.run()
  await store.advance(32)
  // one workflow at once, and ten rows
  const { removed } = await store.retain({ batch: 1 })
  expect(removed.workflows).toBeGreaterThanOrEqual(12)
  for (const graph of graphs) expect(await recordsOf(graph)).toEqual([])
})

test('what an open workflow may still hand on is not cleared by its time to live', async () => {
  const graph = await Graph.submit(node, { a: { task: { resultTtlMs: 60_000 } }, b: { after: ['a'] } })
  await graph.claim()
  await graph.say('a')
  await store.advance(1)
  expect((await store.retain()).removed.results).toBeUndefined()
  const given = async () => (await node.stores.dependencies.ofTasks([graph.idOf('b')], 100)).get(graph.idOf('b'))
  expect(await given()).toMatchObject([{ name: 'a', result: '{"ok":true}' }])
  // nobody else is shown it
  expect((await node.tasks.get(graph.idOf('a'), null)).result).toBeNull()
  await revive(graph)
  await graph.run()
  await store.advance(1)
  expect((await store.retain()).removed.results).toBe(1)
  expect(await given()).toMatchObject([{ name: 'a', result: null }])
})

test('a task whose workflow has gone before it cannot be run again alone', async () => {
  const failed = await Graph.submit(node, { a: {} })
  await failed.run(() => words.fail)
  await node.query('delete from workflow_nodes where workflow_id = $1', [failed.id])
  await node.query('delete from workflows where id = $1', [failed.id])
  await expect(node.tasks.replay(failed.idOf('a'), null, { kind: 'api' })).rejects.toMatchObject({
    ...{ code: 'wrong_state', message: expect.stringContaining('can no longer be run again') },
  })
  expect(await node.tasks.get(failed.idOf('a'), null)).toMatchObject({ status: 'FAILED' })
})
