import { DulyError, encodeId, type Uuid } from '@duly/domain'
import { beforeEach, describe, expect, test } from 'vitest'
import { expectSound, statusOf } from '../testing/facts.js'
import { claimLife, mark, say, words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'
import { BulkBench, type noFilters, orderOf, tester } from './testing/bulk-bench.js'
import { bulkTasks, countsOf, succeeded } from './testing/bulk-tasks.js'

const { node } = await openTestStore()
const bench = new BulkBench(node)
const { submit, submitMany, oneInEach, clear } = bulkTasks(node)
beforeEach(clear)

const statusesOf = async (made: Record<string, Uuid>): Promise<Record<string, string>> => {
  const entries = Object.entries(made).map(async ([name, id]) => [name, await statusOf(node, id)])
  return Object.fromEntries(await Promise.all(entries))
}

/** The workflows that open tasks say they are nodes of. */
const makeWorkflows = () =>
  node.query(`
with made as (
  insert into workflows (id, tenant, name, status, failure_policy, holds_key, created_at, nodes, edges, open)
  select workflow_id, min(tenant), 'w', 'RUNNING', 'fail_dependents', false, now(), count(*), 0, count(*)
  from open_tasks where workflow_id is not null group by 1
)
insert into workflow_nodes (id, workflow_id, position, name, trigger_rule, parents, triggered_at)
select id, workflow_id, 0, id::text, 'all_succeeded', 0, now() from open_tasks where workflow_id is not null`)

describe('an operation', () => {
  const unchanged = Object.fromEntries(
    ['FAILED', 'SUCCEEDED', 'DEAD', 'RETRYING', 'RUNNING', 'SCHEDULED', 'PENDING', 'BLOCKED', 'CANCELLED'].map((s) => [
      s,
      s,
    ]),
  )

  test('that cancels ends what waits, and marks what runs', async () => {
    const made = await oneInEach('a')
    const others = await oneInEach('b')
    expect(countsOf(await bench.run('cancel', { queue: 'a' }))).toEqual(succeeded(5))
    expect(await statusesOf(made)).toEqual({
      ...unchanged,
      ...{ RETRYING: 'CANCELLED', SCHEDULED: 'CANCELLED', PENDING: 'CANCELLED', BLOCKED: 'CANCELLED' },
    })
    expect(await node.tasks.get(made.RUNNING, null)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    expect(await statusesOf(others)).toEqual(unchanged)
    expect(bench.cancelled.map(({ id }) => id).sort()).toEqual(
      [made.RETRYING, made.SCHEDULED, made.PENDING, made.BLOCKED].sort(),
    )
    expect(bench.toldSessions).toHaveLength(1)
    await expectSound(node, /open or finished|dead letters|many tasks/)
  })

  test('that retries runs again what failed, died or was cancelled', async () => {
    const made = await oneInEach('a')
    expect(countsOf(await bench.run('retry', { queue: 'a' }))).toEqual(succeeded(3))
    expect(await statusesOf(made)).toEqual({ ...unchanged, FAILED: 'PENDING', DEAD: 'PENDING', CANCELLED: 'PENDING' })
    expect(bench.lanes).toContainEqual({ queue: 'a', priority: 2, tenant: 'acme', gate: '' })
    expect(await node.tasks.get(made.DEAD, null)).toMatchObject({ failures: 0, crashes: 0 })
    await expectSound(node, /open or finished|dead letters|many tasks/)
  })

  test('that discards takes what is dead out of the dead letters', async () => {
    const made = await oneInEach('a')
    expect(countsOf(await bench.run('discard', { queue: 'a' }))).toEqual(succeeded(1))
    expect(await statusesOf(made)).toEqual(unchanged)
    expect(await node.tasks.get(made.DEAD, null)).toMatchObject({ discardedAtMs: expect.any(Number) })
    expect(countsOf(await bench.run('discard', { queue: 'a' }))).toEqual(succeeded(0))
    await expectSound(node, /dead letters|many tasks/)
  })

  test.each(['cancel', 'retry', 'discard'] as const)(
    '%s says in the trail who asked, and which operation it was',
    async (action) => {
      const made = await oneInEach('a')
      const record = await bench.run(action, { queue: 'a' })
      const changed = action === 'cancel' ? made.PENDING : made.DEAD
      const event = (await node.tasks.events(changed, null)).findLast(({ reason }) => reason !== null)
      expect(event).toMatchObject({ actor: 'api:tester', reason: encodeId('bulk', record.id) })
    },
  )

  test.each<[string, Partial<typeof noFilters>, number]>([
    ['queue', { queue: 'x' }, 4],
    ['task type', { taskType: 'play' }, 4],
    ['tenant', { tenant: 'rival' }, 4],
    ['tag', { tag: 'red' }, 4],
    ['correlation id', { correlationId: 'c' }, 4],
    ['status', { status: 'SCHEDULED' }, 4],
    ['tenant and status', { tenant: 'rival', status: 'PENDING' }, 4],
    ['workflow', { workflowId: '01a22499-f800-7000-8000-000000000001' }, 4],
    ['cron task', { cronId: '01a22499-f800-7000-8000-000000000002' }, 4],
    ['all of them', {}, 36],
  ])('acts on those alone that fit, by %s', async (_, filters, count) => {
    for (const over of [
      { queue: 'x' },
      { taskType: 'play' },
      { tenant: 'rival' },
      { tags: ['red'] },
      { metadata: '{"correlation_id":"c"}' },
      { delayMs: 3_600_000 },
    ]) {
      await submitMany(4, over)
    }
    const rest = await submitMany(12)
    for (const [n, column] of ['workflow_id', 'cron_id'].entries()) {
      const id = n === 0 ? '01a22499-f800-7000-8000-000000000001' : '01a22499-f800-7000-8000-000000000002'
      for (const table of ['tasks', 'open_tasks'])
        await node.query(`update ${table} set ${column} = $1 where id = any ($2)`, [id, rest.slice(n * 4, n * 4 + 4)])
    }
    await makeWorkflows()
    expect(countsOf(await bench.run('cancel', filters))).toEqual(succeeded(count))
    expect(await node.query(`select id from outcomes where status = 'CANCELLED'`)).toHaveLength(count)
    await expectSound(node, /open or finished|counters|many tasks/)
  })

  test('does not touch what was created after it began', async () => {
    await submitMany(7)
    const record = await bench.start('cancel', {})
    const late = await submitMany(3)
    expect(countsOf(await bench.finish(record))).toEqual(succeeded(7))
    for (const id of late) expect(await statusOf(node, id)).toBe('PENDING')
  })

  test('does not touch what ended after it began: what dies again is not run again', async () => {
    const queue = 'again'
    const id = await submit({ queue, maxRetries: 0 })
    await say(node, await claimLife(node, { id, queue }), words.retry)
    const record = await bench.start('retry', { queue })
    await node.tasks.replay(id, null, tester)
    await say(node, await claimLife(node, { id, queue }), words.retry)
    expect(countsOf(await bench.finish(record))).toEqual(succeeded(0, 1))
    expect(await statusOf(node, id)).toBe('DEAD')
  })

  test('counts as skipped what changed its state meanwhile', async () => {
    const ids = await submitMany(6)
    const record = await bench.start('cancel', { status: 'PENDING' })
    const held = await node.stores.bulk.take(15_000)
    if (!held) throw new Error('nothing was taken')
    for (const id of ids.slice(0, 2)) await mark(node, id)
    await node.stores.bulk.apply(held, ids, { place: '0 -', reason: 'bulk', leaseMs: 15_000 })
    expect(countsOf(await bench.bulk.get(record.id, null))).toMatchObject({ matched: 6, done: 4, skipped: 2 })
  })

  test('marks a task that comes to run while it is looked at', async () => {
    const queue = 'moving'
    const id = await submit({ queue })
    await claimLife(node, { id, queue })
    const record = await bench.start('cancel', { queue })
    const held = await node.stores.bulk.take(15_000)
    if (!held) throw new Error('nothing was taken')
    const { marked } = await node.stores.bulk.apply(held, [id], { place: '0 -', reason: 'bulk', leaseMs: 15_000 })
    expect(marked).toHaveLength(1)
    expect(await bench.bulk.get(record.id, null)).toMatchObject({ done: 1, skipped: 0 })
  })

  test('ends those of workflows together that wait, and marks by itself the one that runs', async () => {
    const asked: { readonly together: Uuid[]; readonly alone: Uuid[] } = { together: [], alone: [] }
    const own = new BulkBench(node, {
      batch: 20,
      singles: {
        cancelTogether: (ids, how) => {
          asked.together.push(...ids)
          return node.tasks.cancelTogether(ids, how)
        },
        cancel: (id, tenant, actor) => {
          asked.alone.push(id)
          return node.tasks.cancel(id, tenant, actor)
        },
      },
    })
    const made = await oneInEach('a')
    const nodes = [made.RUNNING, made.PENDING, made.SCHEDULED]
    for (const table of ['tasks', 'open_tasks'])
      await node.query(`update ${table} set workflow_id = gen_random_uuid() where id = any ($1)`, [nodes])
    await makeWorkflows()
    expect(countsOf(await own.run('cancel', { queue: 'a' }))).toEqual(succeeded(5))
    expect({ ...asked, together: asked.together.sort() }).toEqual({ together: nodes.sort(), alone: [made.RUNNING] })
    expect(await node.tasks.get(made.RUNNING, null)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
  })

  test('goes on after a task that could not be changed, and says what was wrong', async () => {
    const [id = ''] = await submitMany(1)
    await node.query('update tasks set workflow_id = gen_random_uuid()')
    await submitMany(2)
    const broken = new BulkBench(node, {
      singles: {
        cancel: async () => {
          throw new DulyError('internal', `not ${id}`)
        },
      },
    })
    const record = await broken.run('cancel', {})
    expect(countsOf(record)).toEqual({ status: 'SUCCEEDED', matched: 3, done: 2, skipped: 0, failed: 1 })
    expect(record.error).toBe(`not ${id}`)
  })

  test('that meets a fault of ours ends FAILED, and no other with it', async () => {
    await submitMany(1)
    await node.query('update tasks set workflow_id = gen_random_uuid()')
    const broken = new BulkBench(node, {
      singles: {
        cancel: async () => {
          throw new TypeError('a bug')
        },
      },
    })
    const first = await broken.start('cancel', {})
    const second = await broken.start('cancel', { queue: 'other' })
    expect(await broken.finish(first)).toMatchObject({
      status: 'FAILED',
      error: expect.stringMatching(/fault of the server/),
    })
    expect(await broken.bulk.get(second.id, null)).toMatchObject({ status: 'SUCCEEDED' })
  })
})

describe('a tenant', () => {
  test("acts on its own tasks alone, and another's operations do not exist for it", async () => {
    await submitMany(3, { tenant: 'acme' })
    await submitMany(2, { tenant: 'rival' })
    const record = await bench.run('cancel', {}, 'rival')
    expect(countsOf(record)).toEqual(succeeded(2))
    expect(await bench.bulk.preview(orderOf('cancel', {}), 'acme')).toMatchObject({ matched: 3 })
    await expect(bench.start('cancel', { tenant: 'acme' }, 'rival')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(bench.bulk.preview(orderOf('cancel', { tenant: 'acme' }), 'rival')).rejects.toMatchObject({
      code: 'forbidden',
    })
    await expect(bench.bulk.get(record.id, 'acme')).rejects.toMatchObject({ code: 'not_found' })
    await expect(bench.bulk.cancel(record.id, 'acme', tester)).rejects.toMatchObject({ code: 'not_found' })
    expect((await bench.bulk.list('acme', { after: null, limit: 10 })).items).toEqual([])
    expect((await bench.bulk.list('rival', { after: null, limit: 10 })).items).toHaveLength(1)
  })
})
