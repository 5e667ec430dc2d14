import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { startTcpProxy, type TcpProxy } from '../testing/tcp-proxy.js'
import { openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'
import { Graph, whole } from '../testing/workflows.js'

// A client that is told "nothing was accepted" repeats what it asked for, and is refused then: of what may have been done it must not be told.
const store = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const
let proxy: TcpProxy
let node: TestNode
beforeAll(async () => {
  proxy = await startTcpProxy(store.url)
  node = await openTestNode(store.url, { number: 1, through: proxy.url })
})
afterEach(() => expectSound(store.node))
afterAll(() => node.close())

/** A workflow whose only task failed. */
async function failed(): Promise<Graph> {
  const graph = await Graph.submit(store.node, { a: {} })
  await graph.run(() => words.fail)
  return graph
}

/** The bytes with which a record is read. */
const reads = { workflow: 'repeatable read', task: 'read_task' } as const

describe('a retry of a workflow', () => {
  test('whose commit got no answer is told as made', async () => {
    const graph = await failed()
    const cut = proxy.cut('answer', 'commit')
    expect(await node.workflows.retry(graph.id, null, api, whole)).toMatchObject({ id: graph.id, status: 'RUNNING' })
    await cut
    expect(await graph.status()).toBe('RUNNING')
    await graph.run()
  })

  test('that broke off before its commit is refused, and was not made', async () => {
    const graph = await failed()
    const cut = proxy.cut('request', 'reopen_nodes')
    await expect(node.workflows.retry(graph.id, null, api, whole)).rejects.toMatchObject({ code: 'store_unavailable' })
    await cut
    expect(await graph.status()).toBe('FAILED')
  })

  test('that was made, and whose record can not be read then, is not told as refused', async () => {
    const graph = await failed()
    const cut = proxy.cut('request', reads.workflow)
    await expect(node.workflows.retry(graph.id, null, api, whole)).rejects.toMatchObject({ code: 'commit_unknown' })
    await cut
    expect(await graph.status()).toBe('RUNNING')
    await graph.run()
  })
})

test('a node that was run again, and whose record can not be read then, is not told as refused', async () => {
  const graph = await failed()
  const cut = proxy.cut('request', reads.task)
  await expect(node.tasks.replay(graph.idOf('a'), null, api)).rejects.toMatchObject({ code: 'commit_unknown' })
  await cut
  expect(await graph.standing()).toEqual({ a: 'PENDING' })
  await graph.run()
})

test('the end of an attempt whose commit got no answer is found when it is reported again', async () => {
  const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] } })
  await graph.claim()
  const cut = proxy.cut('answer', 'commit')
  await expect(graph.say('a')).rejects.toMatchObject({ code: 'commit_unknown' })
  await cut
  expect(await graph.say('a')).toMatchObject({ accepted: true, status: 'SUCCEEDED' })
  expect(await graph.standing()).toEqual({ a: 'SUCCEEDED', b: 'PENDING' })
  await graph.run()
})
