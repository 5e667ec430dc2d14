import type { Lane, Uuid } from '@duly/domain'
import { laneKey } from '@duly/domain'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ReadyQueue, Take, TakenTask } from '../port.js'
import { addSession, addTasks, type ReadyTask, type Sql, type TaskSpec } from './store-bench.js'

/** An adapter with the PostgreSQL that holds the truth it must obey. */
export interface QueueUnderTest {
  readonly queue: ReadyQueue
  /** Another adapter object on the same store, as another node has. */
  readonly another: ReadyQueue
  readonly sql: Sql
  close(): Promise<void>
}

interface TakeOptions {
  readonly sessions: readonly Uuid[]
  readonly lane?: Partial<Lane>
  readonly fromMs?: number
  readonly taskTypes?: readonly string[] | null
  readonly queue?: ReadyQueue
}

let token = 1n

/** What every ready queue must do, whatever it is made of. */
export function describeReadyQueue(name: string, makeQueue: () => Promise<QueueUnderTest>): void {
  describe(`ready queue: ${name}`, () => {
    let under: QueueUnderTest
    beforeAll(async () => {
      under = await makeQueue()
    })
    afterAll(() => under.close())
    beforeEach(() =>
      under.sql(
        'truncate open_tasks, tasks, outcomes, failed_attempts, counters, worker_sessions, session_grants, queues',
      ),
    )

    const add = async (spec: TaskSpec = {}): Promise<ReadyTask[]> => {
      const tasks = await addTasks(under.sql, spec)
      await under.queue.push(tasks.map((task) => ({ ...task, laneVersion: 0 })))
      return tasks
    }
    const session = (state?: 'live' | 'draining' | 'expired' | 'ended'): Promise<Uuid> =>
      addSession(under.sql, state ? { state } : {})
    const takeFor = (options: TakeOptions): Promise<Take> => {
      const { sessions, lane, fromMs = 0, taskTypes = null, queue = under.queue } = options
      token += 1_000_000n
      return queue.take({
        takes: [{ lane: { queue: 'default', priority: 2, tenant: 'default', gate: '', ...lane }, sessions, fromMs }],
        taskTypes,
        token,
      })
    }
    const take = async (options: TakeOptions): Promise<readonly TakenTask[]> => (await takeFor(options)).tasks
    const standing = async (): Promise<Record<string, number>> => {
      const rows = await under.sql<{ status: string; n: number }>(
        'select status, count(*)::integer as n from open_tasks group by 1',
      )
      return Object.fromEntries(rows.map(({ status, n }) => [status, n]))
    }

    describe('order (I9)', () => {
      it('is by the instant of readiness, then by id', async () => {
        const tasks = await add({ count: 40, stepMs: 0 })
        const earlier = await add({ count: 10, readyAgoMs: 120_000, stepMs: 1 })
        const one = await session()
        const taken: Uuid[] = []
        for (let round = 0; round < 10; round++) {
          const found = await take({ sessions: Array<Uuid>(5).fill(one) })
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
        const expected = await Promise.all(lanes.map((lane) => add({ ...lane, count: 20, stepMs: 1 })))
        const one = await session()
        const { tasks: taken } = await under.queue.take({
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
        const tasks = await add({ count: 10, stepMs: 1_000 })
        const one = await session()
        const mark = (tasks[4] as ReadyTask).readyAtMs
        const found = await take({ sessions: Array<Uuid>(3).fill(one), fromMs: Math.ceil(mark) })
        expect(new Set(found.map((task) => task.id))).toEqual(new Set(tasks.slice(5, 8).map((task) => task.id)))
        const rest = await take({ sessions: Array<Uuid>(3).fill(one) })
        expect(new Set(rest.map((task) => task.id))).toEqual(new Set(tasks.slice(0, 3).map((task) => task.id)))
      })
    })

    describe('claims (I2)', () => {
      it('give no task twice to 8 concurrent takers of 5,000', async () => {
        await add({ count: 5_000, stepMs: 1 })
        const sessions = await Promise.all(Array.from({ length: 8 }, () => session()))
        const taken = new Map<Uuid, Uuid>()
        await Promise.all(
          sessions.map(async (id, index) => {
            const queue = index % 2 === 0 ? under.queue : under.another
            // a take may find others' rows held and come back short, so only the store says that none is left
            for (let empty = 0; empty < 5; ) {
              const found = await take({ sessions: Array<Uuid>(97).fill(id), queue })
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
        expect(await standing()).toEqual({ RUNNING: 5_000 })
        const rows = await under.sql<{ id: Uuid; session: Uuid }>('select id, session from open_tasks')
        for (const row of rows) expect(taken.get(row.id)).toBe(row.session)
        expect(await under.queue.depths('default')).toEqual([])
      })

      it('of the same sessions in any order never end in a deadlock', async () => {
        await add({ count: 1_200, stepMs: 1 })
        const sessions = await Promise.all(Array.from({ length: 30 }, () => session()))
        const [before] = await under.sql<{ n: number }>(deadlocks)
        await Promise.all(
          [under.queue, under.another].flatMap((queue, index) =>
            Array.from({ length: 10 }, () =>
              take({ sessions: index === 0 ? sessions : [...sessions].reverse(), queue }),
            ),
          ),
        )
        await under.sql('select pg_stat_force_next_flush()').catch(() => {})
        const [after] = await under.sql<{ n: number }>(deadlocks)
        expect(after?.n).toBe(before?.n)
      })

      it('give each task to the session named in its place', async () => {
        const tasks = await add({ count: 6, stepMs: 1 })
        const [a, b] = [await session(), await session()]
        const taken = inOrder(await take({ sessions: [a, b, b, a, a, b] }))
        expect(taken.map((task) => [task.id, task.session])).toEqual(
          tasks.map((task, index) => [task.id, [a, b, b, a, a, b][index]]),
        )
        // one number a session and take
        expect(new Set(taken.map((task) => task.grant))).toEqual(new Set([1]))
        await add({ count: 1 })
        expect((await take({ sessions: [a] }))[0]?.grant).toBe(2)
      })

      it.each(['draining', 'expired', 'ended'] as const)('give nothing to a session that is %s', async (state) => {
        const tasks = await add({ count: 4, stepMs: 1 })
        const [live, gone] = [await session(), await session(state)]
        const { tasks: given, refused } = await takeFor({ sessions: [gone, live, gone, live] })
        const taken = inOrder(given)
        expect(refused).toEqual([gone])
        expect(taken.map((task) => [task.id, task.session])).toEqual([
          [tasks[1]?.id, live],
          [tasks[3]?.id, live],
        ])
        expect(await standing()).toEqual({ PENDING: 2, RUNNING: 2 })
        // what it did not get is there for others at once
        const rest = inOrder(await take({ sessions: [live, live] }))
        expect(rest.map((task) => task.id)).toEqual([tasks[0]?.id, tasks[2]?.id])
      })

      it('give nothing to a session that nobody opened', async () => {
        await add({ count: 2 })
        const nobody = '00000000-0000-7000-8000-000000000001'
        expect(await takeFor({ sessions: [nobody, nobody] })).toEqual({ tasks: [], refused: [nobody] })
        expect(await standing()).toEqual({ PENDING: 2 })
      })

      it('give nothing to a session that another node serves, and refuse nobody where nothing is', async () => {
        const [ours, theirs] = [await session(), await session()]
        await under.sql('update session_grants set node = gen_random_uuid() where session = $1', [theirs])
        expect(await takeFor({ sessions: [theirs, ours] })).toEqual({ tasks: [], refused: [] })
        const [first, second] = await add({ count: 2, stepMs: 1 })
        const { tasks, refused } = await takeFor({ sessions: [theirs, ours] })
        expect(tasks.map(({ id }) => id)).toEqual([second?.id])
        expect(refused).toEqual([theirs])
        expect((await take({ sessions: [ours] })).map(({ id }) => id)).toEqual([first?.id])
        expect(await under.sql('select last_grant as last from session_grants where session = $1', [theirs])).toEqual([
          { last: 0 },
        ])
      })

      it('take only the types asked for, past any number of others', async () => {
        await add({ count: 3_000, taskType: 'other', readyAgoMs: 90_000 })
        const tasks = await add({ count: 3, stepMs: 1 })
        const one = await session()
        const taken = await take({ sessions: [one, one, one, one], taskTypes: ['work', 'elsewhere'] })
        expect(inOrder(taken).map((task) => task.id)).toEqual(tasks.map((task) => task.id))
      })

      it('leave alone a paused queue and an expired task that never ran', async () => {
        const one = await session()
        await add({ count: 3, expiresInMs: -1 })
        expect(await take({ sessions: [one, one, one] })).toEqual([])
        const [alive] = await add({ expiresInMs: 60_000 })
        await under.sql("insert into queues (name, paused) values ('default', true)")
        expect(await take({ sessions: [one] })).toEqual([])
        await under.sql('update queues set paused = false')
        expect((await take({ sessions: [one] })).map((task) => task.id)).toEqual([alive?.id])
      })

      it('give a session one suspect at a time', async () => {
        const suspects = await add({ count: 3, stepMs: 1, gate: '!suspect', crashes: 1 })
        const lane = { gate: '!suspect' }
        const [a, b] = [await session(), await session()]
        const [first] = await take({ sessions: [a], lane })
        expect(first).toMatchObject({ id: suspects[0]?.id, session: a, suspect: true, attempt: 2 })
        expect(await take({ sessions: [a], lane })).toEqual([])
        expect((await take({ sessions: [b], lane }))[0]).toMatchObject({ id: suspects[1]?.id, session: b })
        await under.sql('delete from open_tasks where id = $1', [first?.id])
        expect((await take({ sessions: [a], lane }))[0]).toMatchObject({ id: suspects[2]?.id, session: a })
      })
    })

    describe('lanes', () => {
      it('are those that have ready tasks, and no others', async () => {
        const none = await add({ tenant: 'taken' })
        const one = await session()
        await take({ sessions: [one], lane: { tenant: 'taken' } })
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
        for (const spec of specs) added.push(...(await add(spec)))
        const expected = new Set(added.map((task) => laneKey(task.lane)).filter((key) => !key.includes('unasked')))
        const { lanes: found } = await under.queue.lanes(['second', 'default', 'empty'], 100)
        expect(found).toHaveLength(expected.size)
        expect(new Set(found.map(laneKey))).toEqual(expected)
        expect((await under.queue.lanes(['second', 'default'], 2)).lanes).toHaveLength(2)
        expect(await under.queue.lanes([], 10)).toEqual({ lanes: [], paused: [] })
      })

      it('are found by the thousand, right after a bulk load without ANALYZE', async () => {
        await under.sql(manyLanes, [2_000, 10])
        const { lanes: found } = await under.queue.lanes(['default'], 10_000)
        expect(new Set(found.map((lane) => lane.tenant)).size).toBe(2_000)
        expect(found).toHaveLength(2_000)
      })
    })

    describe('a paused queue', () => {
      it('shows no lanes, is not set aside, and its neighbours go free', async () => {
        await add({ count: 3, taskType: 'odd' })
        await add({ count: 2, queue: 'second' })
        await under.sql("insert into queues (name, paused) values ('default', true), ('second', false)")
        const { lanes, paused } = await under.queue.lanes(['default', 'second', 'empty'], 10)
        expect(lanes.map((lane) => lane.queue)).toEqual(['second'])
        expect(paused).toEqual(['default'])
        const lane: Lane = { queue: 'default', priority: 2, tenant: 'default', gate: '' }
        expect(await under.queue.setAside(lane, ['work'], 10)).toBe(0)
        await under.sql("update queues set paused = false where name = 'default'")
        expect(await under.queue.lanes(['default'], 10)).toMatchObject({ lanes: [lane], paused: [] })
        expect(await under.queue.setAside(lane, ['work'], 10)).toBe(3)
      })
    })

    describe('setting aside', () => {
      it('moves the earliest tasks of types that nobody serves to gates of their own, and only those', async () => {
        const odd = await add({ count: 5, stepMs: 1, taskType: 'odd' })
        await add({ count: 5, stepMs: 1 })
        await add({ count: 2, taskType: 'odd', tenant: 'other' })
        await add({ count: 2, taskType: 'odd', gate: '!suspect', crashes: 1 })
        const lane: Lane = { queue: 'default', priority: 2, tenant: 'default', gate: '' }
        expect(await under.queue.setAside(lane, ['work'], 3)).toBe(3)
        const [moved] = await under.sql<{ ids: Uuid[] }>(
          "select array_agg(id order by ready_at, id) as ids from open_tasks where gate = 'odd'",
        )
        expect(moved?.ids).toEqual(odd.slice(0, 3).map((task) => task.id))
        expect(await under.queue.setAside(lane, ['work'], 100)).toBe(2)
        expect(await under.queue.setAside(lane, ['work'], 100)).toBe(0)
        const depths = await under.queue.depths('default')
        expect(depths.map(({ lane: { tenant, gate }, depth }) => [tenant, gate, depth])).toEqual([
          ['default', '', 5],
          ['default', '!suspect', 2],
          ['default', 'odd', 5],
          ['other', '', 2],
        ])
        const one = await session()
        const served = await take({ sessions: [one, one], lane: { gate: 'odd' }, taskTypes: ['odd'] })
        expect(inOrder(served).map((task) => task.id)).toEqual(odd.slice(0, 2).map((task) => task.id))
      })
    })

    it('depths are exact at rest', async () => {
      await add({ count: 30 })
      await add({ count: 20, tenant: 'b', priority: 1 })
      await add({ count: 7, queue: 'second' })
      const sessions = await Promise.all(Array.from({ length: 4 }, () => session()))
      await Promise.all(sessions.map((id) => take({ sessions: Array<Uuid>(4).fill(id) })))
      const counted = await under.sql<Lane & { depth: number }>(
        `select queue, priority, tenant, gate, count(*)::integer as depth from open_tasks where status = 'PENDING'
         group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
      )
      expect((await under.queue.depths()).map(({ lane, depth }) => ({ ...lane, depth }))).toEqual(counted)
      expect(await under.queue.depths('second')).toMatchObject([{ depth: 7 }])
    })
  })
}

/** A take promises which tasks, not in which order it names them. */
function inOrder(tasks: readonly TakenTask[]): TakenTask[] {
  return [...tasks].sort((a, b) => a.readyAtMs - b.readyAtMs || (a.id < b.id ? -1 : 1))
}

const deadlocks = 'select deadlocks::integer as n from pg_stat_database where datname = current_database()'

const manyLanes = `
insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, ready_at, timeout_ms)
select gen_random_uuid(), 0, 'PENDING', 'tenant-' || t, 'default', 'work', 1 + t % 3, now(), 1000
from generate_series(1, $1) t, generate_series(1, $2) n`
