import { laneKey, type Uuid } from '@duly/domain'
import { describe, expect, it } from 'vitest'
import { inOrder, type QueueBench } from './queue-bench.js'
import type { ReadyTask } from './store-bench.js'

/** Which tasks a take gives to whom. */
export function describeClaims(bench: QueueBench): void {
  describe('order (I9)', () => {
    it('is by the instant of readiness, then by id', async () => {
      const tasks = await bench.add({ count: 40, stepMs: 0 })
      const earlier = await bench.add({ count: 10, readyAgoMs: 120_000, stepMs: 1 })
      const one = await bench.session()
      const taken: Uuid[] = []
      for (let round = 0; round < 10; round++) {
        const found = await bench.take({ sessions: Array<Uuid>(5).fill(one) })
        taken.push(...inOrder(found).map((task) => task.id))
      }
      expect(taken).toEqual([...earlier, ...tasks].map((task) => task.id))
    })

    it('of one lane is not touched by the other lanes of a take', async () => {
      const lanes = [
        { tenant: 'a', priority: 1 as const },
        { tenant: 'b', priority: 3 as const },
        { tenant: 'b', priority: 1 as const, gate: 'work' },
      ]
      const expected = await Promise.all(lanes.map((lane) => bench.add({ ...lane, count: 20, stepMs: 1 })))
      const one = await bench.session()
      const { tasks: taken } = await bench.queue.take({
        takes: expected.map((tasks, index) => ({
          lane: (tasks[0] as ReadyTask).lane,
          sessions: Array<Uuid>(5 + index).fill(one),
          fromMs: 0,
        })),
        taskTypes: null,
        token: 5n,
      })
      for (const [index, tasks] of expected.entries()) {
        const key = laneKey((tasks[0] as ReadyTask).lane)
        const mine = taken.filter((task) => laneKey(task) === key).map((task) => task.id)
        expect(new Set(mine)).toEqual(new Set(tasks.slice(0, 5 + index).map((task) => task.id)))
      }
      expect(new Set(taken.map((task) => task.token)).size).toBe(taken.length)
    })

    it('begins at the mark, and below it takes nothing', async () => {
      const tasks = await bench.add({ count: 10, stepMs: 1_000 })
      const one = await bench.session()
      const mark = (tasks[4] as ReadyTask).readyAtMs
      const found = await bench.take({ sessions: Array<Uuid>(3).fill(one), fromMs: Math.ceil(mark) })
      expect(new Set(found.map((task) => task.id))).toEqual(new Set(tasks.slice(5, 8).map((task) => task.id)))
      const rest = await bench.take({ sessions: Array<Uuid>(3).fill(one) })
      expect(new Set(rest.map((task) => task.id))).toEqual(new Set(tasks.slice(0, 3).map((task) => task.id)))
    })
  })

  describe('claims (I2)', () => {
    it('give no task twice to 8 concurrent takers of 5,000', async () => {
      await bench.add({ count: 5_000, stepMs: 1 })
      const sessions = await Promise.all(Array.from({ length: 8 }, () => bench.session()))
      const taken = new Map<Uuid, Uuid>()
      await Promise.all(
        sessions.map(async (id, index) => {
          const queue = index % 2 === 0 ? bench.queue : bench.another
          // a take may find others' rows held and come back short, so only the store says that none is left
          for (let empty = 0; empty < 5; ) {
            const found = await bench.take({ sessions: Array<Uuid>(97).fill(id), queue })
            empty = found.length === 0 ? empty + 1 : 0
            for (const task of found) {
              expect(taken.has(task.id)).toBe(false)
              expect(task.session).toBe(id)
              expect(task.attempt).toBe(1)
              taken.set(task.id, id)
            }
          }
        }),
      )
      expect(taken.size).toBe(5_000)
      expect(await bench.standing()).toEqual({ RUNNING: 5_000 })
      const rows = await bench.sql<{ id: Uuid; session: Uuid }>('select id, session from open_tasks')
      for (const row of rows) expect(taken.get(row.id)).toBe(row.session)
      expect(await bench.queue.depths('default')).toEqual([])
    })

    it('of the same sessions in any order never end in a deadlock', async () => {
      await bench.add({ count: 1_200, stepMs: 1 })
      const sessions = await Promise.all(Array.from({ length: 30 }, () => bench.session()))
      const [before] = await bench.sql<{ n: number }>(deadlocks)
      await Promise.all(
        [bench.queue, bench.another].flatMap((queue, index) =>
          Array.from({ length: 10 }, () =>
            bench.take({ sessions: index === 0 ? sessions : [...sessions].reverse(), queue }),
          ),
        ),
      )
      await bench.sql('select pg_stat_force_next_flush()').catch(() => {})
      const [after] = await bench.sql<{ n: number }>(deadlocks)
      expect(after?.n).toBe(before?.n)
    })

    it('give each task to the session named in its place', async () => {
      const tasks = await bench.add({ count: 6, stepMs: 1 })
      const [a, b] = [await bench.session(), await bench.session()]
      const taken = inOrder(await bench.take({ sessions: [a, b, b, a, a, b] }))
      expect(taken.map((task) => [task.id, task.session])).toEqual(
        tasks.map((task, index) => [task.id, [a, b, b, a, a, b][index]]),
      )
      // one number a session and take
      expect(new Set(taken.map((task) => task.grant))).toEqual(new Set([1]))
      await bench.add({ count: 1 })
      expect((await bench.take({ sessions: [a] }))[0]?.grant).toBe(2)
    })

    it.each(['draining', 'expired', 'ended'] as const)('give nothing to a session that is %s', async (state) => {
      const tasks = await bench.add({ count: 4, stepMs: 1 })
      const [live, gone] = [await bench.session(), await bench.session(state)]
      const { tasks: given, refused } = await bench.takeFor({ sessions: [gone, live, gone, live] })
      const taken = inOrder(given)
      expect(refused).toEqual([gone])
      expect(taken.map((task) => [task.id, task.session])).toEqual([
        [tasks[1]?.id, live],
        [tasks[3]?.id, live],
      ])
      expect(await bench.standing()).toEqual({ PENDING: 2, RUNNING: 2 })
      // what it did not get is there for others at once
      const rest = inOrder(await bench.take({ sessions: [live, live] }))
      expect(rest.map((task) => task.id)).toEqual([tasks[0]?.id, tasks[2]?.id])
    })

    it('give nothing to a session that nobody opened', async () => {
      await bench.add({ count: 2 })
      const nobody = '00000000-0000-7000-8000-000000000001'
      expect(await bench.takeFor({ sessions: [nobody, nobody] })).toEqual({ tasks: [], refused: [nobody] })
      expect(await bench.standing()).toEqual({ PENDING: 2 })
    })

    it('give nothing to a session that another node serves, and refuse nobody where nothing is', async () => {
      const [ours, theirs] = [await bench.session(), await bench.session()]
      await bench.sql('update session_grants set node = gen_random_uuid() where session = $1', [theirs])
      expect(await bench.takeFor({ sessions: [theirs, ours] })).toEqual({ tasks: [], refused: [] })
      const [first, second] = await bench.add({ count: 2, stepMs: 1 })
      const { tasks, refused } = await bench.takeFor({ sessions: [theirs, ours] })
      expect(tasks.map(({ id }) => id)).toEqual([second?.id])
      expect(refused).toEqual([theirs])
      expect((await bench.take({ sessions: [ours] })).map(({ id }) => id)).toEqual([first?.id])
      expect(await bench.sql('select last_grant as last from session_grants where session = $1', [theirs])).toEqual([
        { last: 0 },
      ])
    })

    it('take only the types asked for, past any number of others', async () => {
      await bench.add({ count: 3_000, taskType: 'other', readyAgoMs: 90_000 })
      const tasks = await bench.add({ count: 3, stepMs: 1 })
      const one = await bench.session()
      const taken = await bench.take({ sessions: [one, one, one, one], taskTypes: ['work', 'elsewhere'] })
      expect(inOrder(taken).map((task) => task.id)).toEqual(tasks.map((task) => task.id))
    })

    it('leave alone a paused queue and an expired task that never ran', async () => {
      const one = await bench.session()
      await bench.add({ count: 3, expiresInMs: -1 })
      expect(await bench.take({ sessions: [one, one, one] })).toEqual([])
      const [alive] = await bench.add({ expiresInMs: 60_000 })
      await bench.sql("insert into queues (name, paused) values ('default', true)")
      expect(await bench.take({ sessions: [one] })).toEqual([])
      await bench.sql('update queues set paused = false')
      expect((await bench.take({ sessions: [one] })).map((task) => task.id)).toEqual([alive?.id])
    })

    it('give a session one suspect at a time', async () => {
      const suspects = await bench.add({ count: 3, stepMs: 1, gate: '!suspect', crashes: 1 })
      const lane = { gate: '!suspect' }
      const [a, b] = [await bench.session(), await bench.session()]
      const [first] = await bench.take({ sessions: [a], lane })
      expect(first).toMatchObject({ id: suspects[0]?.id, session: a, suspect: true, attempt: 2 })
      expect(await bench.take({ sessions: [a], lane })).toEqual([])
      expect((await bench.take({ sessions: [b], lane }))[0]).toMatchObject({ id: suspects[1]?.id, session: b })
      await bench.sql('delete from open_tasks where id = $1', [first?.id])
      expect((await bench.take({ sessions: [a], lane }))[0]).toMatchObject({ id: suspects[2]?.id, session: a })
    })
  })
}

const deadlocks = 'select deadlocks::integer as n from pg_stat_database where datname = current_database()'
