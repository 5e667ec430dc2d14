import { describe, expect, test } from 'vitest'
import type { AddedWorkflowNode } from '../model.js'
import { expectSound } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'
import { Graph } from '../testing/workflows.js'

const { node } = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const

describe('adding nodes', () => {
  const added = (name: string, over: { dependencies?: string[]; body?: string } = {}): AddedWorkflowNode => {
    const { tenant: _, ...task } = newTask({ queue: 'added' })
    const { dependencies = [], body = name } = over
    return {
      name,
      task,
      namedTenant: null,
      dependencies,
      triggerRule: 'all_succeeded',
      requestHash: Buffer.alloc(32, body),
    }
  }

  test('hangs them behind the running task, once, whatever is repeated', async () => {
    const graph = await Graph.submit(node, { plan: {}, done: {} }, { queue: 'added' })
    await graph.claim()
    await graph.say('done')
    const { lease } = graph.life('plan')
    const nodes = [added('x'), added('y', { dependencies: ['x', 'done'] }), added('z', { dependencies: ['done'] })]
    const addition = { adder: graph.idOf('plan'), lease, nodes }
    const first = await node.workflows.addNodes(graph.id, null, addition)
    expect(first.nodes.map(({ name, status, isNew }) => [name, status, isNew])).toEqual([
      ...[
        ['x', 'BLOCKED', true],
        ['y', 'BLOCKED', true],
        ['z', 'PENDING', true],
      ],
    ])
    await expectSound(node)
    const again = await node.workflows.addNodes(graph.id, null, addition)
    expect(again.nodes.map(({ id, isNew }) => [id, isNew])).toEqual(first.nodes.map(({ id }) => [id, false]))
    const other = { ...addition, nodes: [added('x', { body: 'other' })] }
    await expect(node.workflows.addNodes(graph.id, null, other)).rejects.toMatchObject({ code: 'idempotency_conflict' })
    const unknown = { ...addition, nodes: [added('w', { dependencies: ['nobody'] })] }
    await expect(node.workflows.addNodes(graph.id, null, unknown)).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ path: 'tasks[0].dependencies[0]' }],
    })
    await graph.say('plan')
    await expect(node.workflows.addNodes(graph.id, null, addition)).rejects.toMatchObject({ code: 'lease_lost' })
    expect(await graph.run()).toEqual([['x', 'z'], ['y']])
    const record = await node.workflows.get(graph.id, null)
    expect(record).toMatchObject({ status: 'SUCCEEDED', nodes: 5 })
    expect(record.graph.map(({ name, dependencies, addedBy }) => [name, dependencies, addedBy])).toEqual([
      ...[
        ['plan', [], null],
        ['done', [], null],
        ['x', ['plan'], 'plan'],
        ['y', ['done', 'x'], 'plan'],
        ['z', ['done'], 'plan'],
      ],
    ])
    await expectSound(node)
  })
})

test('a task that failed fast once may add nodes when it runs again, and not while it is to stop', async () => {
  const { tenant: _, ...task } = newTask({ queue: 'fast' })
  const more = { name: 'more', task, namedTenant: null, dependencies: [], triggerRule: 'all_succeeded' } as const
  const nodes = [{ ...more, requestHash: Buffer.alloc(32, 'x') }]
  const graph = await Graph.submit(node, { a: {}, b: {}, c: {} }, { queue: 'fast', failurePolicy: 'fail_fast' })
  await graph.claim()
  await graph.say('a', words.fail)
  const addition = { adder: graph.idOf('b'), lease: graph.life('b').lease, nodes }
  await expect(node.workflows.addNodes(graph.id, null, addition)).rejects.toMatchObject({ code: 'wrong_state' })
  await graph.sayAll(['b', 'c'], words.stop)
  // a stays failed: b alone is run again
  await node.tasks.replay(graph.idOf('b'), null, api)
  expect(await graph.claim()).toEqual(['b'])
  const again = { adder: graph.idOf('b'), lease: graph.life('b').lease, nodes }
  expect((await node.workflows.addNodes(graph.id, null, again)).nodes).toMatchObject([{ name: 'more', isNew: true }])
  await graph.say('b')
  expect(await graph.run()).toEqual([['more']])
  expect(await graph.status()).toBe('FAILED')
  await expectSound(node)
})
