import { encodeId, type Uuid } from '@duly/domain'
import { beforeEach, describe, expect, test } from 'vitest'
import { expectSound, statusOf, trailOf } from '../testing/facts.js'
import { claimLife, passDue, say, startLife, words } from '../testing/lives.js'
import { openTestNode, openTestStore } from '../testing/test-node.js'
import { BulkBench, tester } from './testing/bulk-bench.js'
import { bulkTasks, countsOf, succeeded } from './testing/bulk-tasks.js'

const { node, url } = await openTestStore()
const bench = new BulkBench(node)
const { submitMany, move, clear } = bulkTasks(node)
beforeEach(clear)

describe('an operation is worked at', () => {
  test('by one of two nodes at a time, which share the work and do each task once', async () => {
    const other = await openTestNode(url, { number: 1 })
    try {
      const benches = [bench, new BulkBench(other)]
      await submitMany(60)
      const records = await Promise.all([bench.start('cancel', { queue: 'default' }), bench.start('cancel', {})])
      await Promise.all(benches.map((each) => each.runner.runOnce(new AbortController().signal)))
      const counts = await Promise.all(records.map(async ({ id }) => countsOf(await bench.bulk.get(id, null))))
      expect(counts.map(({ status }) => status)).toEqual(['SUCCEEDED', 'SUCCEEDED'])
      expect(counts.reduce((sum, { done }) => sum + done, 0)).toBe(60)
      const events = await node.query(`select task_id from task_events where transition = 'cancel'`)
      expect(events).toHaveLength(60)
      await expectSound(node, /open or finished|counters|many tasks/)
    } finally {
      await other.close()
    }
  })

  test('by another one when its node fell silent, from the place that it had come to; what the first does then is refused', async () => {
    const ids = (await submitMany(10)).sort().reverse()
    const record = await bench.start('cancel', {})
    const { bulk } = node.stores
    const silent = await bulk.take(15_000)
    if (!silent) throw new Error('nothing was taken')
    const first = ids.slice(0, 4)
    await bulk.apply(silent, first, { place: `0 ${first.at(-1)}`, reason: 'bulk', leaseMs: 15_000 })
    expect(await bulk.take(15_000)).toBeNull()
    await node.query(`update bulk_operations set runnable_at = now() - interval '1 s'`)
    expect(countsOf(await bench.finish(record))).toEqual(succeeded(10))
    const more = await submitMany(1)
    await expect(bulk.apply(silent, more, { place: '0 -', reason: 'bulk', leaseMs: 15_000 })).rejects.toThrow()
    expect(await statusOf(node, more[0] as Uuid)).toBe('PENDING')
    expect(await bulk.end(silent, 'FAILED')).toBe(false)
  })

  test('in slices, so that a large one does not hold up a small one', async () => {
    await submitMany(9)
    const large = await bench.start('cancel', {})
    const small = await bench.start('cancel', { queue: 'none' })
    const held = await node.stores.bulk.take(15_000)
    expect(held?.id).toBe(large.id)
    if (held) await node.stores.bulk.release(held)
    expect((await node.stores.bulk.take(15_000))?.id).toBe(small.id)
  })

  test('not at all when it was cancelled; what was done stays', async () => {
    const ids = await submitMany(6)
    const record = await bench.start('cancel', {})
    const held = await node.stores.bulk.take(15_000)
    if (!held) throw new Error('nothing was taken')
    await node.stores.bulk.apply(held, ids.slice(0, 2), { place: `0 ${ids[1]}`, reason: 'bulk', leaseMs: 15_000 })
    expect(await bench.bulk.cancel(record.id, null, tester)).toMatchObject({ status: 'CANCELLED', done: 2 })
    await expect(
      node.stores.bulk.apply(held, ids.slice(2), { place: '0 -', reason: 'bulk', leaseMs: 15_000 }),
    ).rejects.toThrow()
    expect(await node.query(`select id from open_tasks where status = 'PENDING'`)).toHaveLength(4)
    expect(await bench.bulk.cancel(record.id, null, tester)).toMatchObject({ status: 'CANCELLED' })
    expect(await node.stores.bulk.take(15_000)).toBeNull()
  })

  test('and can be waited for', async () => {
    await submitMany(4)
    const record = await bench.start('cancel', {})
    const never = new AbortController().signal
    expect(await bench.bulk.getFinished(record.id, null, { waitMs: 20, signal: never })).toMatchObject({
      status: 'RUNNING',
    })
    const waiting = bench.bulk.getFinished(record.id, null, { waitMs: 60_000, signal: never })
    await bench.finish(record)
    expect(await waiting).toMatchObject({ status: 'SUCCEEDED', done: 4 })
    await expect(bench.bulk.cancel(record.id, null, tester)).rejects.toMatchObject({ code: 'wrong_state' })
  })

  test('past a task whose row the store refuses, which fails alone', async () => {
    const ids = (await submitMany(12)).sort()
    const refused = ids[7] as Uuid
    await node.query(`alter table task_events add constraint refused check (task_id <> '${refused}') not valid`)
    try {
      const record = await new BulkBench(node, { batch: 6 }).run('cancel', {})
      expect(countsOf(record)).toEqual({ status: 'SUCCEEDED', matched: 12, done: 11, skipped: 0, failed: 1 })
      expect(record.error).toContain(encodeId('task', refused))
    } finally {
      await node.query('alter table task_events drop constraint refused')
    }
    expect(await node.query('select id from open_tasks')).toEqual([{ id: refused }])
    await expectSound(node, /open or finished|counters|many tasks/)
  })

  test('so many at once, of each tenant', async () => {
    const few = new BulkBench(node, { limit: 2 })
    for (const tenant of ['acme', 'rival', null]) {
      await few.start('cancel', {}, tenant)
      await few.start('cancel', {}, tenant)
      await expect(few.start('cancel', {}, tenant)).rejects.toMatchObject({ code: 'rate_limited' })
    }
    await few.runner.runOnce(new AbortController().signal)
    await few.start('cancel', {}, 'acme')
  })

  test('to its end when the node is told to stop in the middle, by the next one', async () => {
    await submitMany(12)
    const record = await bench.start('cancel', {})
    const stop = new AbortController()
    const stopping = new BulkBench(node, { batch: 2 })
    const working = stopping.runner.runOnce(stop.signal)
    stop.abort()
    await working
    expect(countsOf(await bench.finish(record))).toEqual(succeeded(12))
  })
})

