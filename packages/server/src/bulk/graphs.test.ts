import { beforeEach, describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'
import { Graph } from '../testing/workflows.js'
import { BulkBench, tester } from './testing/bulk-bench.js'
import { bulkTasks } from './testing/bulk-tasks.js'

const { node } = await openTestStore()
const bench = new BulkBench(node)
const { submitMany } = bulkTasks(node)
beforeEach(() => node.query('truncate bulk_operations'))

const failing = (bad: string) => (name: string) => (name === bad ? words.fail : words.succeed)

describe('an operation on nodes of workflows', () => {
  test('that cancels them closes their workflows, among plain tasks of the same queue', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] }, c: { after: ['b'], rule: 'all_done' }, d: {} })
    const plain = await submitMany(4, { queue: graph.queue })
    const record = await bench.run('cancel', { queue: graph.queue })
    expect(record).toMatchObject({ status: 'SUCCEEDED', failed: 0 })
    expect(record.matched).toBe(record.done + record.skipped)
    const ends = Object.values(await graph.standing())
    for (const end of ends) expect(end).toMatch(/^(CANCELLED|FAILED dependency)/)
    for (const id of plain) expect(await node.tasks.get(id, null)).toMatchObject({ status: 'CANCELLED' })
    await node.nodeEnds.drained()
    expect(await graph.status()).not.toBe('RUNNING')
    await expectSound(node)
  })

  test('that retries what failed opens their workflows again, with what they blocked', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] }, c: { after: ['b'] } })
    await graph.run(failing('a'))
    expect(await graph.status()).toBe('FAILED')
    await bench.run('retry', { queue: graph.queue })
    expect(await graph.standing()).toEqual({ a: 'PENDING', b: 'BLOCKED', c: 'BLOCKED' })
    expect(await graph.run()).toEqual([['a'], ['b'], ['c']])
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('that retries tasks of one workflow lets each wait for those before it, whatever its walks come to first', async () => {
    const dying = { task: { maxRetries: 0 } }
    const spec = {
      last: { after: ['mid'], rule: 'all_done', ...dying },
      mid: { after: ['first'], rule: 'all_done' },
      other: { after: ['first'] },
      first: dying,
    } as const
    const graphs = [await Graph.submit(node, spec), await Graph.submit(node, spec)]
    for (const graph of graphs) {
      await graph.run((name) => (name === 'mid' ? words.fail : words.retry))
      expect(await graph.standing()).toMatchObject({ first: 'DEAD', mid: 'FAILED', last: 'DEAD' })
    }
    const [ofTasks, ofLetters] = graphs as [Graph, Graph]
    expect(await bench.run('retry', { queue: ofTasks.queue })).toMatchObject({ matched: 4, done: 4, skipped: 0 })
    expect(await ofTasks.run()).toEqual([['first'], ['mid', 'other'], ['last']])
    const filters = { queue: ofLetters.queue, taskType: null, tenant: null, errorClass: null, fingerprint: null }
    const order = { action: 'retry', source: 'dead_letters', filters } as const
    const record = await bench.finish(await bench.bulk.start(order, null, tester))
    expect(record).toMatchObject({ matched: 2, done: 2, skipped: 0 })
    expect(await ofLetters.standing()).toMatchObject({ first: 'PENDING', other: 'BLOCKED', mid: 'FAILED' })
    await expectSound(node)
  })

  test('that retries leaves alone what ended after it began', async () => {
    const graph = await Graph.submit(node, { a: {}, b: {} })
    await graph.claim()
    await graph.say('a', words.fail)
    const record = await bench.start('retry', { queue: graph.queue })
    await graph.say('b', words.fail)
    expect(await bench.finish(record)).toMatchObject({ matched: 2, done: 1, skipped: 1 })
    expect(await graph.standing()).toEqual({ a: 'PENDING', b: 'FAILED' })
    await expectSound(node)
  })

  test('that runs dead letters again does the same, and a discard leaves the workflow as it is', async () => {
    const dying = { task: { maxRetries: 0 } }
    const [again, given] = [
      await Graph.submit(node, { a: dying, b: { after: ['a'] } }),
      await Graph.submit(node, { a: dying, b: { after: ['a'] } }),
    ]
    for (const graph of [again, given]) await graph.run((name) => (name === 'a' ? words.retry : words.succeed))
    const filters = { queue: again.queue, taskType: null, tenant: null, errorClass: null, fingerprint: null }
    const order = { action: 'retry', source: 'dead_letters', filters } as const
    expect(await bench.finish(await bench.bulk.start(order, null, tester))).toMatchObject({ done: 1, skipped: 0 })
    expect(await again.run()).toEqual([['a'], ['b']])
    expect(await again.status()).toBe('SUCCEEDED')
    expect(await bench.run('discard', { queue: given.queue })).toMatchObject({ done: 1 })
    expect(await given.status()).toBe('FAILED')
    await expectSound(node)
  })
})
