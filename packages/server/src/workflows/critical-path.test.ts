import { expect, test } from 'vitest'
import { words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'
import { Graph, whole } from '../testing/workflows.js'

const { node } = await openTestStore()
const pathOf = async (graph: Graph) => (await node.workflows.read(graph.id, null, whole)).criticalPath

test('ends at the task that waits for a worker, for its time or for its retry now', async () => {
  const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] }, c: { after: ['b'] } })
  expect((await pathOf(graph)).nodes).toEqual(['a'])
  await graph.claim()
  await graph.say('a', words.snooze)
  expect(await graph.standing()).toMatchObject({ a: 'SCHEDULED' })
  expect((await pathOf(graph)).nodes).toEqual(['a'])
  await node.tasks.edit(graph.idOf('a'), null, { edit: { scheduledAtMs: null }, actor: { kind: 'api' } })
  await graph.claim()
  await graph.say('a')
  expect(await graph.standing()).toMatchObject({ b: 'PENDING', c: 'BLOCKED' })
  expect(await pathOf(graph)).toEqual({ nodes: ['a', 'b'], durationMs: expect.any(Number) })
  await graph.claim()
  await graph.say('b', words.retry)
  expect(await graph.standing()).toMatchObject({ b: 'RETRYING' })
  expect((await pathOf(graph)).nodes).toEqual(['a', 'b'])
})

test('goes by the parent that a task was judged by, whatever ended between its attempts', async () => {
  const graph = await Graph.submit(node, {
    ...{ a: {}, b: {} },
    n: { after: ['a', 'b'], rule: 'one_succeeded' },
  })
  await graph.claim()
  await graph.say('a')
  await graph.claim()
  await graph.say('n', words.release)
  await graph.say('b')
  expect(await graph.run()).toEqual([['n']])
  expect((await pathOf(graph)).nodes).toEqual(['a', 'n'])
})

test('is nothing while the workflow waits for its time', async () => {
  const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] } }, { scheduledAtMs: Date.now() + 3_600_000 })
  expect(await pathOf(graph)).toEqual({ nodes: [], durationMs: null })
})