describe('the dead letters are run again', () => {
  async function die(queue: string, message: string): Promise<Uuid> {
    const life = await startLife(node, { maxRetries: 0 })
    await move(queue, [life.id])
    await say(node, life, { ...words.retry, error: { class: 'Boom', message, stack: null } } as typeof words.retry)
    return life.id
  }
  const none = { queue: null, taskType: null, tenant: null, errorClass: null, fingerprint: null }
  const retryAll = (filters: object, tenant: string | null = null) =>
    bench.bulk.start({ action: 'retry', source: 'dead_letters', filters: { ...none, ...filters } }, tenant, tester)

  test('all of them, those of a queue or of one error', async () => {
    for (let n = 0; n < 4; n++) await die('mail', `after ${n} s`)
    for (let n = 0; n < 3; n++) await die('mail', 'no such user')
    const [web = ''] = [await die('web', 'no such user')]
    const { items } = await node.stores.deadLetters.summary({ ...none }, 10)
    const { fingerprint } = items[0] ?? {}
    expect(countsOf(await bench.finish(await retryAll({ fingerprint })))).toEqual(succeeded(4))
    expect(countsOf(await bench.finish(await retryAll({ queue: 'mail' })))).toEqual(succeeded(3))
    expect(await statusOf(node, web)).toBe('DEAD')
    expect(countsOf(await bench.finish(await retryAll({})))).toEqual(succeeded(1))
    expect(await node.query('select from dead_letters')).toEqual([])
    await expectSound(node, /open or finished|dead letters|counters|many tasks/)
  })

  test('and given up: those of one error leave for good, the others stay', async () => {
    const rot = [await die('mail', 'after 1 s'), await die('mail', 'after 2 s')]
    const kept = await die('mail', 'no such user')
    const { items } = await node.stores.deadLetters.summary({ ...none }, 10)
    const { fingerprint = null } = items.find(({ letters }) => letters === 2) ?? {}
    const order = { action: 'discard', source: 'dead_letters', filters: { ...none, fingerprint } } as const
    expect(countsOf(await bench.finish(await bench.bulk.start(order, null, tester)))).toEqual(succeeded(2))
    for (const id of rot) {
      expect(await statusOf(node, id)).toBe('DEAD')
      expect((await trailOf(node, id)).at(-1)).toMatch(/^discard /)
      await expect(node.tasks.replay(id, null, tester)).rejects.toMatchObject({ code: 'wrong_state' })
    }
    expect(await node.query('select task_id from dead_letters')).toEqual([{ task_id: kept }])
    expect((await node.stores.deadLetters.summary({ ...none }, 10)).letters).toBe(1)
    await expectSound(node, /open or finished|dead letters|counters|many tasks/)
  })

  test('once: what dies again meanwhile stays dead', async () => {
    const id = await die('mail', 'after 1 s')
    const record = await retryAll({})
    await node.tasks.replay(id, null, tester)
    await passDue(node, id)
    await node.query(`update open_tasks set queue = 'life-x' where id = $1`, [id])
    await say(node, await claimLife(node, { id, queue: 'life-x' }), words.retry)
    expect(countsOf(await bench.finish(record))).toEqual(succeeded(0))
    expect(await trailOf(node, id)).toHaveLength(3)
  })

  test('of a tenant alone that the caller is bound to', async () => {
    await die('mail', 'x')
    expect(countsOf(await bench.finish(await retryAll({}, 'rival')))).toEqual(succeeded(0))
    expect(countsOf(await bench.finish(await retryAll({}, 'acme')))).toEqual(succeeded(1))
  })
})
