import { DulyError } from '@duly/domain'
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

/** In how many transactions its nodes ended. */
async function endsOf(graph: Graph): Promise<number> {
  const [row] = await node.query<{ ends: number }>(
    `select count(distinct u.xmin::text)::integer as ends from workflow_nodes n join outcomes u on u.id = n.id
     where n.workflow_id = (select workflow_id from workflow_nodes where id = $1)`,
    [graph.idOf('a')],
  )
  return row?.ends ?? 0
}

const isAway = (): never => {
  throw new DulyError('store_unavailable', 'The answer to the commit is lost.')
}

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

  test('that cancels them ends what waits in one transaction, and marks by itself what runs', async () => {
    const own = new BulkBench(node, { batch: 50 })
    const fan = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`n${n}`, { after: ['a'] }]))
    const graph = await Graph.submit(node, { a: {}, b: {}, c: { after: ['b'] }, ...fan })
    await graph.claim()
    const all = { status: 'SUCCEEDED', matched: 43, done: 43, skipped: 0, failed: 0 }
    expect(await own.run('cancel', { queue: graph.queue })).toMatchObject(all)
    expect(await endsOf(graph)).toBe(1)
    const running = Object.entries(await graph.standing()).filter(([, end]) => end !== 'CANCELLED cancelled')
    expect(running.map(([, end]) => end)).toEqual(Array(2).fill('RUNNING cancel_requested'))
    for (const [name] of running) await graph.say(name, words.stop)
    await node.nodeEnds.drained()
    expect(await graph.status()).toBe('CANCELLED')
    await expectSound(node)
  })

  test('that cancels them counts each once, though its node dies behind the commit', async () => {
    const dying = new BulkBench(node, {
      batch: 50,
      singles: { cancelTogether: async (ids, how) => (await node.tasks.cancelTogether(ids, how)) && isAway() },
    })
    const graph = await Graph.submit(node, { a: {}, b: {}, c: { after: ['a'] } })
    const record = await dying.start('cancel', { queue: graph.queue })
    await expect(dying.finish(record)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(await bench.bulk.get(record.id, null)).toMatchObject({ status: 'RUNNING', matched: 3, done: 3 })
    await node.query('update bulk_operations set runnable_at = now()')
    expect(await bench.finish(record)).toMatchObject({ status: 'SUCCEEDED', matched: 3, done: 3, skipped: 0 })
    await expectSound(node)
  })

  test('that retries them counts each once, though its node dies behind the commit', async () => {
    const dying = new BulkBench(node, {
      graphs: (own) => ({
        replayTogether: async (workflow, ids, how) => (await own.replayTogether(workflow, ids, how)) && isAway(),
      }),
    })
    const graph = await Graph.submit(node, { a: {}, b: {}, c: { after: ['a'] } })
    await graph.run(() => words.fail)
    const record = await dying.start('retry', { queue: graph.queue })
    await expect(dying.finish(record)).rejects.toMatchObject({ code: 'store_unavailable' })
    await node.query('update bulk_operations set runnable_at = now()')
    const counts = await bench.finish(record)
    expect(counts).toMatchObject({ status: 'SUCCEEDED', skipped: 0, failed: 0 })
    expect(counts).toMatchObject({ matched: 3, done: 3 })
    expect(await graph.standing()).toEqual({ a: 'PENDING', b: 'PENDING', c: 'BLOCKED' })
    await expectSound(node)
  })

  test('that was cancelled meanwhile takes nothing of what it was about to cancel', async () => {
    let isOver: () => Promise<unknown> = async () => {}
    const own = new BulkBench(node, {
      batch: 50,
      singles: {
        cancelTogether: async (ids, how) => {
          await isOver()
          return node.tasks.cancelTogether(ids, how)
        },
      },
    })
    const graph = await Graph.submit(node, { a: {}, b: {} })
    const record = await own.start('cancel', { queue: graph.queue })
    isOver = () => own.bulk.cancel(record.id, null, tester)
    expect(await own.finish(record)).toMatchObject({ status: 'CANCELLED', matched: 0, done: 0 })
    expect(await graph.standing()).toEqual({ a: 'PENDING', b: 'PENDING' })
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
