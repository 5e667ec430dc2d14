import { type BulkAction, bulkActions, changedBy, encodeId, type TaskStatus, type Uuid } from '@duly/domain'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { BulkRecord } from '../model.js'
import { attemptsOf, statusOf } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'
import { Graph } from '../testing/workflows.js'
import { BulkBench, orderOf } from './testing/bulk-bench.js'
import { bulkTasks, countsOf, succeeded } from './testing/bulk-tasks.js'

const { node } = await openTestStore()
const bench = new BulkBench(node)
const { submitMany, oneInEach, clear } = bulkTasks(node)
beforeEach(clear)

const preview = (action: BulkAction, filters: { queue?: string; status?: TaskStatus | null }) =>
  bench.bulk.preview(orderOf(action, filters), null)

const statusesOf = (ids: readonly Uuid[]) => Promise.all(ids.map((id) => statusOf(node, id)))

/** By their status before, the tasks that an operation changed, as their trails say. */
async function changedIn({ id }: BulkRecord): Promise<Record<string, number>> {
  const rows = await node.query<{ status: string; count: number }>(
    `select from_status as status, count(*)::integer as count from task_events where reason = $1 group by 1`,
    [encodeId('bulk', id)],
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

describe('a dry run', () => {
  test('counts by status what would be changed, and changes nothing', async () => {
    const made = await oneInEach('a')
    const before = await statusesOf(Object.values(made))
    expect(await preview('cancel', { queue: 'a' })).toMatchObject({
      ...{ matched: 5, isAtLeast: false },
      byStatus: { RUNNING: 1, PENDING: 1, SCHEDULED: 1, BLOCKED: 1, RETRYING: 1 },
    })
    expect(await preview('retry', { queue: 'a' })).toMatchObject({
      matched: 3,
      byStatus: { FAILED: 1, DEAD: 1, CANCELLED: 1 },
    })
    const { samples } = await preview('discard', { queue: 'a' })
    expect(samples).toEqual([{ id: made.DEAD, status: 'DEAD', tenant: 'acme', taskType: 'work', queue: 'a' }])
    expect(await statusesOf(Object.values(made))).toEqual(before)
    expect(await attemptsOf(node, made.RUNNING)).toEqual(['1 running'])
  })

  test('stops at its bound and says so', async () => {
    for (let n = 0; n < 2; n++) await submitMany(6_000)
    const preview = await bench.bulk.preview(orderOf('cancel', {}), null)
    expect(preview.matched).toBeGreaterThanOrEqual(10_000)
    expect(preview.matched).toBeLessThan(12_000)
    expect(preview).toMatchObject({ isAtLeast: true, byStatus: { PENDING: preview.matched } })
    expect(preview.samples).toHaveLength(10)
  })

  test('counts what the operation then changes, whatever was done to the tasks before', async () => {
    const earlier = fc.record({
      cancelled: fc.boolean(),
      discarded: fc.boolean(),
      copies: fc.integer({ min: 1, max: 2 }),
    })
    const asked = fc
      .constantFrom(...bulkActions.map(({ name }) => name))
      .chain((action) =>
        fc.record({ action: fc.constant(action), status: fc.constantFrom(null, ...changedBy(action)) }),
      )
    await fc.assert(
      fc.asyncProperty(earlier, asked, async ({ cancelled, discarded, copies }, { action, status }) => {
        await clear()
        for (let n = 0; n < copies; n++) await oneInEach('a')
        if (cancelled) await bench.run('cancel', { queue: 'a', status: 'RUNNING' })
        if (discarded) await bench.run('discard', { queue: 'a' })
        for (let n = 0; n < copies; n++) await oneInEach('a')
        const told = await preview(action, { queue: 'a', status })
        const record = await bench.run(action, { queue: 'a', status })
        expect(countsOf(record)).toEqual(succeeded(told.matched))
        expect(await changedIn(record)).toEqual(told.byStatus)
        expect(await preview(action, { queue: 'a', status })).toMatchObject({ matched: 0, byStatus: {} })
      }),
      { numRuns: 15 },
    )
  })

  test('leaves out nodes of workflows that are marked or discarded already', async () => {
    const graph = await Graph.submit(node, { a: { task: { maxRetries: 0 } }, b: {}, c: { after: ['b'] } })
    const { queue } = graph
    await graph.claim()
    await graph.say('a', words.retry)
    await bench.run('cancel', { queue, status: 'RUNNING' })
    expect(await preview('cancel', { queue })).toMatchObject({ matched: 1, byStatus: { BLOCKED: 1 } })
    expect(countsOf(await bench.run('cancel', { queue }))).toEqual(succeeded(1))
    await bench.run('discard', { queue })
    const told = await preview('retry', { queue })
    expect(told).toMatchObject({ matched: 1, byStatus: { CANCELLED: 1 } })
    expect(await preview('discard', { queue })).toMatchObject({ matched: 0 })
  })
})
