import { describe, expect, test } from 'vitest'
import type { AddedWorkflowNode } from '../model.js'
import { expectSound } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'
import { Graph, newWorkflow } from '../testing/workflows.js'

const { node } = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const

const failing = (bad: string) => (name: string) => (name === bad ? words.fail : words.succeed)

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

describe('cancelling', () => {
  test('a node that waits ends it, and its children by their rules', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] }, done: { after: ['a'], rule: 'all_done' } })
    expect(await node.tasks.cancel(graph.idOf('a'), null, api)).toMatchObject({ status: 'CANCELLED' })
    expect(await node.tasks.cancel(graph.idOf('a'), null, api)).toMatchObject({ status: 'CANCELLED' })
    expect(await graph.standing()).toEqual({ a: 'CANCELLED cancelled', b: 'FAILED dependency', done: 'PENDING' })
    expect(await graph.run()).toEqual([['done']])
    // b failed, and nothing took that in
    expect(await graph.status()).toBe('FAILED')
    await expectSound(node)
  })

  test('a running node marks it; its end tells the children', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'], rule: 'one_failed' } })
    await graph.claim()
    expect(await node.tasks.cancel(graph.idOf('a'), null, api)).toMatchObject({ status: 'RUNNING' })
    expect(await graph.say('a', words.snooze)).toMatchObject({ status: 'CANCELLED' })
    expect(await graph.run()).toEqual([['b']])
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('the workflow ends what waits at once; it is closed when what runs has ended', async () => {
    const graph = await Graph.submit(node, { a: {}, b: {}, c: { after: ['a', 'b'] } })
    const [taken] = await node.claim(graph.worker, 1, { queue: graph.queue })
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    expect(node.toldToCancel).toContain(graph.worker.row.id)
    const lease = `${taken?.attempt}-${taken?.token.toString(16).padStart(16, '0')}`
    const waited = node.workflows.getFinished(graph.id, null, { waitMs: 30_000, signal: new AbortController().signal })
    await node.reports.report(graph.worker, [{ id: taken?.id as string, lease, ...words.stop }])
    expect(await waited).toMatchObject({ status: 'CANCELLED', open: 0 })
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'CANCELLED' })
    await expectSound(node)
  })

  test.each([
    ['succeed', 'SUCCEEDED'],
    ['fail', 'FAILED'],
  ] as const)('what runs may still %s, and stands; the workflow is CANCELLED all the same', async (how, status) => {
    const graph = await Graph.submit(node, { a: {} })
    await graph.claim()
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    expect(await graph.say('a', words[how])).toMatchObject({ accepted: true, status })
    expect(await graph.status()).toBe('CANCELLED')
    await expectSound(node)
  })

  test('every node by itself cancels the workflow, which can then be run again', async () => {
    const graph = await Graph.submit(node, {
      a: {},
      b: { after: ['a'], rule: 'all_done' },
      c: { after: ['b'], rule: 'one_failed' },
    })
    for (const name of ['c', 'b', 'a']) await node.tasks.cancel(graph.idOf(name), null, api)
    expect(await node.workflows.get(graph.id, null)).toMatchObject({ status: 'CANCELLED', cancelRequested: false })
    await expectSound(node)
    await node.workflows.retry(graph.id, null, api)
    expect(await graph.run()).toEqual([['a'], ['b']])
    expect(await graph.standing()).toMatchObject({ c: 'CANCELLED skipped' })
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('one of several nodes leaves the workflow what the others make of it', async () => {
    const graph = await Graph.submit(node, { a: {}, b: {} })
    await node.tasks.cancel(graph.idOf('b'), null, api)
    await graph.run()
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('one that has ended is refused; that of another tenant is not there', async () => {
    const graph = await Graph.submit(node, { a: {} })
    await expect(node.workflows.cancel(graph.id, 'other', api)).rejects.toMatchObject({ code: 'not_found' })
    await expect(node.workflows.get(graph.id, 'other')).rejects.toMatchObject({ code: 'not_found' })
    await graph.run()
    await expect(node.workflows.cancel(graph.id, null, api)).rejects.toMatchObject({ code: 'wrong_state' })
  })

  test('a purge of their queue ends nodes that are ready, and theirs', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'], rule: 'all_done' } })
    const batch = { cutoff: 'infinity', actor: 'api', after: [0, '', '', '-infinity', zero] as const, limit: 10 }
    const { tasks, nodes } = await node.stores.purges.batch(graph.queue, batch)
    expect([tasks, nodes]).toEqual([[], [graph.idOf('a')]])
    expect(await node.nodeEnds.purge(nodes, 'api')).toMatchObject([{ reason: 'purged' }])
    expect(await graph.standing()).toEqual({ a: 'CANCELLED purged', b: 'PENDING' })
    await expectSound(node)
  })
})

const zero = '00000000-0000-0000-0000-000000000000'

describe('running again', () => {
  test('a retry opens what failed and what that blocked; what succeeded stays', async () => {
    const graph = await Graph.submit(node, {
      ...{ a: {}, b: { after: ['a'] }, c: { after: ['a'] }, d: { after: ['b', 'c'] }, e: { after: ['d'] } },
      clean: { after: ['b'], rule: 'one_failed' },
    })
    await graph.run(failing('b'))
    expect(await graph.status()).toBe('FAILED')
    expect(await node.workflows.retry(graph.id, null, api)).toMatchObject({
      status: 'RUNNING',
      run: 2,
      open: 3,
      failed: 0,
    })
    expect(await graph.standing()).toEqual({
      ...{ a: 'SUCCEEDED', b: 'PENDING', c: 'SUCCEEDED', d: 'BLOCKED', e: 'BLOCKED', clean: 'SUCCEEDED' },
    })
    await expectSound(node)
    expect(await graph.run()).toEqual([['b'], ['d'], ['e']])
    expect(await graph.status()).toBe('SUCCEEDED')
    await expect(node.workflows.retry(graph.id, null, api)).rejects.toMatchObject({ code: 'wrong_state' })
    await expectSound(node)
  })

  test('a replay of one node opens its workflow for it and what it blocked', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] }, x: {}, y: { after: ['x'] } })
    await graph.run((name) => (name === 'a' || name === 'x' ? words.fail : words.succeed))
    expect(await node.tasks.replay(graph.idOf('a'), null, api)).toMatchObject({ status: 'PENDING' })
    expect(await graph.standing()).toEqual({
      ...{ a: 'PENDING', b: 'BLOCKED', x: 'FAILED', y: 'FAILED dependency' },
    })
    await expect(node.tasks.replay(graph.idOf('a'), null, api)).rejects.toMatchObject({ code: 'wrong_state' })
    await expectSound(node)
    expect(await graph.run()).toEqual([['a'], ['b']])
    expect(await node.workflows.get(graph.id, null)).toMatchObject({ status: 'FAILED', failed: 2, run: 2 })
    await expectSound(node)
  })

  test('a retry skips what was cancelled by hand where it would have been skipped, and tells what waits for it', async () => {
    const graph = await Graph.submit(node, {
      ...{ a: {}, bad: {}, clean: { after: ['a'], rule: 'one_failed' } },
      ...{ mop: { after: ['clean'] }, next: { after: ['mop'], rule: 'none_failed' } },
    })
    await node.tasks.cancel(graph.idOf('mop'), null, api)
    await graph.run(failing('bad'))
    expect(await graph.standing()).toMatchObject({
      ...{ clean: 'CANCELLED skipped', mop: 'CANCELLED cancelled', next: 'FAILED dependency' },
    })
    await node.workflows.retry(graph.id, null, api)
    await expectSound(node)
    expect(await graph.standing()).toMatchObject({ bad: 'PENDING', mop: 'CANCELLED skipped', next: 'PENDING' })
    await graph.run()
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('a retry of which nothing runs, since a failed clean-up is not needed any more, closes the workflow at once', async () => {
    const graph = await Graph.submit(node, { a: {}, clean: { after: ['a'], rule: 'one_failed' } })
    await graph.run(() => words.fail)
    await node.tasks.replay(graph.idOf('a'), null, api)
    await graph.run()
    expect(await graph.standing()).toEqual({ a: 'SUCCEEDED', clean: 'FAILED' })
    expect(await graph.status()).toBe('FAILED')
    await expect(node.tasks.replay(graph.idOf('clean'), null, api)).rejects.toMatchObject({ code: 'wrong_state' })
    expect(await node.workflows.retry(graph.id, null, api)).toMatchObject({ status: 'SUCCEEDED', run: 3, failed: 0 })
    expect(await graph.standing()).toEqual({ a: 'SUCCEEDED', clean: 'CANCELLED skipped' })
    await expectSound(node)
  })

  test('a retry before the time of the workflow waits for it, delays counted from it', async () => {
    const later = Date.now() + 3_600_000
    const graph = await Graph.submit(node, { a: {}, slow: { task: { delayMs: 60_000 } } }, { scheduledAtMs: later })
    await node.workflows.cancel(graph.id, null, api)
    await node.workflows.retry(graph.id, null, api)
    expect(await graph.standing()).toEqual({ a: 'SCHEDULED', slow: 'SCHEDULED' })
    const due = async (name: string) => (await node.tasks.get(graph.idOf(name), null)).dueAtMs
    expect([await due('a'), await due('slow')]).toEqual([later, later + 60_000])
    await expectSound(node)
  })

  test('a replay of one node leaves what was cancelled with it, and the workflow what it was, until that is retried', async () => {
    const cancelled = await Graph.submit(node, { a: {}, b: {} })
    await node.workflows.cancel(cancelled.id, null, api)
    const failed = await Graph.submit(node, { a: {}, b: {} }, { failurePolicy: 'fail_fast' })
    await failed.claim()
    await failed.say('a', words.fail)
    await failed.say('b', words.stop)
    for (const [graph, status] of [
      [cancelled, 'CANCELLED'],
      [failed, 'FAILED'],
    ] as const) {
      await node.tasks.replay(graph.idOf('a'), null, api)
      expect(await graph.run()).toEqual([['a']])
      expect(await node.workflows.get(graph.id, null)).toMatchObject({ status, failed: 0 })
      await expectSound(node)
      await node.workflows.retry(graph.id, null, api)
      expect(await graph.run()).toEqual([['b']])
      expect(await graph.status()).toBe('SUCCEEDED')
    }
    await expectSound(node)
  })

  test('a cancelled workflow runs on where it was, also while retries meet', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] } })
    await node.workflows.cancel(graph.id, null, api)
    const results = await Promise.allSettled([1, 2, 3].map(() => node.workflows.retry(graph.id, null, api)))
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(await graph.run()).toEqual([['a'], ['b']])
    expect(await node.workflows.get(graph.id, null)).toMatchObject({ status: 'SUCCEEDED', cancelRequested: false })
    await expectSound(node)
  })
})

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
