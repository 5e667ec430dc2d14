import { type Lane, laneKey, type Uuid } from '@duly/domain'
import { describe, expect, it } from 'vitest'
import { inOrder, type QueueBench } from './queue-bench.js'
import type { TaskSpec } from './store-bench.js'

/** What is told of lanes, and what is moved out of their way. */
export function describeLanes(bench: QueueBench): void {
  describe('lanes', () => {
    it('are those that have ready tasks, and no others', async () => {
      const none = await bench.add({ tenant: 'taken' })
      const one = await bench.session()
      await bench.take({ sessions: [one], lane: { tenant: 'taken' } })
      expect(none).toHaveLength(1)
      const specs: TaskSpec[] = [
        { tenant: 'a' },
        { tenant: 'b', priority: 1, count: 50 },
        { tenant: 'b', priority: 1, gate: 'work' },
        { tenant: 'B', priority: 3 },
        { queue: 'second', tenant: 'a' },
        { queue: 'unasked', tenant: 'a' },
      ]
      const added = []
      for (const spec of specs) added.push(...(await bench.add(spec)))
      const expected = new Set(added.map((task) => laneKey(task.lane)).filter((key) => !key.includes('unasked')))
      const { lanes: found } = await bench.queue.lanes(['second', 'default', 'empty'], 100)
      expect(found).toHaveLength(expected.size)
      expect(new Set(found.map(laneKey))).toEqual(expected)
      expect((await bench.queue.lanes(['second', 'default'], 2)).lanes).toHaveLength(2)
      expect(await bench.queue.lanes([], 10)).toEqual({ lanes: [], paused: [] })
    })

    it('are found by the thousand, right after a bulk load without ANALYZE', async () => {
      await bench.sql(manyLanes, [2_000, 10])
      const { lanes: found } = await bench.queue.lanes(['default'], 10_000)
      expect(new Set(found.map((lane) => lane.tenant)).size).toBe(2_000)
      expect(found).toHaveLength(2_000)
    })
  })

  describe('a paused queue', () => {
    it('shows no lanes, is not set aside, and its neighbours go free', async () => {
      await bench.add({ count: 3, taskType: 'odd' })
      await bench.add({ count: 2, queue: 'second' })
      await bench.sql("insert into queues (name, paused) values ('default', true), ('second', false)")
      const { lanes, paused } = await bench.queue.lanes(['default', 'second', 'empty'], 10)
      expect(lanes.map((lane) => lane.queue)).toEqual(['second'])
      expect(paused).toEqual(['default'])
      const lane: Lane = { queue: 'default', priority: 2, tenant: 'default', gate: '' }
      expect(await bench.queue.setAside(lane, ['work'], 10)).toBe(0)
      await bench.sql("update queues set paused = false where name = 'default'")
      expect(await bench.queue.lanes(['default'], 10)).toMatchObject({ lanes: [lane], paused: [] })
      expect(await bench.queue.setAside(lane, ['work'], 10)).toBe(3)
    })
  })

  describe('setting aside', () => {
    it('moves the earliest tasks of types that nobody serves to gates of their own, and only those', async () => {
      const odd = await bench.add({ count: 5, stepMs: 1, taskType: 'odd' })
      await bench.add({ count: 5, stepMs: 1 })
      await bench.add({ count: 2, taskType: 'odd', tenant: 'other' })
      await bench.add({ count: 2, taskType: 'odd', gate: '!suspect', crashes: 1 })
      const lane: Lane = { queue: 'default', priority: 2, tenant: 'default', gate: '' }
      expect(await bench.queue.setAside(lane, ['work'], 3)).toBe(3)
      const [moved] = await bench.sql<{ ids: Uuid[] }>(
        "select array_agg(id order by ready_at, id) as ids from open_tasks where gate = 'odd'",
      )
      expect(moved?.ids).toEqual(odd.slice(0, 3).map((task) => task.id))
      expect(await bench.queue.setAside(lane, ['work'], 100)).toBe(2)
      expect(await bench.queue.setAside(lane, ['work'], 100)).toBe(0)
      const depths = await bench.queue.depths('default')
      expect(depths.map(({ lane: { tenant, gate }, depth }) => [tenant, gate, depth])).toEqual([
        ['default', '', 5],
        ['default', '!suspect', 2],
        ['default', 'odd', 5],
        ['other', '', 2],
      ])
      const one = await bench.session()
      const served = await bench.take({ sessions: [one, one], lane: { gate: 'odd' }, taskTypes: ['odd'] })
      expect(inOrder(served).map((task) => task.id)).toEqual(odd.slice(0, 2).map((task) => task.id))
    })
  })

  it('depths are exact at rest', async () => {
    await bench.add({ count: 30 })
    await bench.add({ count: 20, tenant: 'b', priority: 1 })
    await bench.add({ count: 7, queue: 'second' })
    const sessions = await Promise.all(Array.from({ length: 4 }, () => bench.session()))
    await Promise.all(sessions.map((id) => bench.take({ sessions: Array<Uuid>(4).fill(id) })))
    const counted = await bench.sql<Lane & { depth: number }>(
      `select queue, priority, tenant, gate, count(*)::integer as depth from open_tasks where status = 'PENDING'
       group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    )
    expect((await bench.queue.depths()).map(({ lane, depth }) => ({ ...lane, depth }))).toEqual(counted)
    expect(await bench.queue.depths('second')).toMatchObject([{ depth: 7 }])
  })
}

const manyLanes = `
insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, ready_at, timeout_ms)
select gen_random_uuid(), 0, 'PENDING', 'tenant-' || t, 'default', 'work', 1 + t % 3, now(), 1000
from generate_series(1, $1) t, generate_series(1, $2) n`
