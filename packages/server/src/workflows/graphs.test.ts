import { describe, expect, test } from 'vitest'
import { expectChained, expectSound, wholeTrailOf } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'
import { Graph, whole } from '../testing/workflows.js'

const { node } = await openTestStore()

const diamond = { a: {}, b: { after: ['a'] }, c: { after: ['a'] }, d: { after: ['b', 'c'] } } as const

describe('a graph of tasks', () => {
  test('runs each node when what it depends on has succeeded, and ends with the last', async () => {
    const graph = await Graph.submit(node, diamond)
    expect(graph.submitted).toMatchObject({ status: 'RUNNING', replayed: false })
    expect(graph.submitted.nodes.map(({ name, status }) => `${name} ${status}`)).toEqual([
      ...['a PENDING', 'b BLOCKED', 'c BLOCKED', 'd BLOCKED'],
    ])
    expect(await graph.run()).toEqual([['a'], ['b', 'c'], ['d']])
    const record = await node.workflows.read(graph.id, null, whole)
    expect(record).toMatchObject({ status: 'SUCCEEDED', nodes: 4, open: 0, failed: 0, run: 1 })
    expect(record.completedAtMs).toBeGreaterThanOrEqual(record.createdAtMs)
    expect(record.graph.map(({ name, dependencies }) => [name, dependencies])).toEqual([
      ...[
        ['a', []],
        ['b', ['a']],
        ['c', ['a']],
        ['d', ['b', 'c']],
      ],
    ])
    await expectSound(node)
  })

  test('a repeated report of a parent changes nothing', async () => {
    const graph = await Graph.submit(node, diamond)
    await graph.claim()
    expect(await graph.say('a')).toMatchObject({ accepted: true, status: 'SUCCEEDED' })
    expect(await graph.say('a')).toMatchObject({ accepted: true, status: 'SUCCEEDED' })
    expect(await graph.say('a', words.fail)).toMatchObject({ accepted: false })
    expect(await graph.claim()).toEqual(['b', 'c'])
    await expectSound(node)
  })

  test('an attempt that is tried again is no end: the join waits for its last one', async () => {
    const graph = await Graph.submit(node, { a: {}, b: {}, join: { after: ['a', 'b'] } })
    await graph.claim()
    await graph.say('b')
    expect(await graph.say('a', words.release)).toMatchObject({ status: 'PENDING' })
    expect(await graph.claim()).toEqual(['a'])
    await graph.say('a', words.release)
    await graph.claim()
    await graph.say('a')
    expect(await graph.claim()).toEqual(['join'])
    await expectSound(node)
  })

  test('ends of many workflows and of single tasks share a batch of reports', async () => {
    const queue = 'shared'
    const graphs = await Promise.all(Array.from({ length: 5 }, () => Graph.submit(node, diamond, { queue })))
    const [first] = graphs as [Graph]
    const tasks = await node.claim(first.worker, 100, { queue })
    expect(tasks).toHaveLength(5)
    const reports = tasks.map((task) => ({
      ...{ id: task.id, lease: `${task.attempt}-${task.token.toString(16).padStart(16, '0')}` },
      ...words.succeed,
    }))
    expect(await node.reports.report(first.worker, reports)).toMatchObject(tasks.map(() => ({ accepted: true })))
    expect(await node.claim(first.worker, 100, { queue })).toHaveLength(10)
    await expectSound(node)
  })

  test('a node that waits costs the queue no depth, one that is ready does', async () => {
    const graph = await Graph.submit(node, diamond)
    const depth = async () => (await node.stores.queue.depths(graph.queue)).reduce((sum, { depth }) => sum + depth, 0)
    expect(await depth()).toBe(1)
    await graph.claim()
    expect(await depth()).toBe(0)
    await graph.say('a')
    expect(await depth()).toBe(2)
  })
})

test('the trail of a node tells of its wait, whatever became of it', async () => {
  const graph = await Graph.submit(node, {
    ...{ a: {}, b: { after: ['a'] }, later: { after: ['a'], task: { delayMs: 60_000 } } },
    ...{ skipped: { after: ['a'], rule: 'one_failed' }, behind: { after: ['skipped'] } },
  })
  await graph.run()
  const trail = async (name: string) => {
    await expectChained(node, graph.idOf(name))
    return (await wholeTrailOf(node, graph.idOf(name))).map((step) => step.replace(/ @.*/, ''))
  }
  const made = 'submit >BLOCKED'
  expect(await trail('b')).toEqual([
    ...[made, 'unblock BLOCKED>PENDING', 'claim PENDING>RUNNING', 'succeed RUNNING>SUCCEEDED'],
  ])
  expect(await trail('later')).toEqual([made, 'unblock BLOCKED>SCHEDULED'])
  expect(await trail('skipped')).toEqual([made, 'skip BLOCKED>CANCELLED'])
  expect(await trail('behind')).toEqual([made, 'skip BLOCKED>CANCELLED'])
})

