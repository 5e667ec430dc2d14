import { describe, expect, test } from 'vitest'
import type { AddedWorkflowNode, NewTask } from '../model.js'
import { expectSound } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'
import { Graph, whole } from '../testing/workflows.js'

const { node } = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const

interface AddedOver {
  readonly queue?: string
  readonly dependencies?: string[]
  readonly body?: string
  readonly waitsForAdder?: boolean
  readonly task?: Partial<NewTask>
}

function added(name: string, over: AddedOver = {}): AddedWorkflowNode {
  const { dependencies = [], body = name, waitsForAdder = true, queue = 'added' } = over
  const { tenant: _, ...task } = newTask({ queue, ...over.task })
  const requestHash = Buffer.alloc(32, body)
  return { name, task, namedTenant: null, dependencies, waitsForAdder, triggerRule: 'all_succeeded', requestHash }
}

describe('adding nodes', () => {
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
    const record = await node.workflows.read(graph.id, null, whole)
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
  const nodes = [added('more', { queue: 'fast' })]
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

describe('nodes that wait for nobody', () => {
  const free = (name: string, queue: string, task: Partial<NewTask> = {}) =>
    added(name, { queue, waitsForAdder: false, task })
  const add = (graph: Graph, adder: string, nodes: readonly AddedWorkflowNode[]) =>
    node.workflows.addNodes(graph.id, null, { adder: graph.idOf(adder), lease: graph.life(adder).lease, nodes })

  test('start beside the task that adds them, and the workflow ends behind them', async () => {
    const graph = await Graph.submit(node, { split: {} }, { queue: 'beside' })
    await graph.claim()
    const nodes = [free('now', 'beside'), free('later', 'beside', { delayMs: 3_600_000 })]
    const answer = await add(graph, 'split', nodes)
    expect(answer.nodes.map(({ name, status, isNew }) => [name, status, isNew])).toEqual([
      ['now', 'PENDING', true],
      ['later', 'SCHEDULED', true],
    ])
    await expectSound(node)
    expect(await graph.claim()).toEqual(['now'])
    await graph.say('split')
    expect(await graph.status()).toBe('RUNNING')
    await graph.say('now')
    expect(await graph.standing()).toEqual({ split: 'SUCCEEDED', now: 'SUCCEEDED', later: 'SCHEDULED' })
    const record = await node.workflows.read(graph.id, null, whole)
    expect(record).toMatchObject({ status: 'RUNNING', open: 1, criticalPath: { nodes: ['split', 'later'] } })
    expect(record.graph.map(({ dependencies, addedBy }) => [dependencies, addedBy])).toEqual([
      [[], null],
      [[], 'split'],
      [[], 'split'],
    ])
    await node.workflows.cancel(graph.id, null, api)
    expect(await graph.standing()).toMatchObject({ later: 'CANCELLED workflow_cancelled' })
    expect(await graph.status()).toBe('CANCELLED')
    await expectSound(node)
  })

  test('fail the workflow when they fail, whatever the task that added them says; a retry runs them alone', async () => {
    const graph = await Graph.submit(node, { split: {} }, { queue: 'alone' })
    await graph.claim()
    await add(graph, 'split', [free('bad', 'alone')])
    await graph.say('split')
    expect(await graph.run(() => words.fail)).toEqual([['bad']])
    expect(await graph.status()).toBe('FAILED')
    await node.workflows.retry(graph.id, null, api, whole)
    expect(await graph.run()).toEqual([['bad']])
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('may add others, and are there once, however often the task that adds them is tried', async () => {
    const graph = await Graph.submit(node, { split: {} }, { queue: 'again' })
    await graph.claim()
    const nodes = [free('x', 'again')]
    const [x] = (await add(graph, 'split', nodes)).nodes
    await graph.claim()
    const grandchild = { adder: x?.id as string, lease: graph.life('x').lease, nodes: [free('x/y', 'again')] }
    expect((await node.workflows.addNodes(graph.id, null, grandchild)).nodes).toMatchObject([{ isNew: true }])
    await graph.say('split', words.release)
    expect(await graph.claim()).toEqual(['split', 'x/y'])
    await graph.say('x')
    expect((await add(graph, 'split', nodes)).nodes).toEqual([
      { name: 'x', id: x?.id, status: 'SUCCEEDED', isNew: false },
    ])
    const other = added('x', { queue: 'again', waitsForAdder: false, body: 'other' })
    await expect(add(graph, 'split', [other])).rejects.toMatchObject({
      code: 'idempotency_conflict',
      errors: [{ path: 'tasks[0].task_id', message: expect.stringContaining('was added by this task before') }],
    })
    const theirs = { adder: graph.idOf('split'), lease: graph.life('split').lease, nodes: [free('x/y', 'again')] }
    await expect(node.workflows.addNodes(graph.id, null, theirs)).rejects.toMatchObject({
      errors: [{ message: '"x/y" is another task of this workflow' }],
    })
    await graph.sayAll(['split', 'x/y'])
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('count as nodes, and not as dependencies', async () => {
    const graph = await Graph.submit(node, { split: {} }, { queue: 'full' })
    await graph.claim()
    await node.query('update workflows set nodes = 9999, edges = 100000 where id = $1', [graph.id])
    const many = [free('a', 'full'), free('b', 'full')]
    await expect(add(graph, 'split', many)).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ path: 'tasks', message: 'a workflow has at most 10000 tasks; this one has 9999' }],
    })
    expect((await add(graph, 'split', many.slice(1))).nodes).toMatchObject([{ name: 'b', status: 'PENDING' }])
  })
})