describe('a failure', () => {
  test('fails what depends on it, down the graph; the rest goes on; the workflow has failed', async () => {
    const graph = await Graph.submit(node, { ...diamond, e: { after: ['d'] }, x: {}, y: { after: ['x'] } })
    const turns = await graph.run((name) => (name === 'b' ? words.fail : words.succeed))
    expect(turns).toEqual([
      ['a', 'x'],
      ['b', 'c', 'y'],
    ])
    expect(await graph.standing()).toMatchObject({
      ...{ a: 'SUCCEEDED', b: 'FAILED', c: 'SUCCEEDED', d: 'FAILED dependency', e: 'FAILED dependency' },
      ...{ x: 'SUCCEEDED', y: 'SUCCEEDED' },
    })
    expect(await node.workflows.read(graph.id, null, whole)).toMatchObject({ status: 'FAILED', failed: 3 })
    await expectSound(node)
  })

  test('is taken in by a clean-up node, which is skipped where nothing failed', async () => {
    const nodes = { a: {}, b: { after: ['a'] }, clean: { after: ['a'], rule: 'one_failed' } } as const
    const failed = await Graph.submit(node, nodes)
    expect(await failed.run((name) => (name === 'a' ? words.fail : words.succeed))).toEqual([['a'], ['clean']])
    // b failed for a, and nothing took that in
    expect(await failed.standing()).toEqual({ a: 'FAILED', b: 'FAILED dependency', clean: 'SUCCEEDED' })
    expect(await failed.status()).toBe('FAILED')
    const alone = await Graph.submit(node, { a: {}, clean: { after: ['a'], rule: 'one_failed' } })
    await alone.run((name) => (name === 'a' ? words.fail : words.succeed))
    expect(await alone.status()).toBe('SUCCEEDED')
    const fine = await Graph.submit(node, nodes)
    await fine.run()
    expect(await fine.standing()).toEqual({ a: 'SUCCEEDED', b: 'SUCCEEDED', clean: 'CANCELLED skipped' })
    expect(await fine.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('cancels all that is open where the policy says fail_fast', async () => {
    const graph = await Graph.submit(
      node,
      {
        a: {},
        b: {},
        c: { after: ['a'] },
        d: { after: ['c'], rule: 'all_done' },
        later: { task: { delayMs: 60_000 } },
      },
      { failurePolicy: 'fail_fast' },
    )
    await graph.claim()
    await graph.say('a', words.fail)
    expect(await graph.standing()).toEqual({
      ...{ a: 'FAILED', b: 'RUNNING workflow_failed', c: 'CANCELLED workflow_failed', d: 'CANCELLED workflow_failed' },
      later: 'CANCELLED workflow_failed',
    })
    expect(node.toldToCancel).toContain(graph.worker.row.id)
    expect(await graph.status()).toBe('RUNNING')
    // its late success is accepted and changes nothing else
    expect(await graph.say('b')).toMatchObject({ accepted: true, status: 'SUCCEEDED' })
    expect(await graph.status()).toBe('FAILED')
    await expectSound(node)
  })
})

describe('cascades', () => {
  test('go down a chain of 1,000 over several transactions', async () => {
    const names = Array.from({ length: 1_000 }, (_, n) => `n${n}`)
    const nodes = Object.fromEntries(names.map((name, n) => [name, n === 0 ? {} : { after: [`n${n - 1}`] }]))
    const graph = await Graph.submit(node, nodes)
    await graph.claim()
    await graph.say('n0', words.fail)
    await node.nodeEnds.drained()
    expect(await node.workflows.read(graph.id, null, whole)).toMatchObject({ status: 'FAILED', open: 0, failed: 1_000 })
    await expectSound(node)
  })

  test('that a node left when it died are gone on with by the duty', async () => {
    const names = Array.from({ length: 200 }, (_, n) => `n${n}`)
    const nodes = Object.fromEntries(names.map((name, n) => [name, n === 0 ? {} : { after: [`n${n - 1}`] }]))
    const graph = await Graph.submit(node, nodes)
    await graph.claim()
    // the first transaction alone, as if the node had died after it
    const [row] = await node.query<{ workflow: string }>(
      `with ended as (
         delete from open_tasks where id = $1 returning *
       ), outcome as (
         insert into outcomes (id, status, completed_at, started_at, attempt, failures, crashes, undelivered, snoozes, releases, run)
         select id, 'FAILED', now(), started_at, attempt, failures, crashes, undelivered, snoozes, releases, run from ended
       ), attempt as (
         insert into failed_attempts (task_id, attempt, run, outcome, ended_at) select id, attempt, run, 'failed', now() from ended
       ), noted as (
         update workflow_nodes n set ended = 'failed' from ended e where n.id = e.id
       ), tallied as (
         update workflows w set open = w.open - 1, failed = w.failed + 1 from ended e where w.id = e.workflow_id
       )
       insert into unsettled_ends (workflow_id, node) select workflow_id, id from ended returning workflow_id as workflow`,
      [graph.idOf('n0')],
    )
    expect(row?.workflow).toBe(graph.id)
    while (await node.nodeEnds.settle());
    expect(await node.workflows.read(graph.id, null, whole)).toMatchObject({ status: 'FAILED', open: 0, failed: 200 })
    await expectSound(node)
  })
})
