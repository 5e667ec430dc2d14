import { systemClock, type Uuid } from '@duly/domain'
import { pino } from 'pino'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Dispatcher } from '../dispatch/dispatcher.js'
import { enough, type HttpNode, openStore, startHttpNode, timed, until } from '../dispatch/testing/http-node.js'
import { untilItTells } from '../dispatch/testing/known-states.js'
import type { EndedTask, PageRequest } from '../model.js'
import type { ReadyQueue } from '../queue/port.js'
import { addTasks, type Sql } from '../queue/testing/store-bench.js'
import { newTask, openTestStore, type TestNode } from '../testing/test-node.js'
import { Queues } from './queues.js'

const actor = { kind: 'api', name: 'req-1' } as const
const firstPage: PageRequest = { after: null, limit: 100 }

describe('queues of a store', () => {
  let node: TestNode
  let sql: Sql
  const purged: EndedTask[] = []
  const queuesOf = (over: { limit?: number; monotonicMs?: () => number } = {}) =>
    new Queues({
      store: node.stores.queues,
      purges: node.stores.purges,
      clock: { ...systemClock, ...(over.monotonicMs ? { monotonicMs: over.monotonicMs } : {}) },
      log: pino({ level: 'silent' }),
      limit: over.limit ?? 10_000,
      onSwitched: () => {},
      onPurged: (tasks) => void purged.push(...tasks),
      purgeNodes: (ids, by) => node.nodeEnds.purge(ids, by),
    })
  beforeAll(async () => {
    const store = await openTestStore()
    node = store.node
    sql = (text, values = []) => node.query(text, values)
  })
  beforeEach(async () => {
    purged.length = 0
    await sql('truncate open_tasks, tasks, outcomes, counters, queues, task_events, worker_sessions, session_grants')
  })

  it('comes into being when it is paused before its first use, within the limit', async () => {
    const queues = queuesOf({ limit: 1 })
    expect(await queues.pause('a', actor)).toMatchObject({ name: 'a', paused: true, depth: 0, isNew: true })
    expect(await queues.pause('a', actor)).toMatchObject({ paused: true, isNew: false })
    await expect(queues.pause('b', actor)).rejects.toMatchObject({ code: 'unprocessable' })
    expect(await queues.resume('a', actor)).toMatchObject({ paused: false })
    expect(await queues.resume('a', actor)).toMatchObject({ paused: false })
    for (const call of ['resume', 'purge'] as const) {
      await expect(queues[call]('b', actor)).rejects.toMatchObject({ code: 'not_found' })
    }
  })

  it('shows a tenant its own figures, and no queue that it does not use', async () => {
    await sql("insert into queues (name) values ('mine'), ('shared'), ('theirs')")
    await addTasks(sql, { queue: 'mine', tenant: 'me', count: 2 })
    await addTasks(sql, { queue: 'shared', tenant: 'me', count: 1, readyAgoMs: 1_000 })
    await addTasks(sql, { queue: 'shared', tenant: 'they', count: 7, priority: 1, readyAgoMs: 90_000 })
    await addTasks(sql, { queue: 'theirs', tenant: 'they', count: 4 })
    const queues = queuesOf()
    const { items } = await queues.list('me', firstPage)
    expect(items.map(({ name, depth }) => [name, depth])).toEqual([
      ['mine', 2],
      ['shared', 1],
    ])
    expect(await queues.get('shared', 'me')).toMatchObject({
      depthByPriority: { high: 0, medium: 1, low: 0 },
      depthByTenant: [{ tenantId: 'me', depth: 1 }],
    })
    expect(Date.now() - ((await queues.get('shared', 'me')).oldestReadyAtMs ?? 0)).toBeLessThan(60_000)
    await expect(queues.get('theirs', 'me')).rejects.toMatchObject({ code: 'not_found' })
    expect(await queues.get('shared', null)).toMatchObject({
      depth: 8,
      depthByPriority: { high: 7, medium: 1, low: 0 },
    })
    const pages = [
      await queues.list(null, { after: null, limit: 2 }),
      await queues.list(null, { after: 'shared', limit: 2 }),
    ]
    expect(pages.map(({ items, next }) => [items.map(({ name }) => name), next])).toEqual([
      [['mine', 'shared'], 'shared'],
      [['theirs'], null],
    ])
  })

  describe('a purge', () => {
    it('cancels all that waits, in every lane, and nothing else', async () => {
      await sql("insert into queues (name) values ('default'), ('other')")
      await addTasks(sql, { count: 1_300, stepMs: 1 })
      await addTasks(sql, { count: 900, tenant: 'b', priority: 1 })
      await addTasks(sql, { count: 30, tenant: 'b', priority: 3, gate: '!suspect', crashes: 1 })
      await addTasks(sql, { count: 5, queue: 'other' })
      const running = await node.claim(await node.worker(), 10, { tenant: 'default' })
      expect(running).toHaveLength(10)
      const later = await node.intake.submit(newTask({ delayMs: 60_000 }))
      expect(await queuesOf().purge('default', actor)).toEqual({ cancelled: 2_220, remaining: 0, isComplete: true })
      expect(new Set(purged.map(({ id }) => id)).size).toBe(2_220)
      expect(purged[0]).toMatchObject({ queue: 'default', taskType: 'work' })
      expect(await sql('select status, reason, count(*)::integer as n from outcomes group by 1, 2')).toEqual([
        { status: 'CANCELLED', reason: 'purged', n: 2_220 },
      ])
      expect(
        await sql(`select e.transition, e.from_status, e.actor, e.reason, count(*)::integer as n from task_events e
          join outcomes u on u.id = e.task_id group by 1, 2, 3, 4`),
      ).toEqual([{ transition: 'cancel', from_status: 'PENDING', actor: 'api:req-1', reason: 'purged', n: 2_220 }])
      const left = await sql<{ id: Uuid; status: string; queue: string }>('select id, status, queue from open_tasks')
      expect(left.filter(({ queue }) => queue === 'other')).toHaveLength(5)
      expect(left.filter(({ status }) => status === 'RUNNING')).toHaveLength(10)
      expect(left.find(({ id }) => id === later.id)?.status).toBe('SCHEDULED')
      expect(left).toHaveLength(16)
      expect(await node.stores.queue.depths('default')).toEqual([])
      expect(await queuesOf().purge('default', actor)).toEqual({ cancelled: 0, remaining: 0, isComplete: true })
    })

    it('is cut off by time, says so, and the next call goes on', async () => {
      await sql("insert into queues (name) values ('default')")
      await addTasks(sql, { count: 2_500, stepMs: 0 })
      let nowMs = 0
      const queues = queuesOf({ monotonicMs: () => (nowMs += 3_000) })
      const steps = [await queues.purge('default', actor), await queues.purge('default', actor)]
      expect(steps).toEqual([
        { cancelled: 2_000, remaining: 500, isComplete: false },
        { cancelled: 500, remaining: 0, isComplete: true },
      ])
    })

    it('and claims share out the tasks: each is cancelled or runs, none is both, none is neither', async () => {
      await sql("insert into queues (name) values ('default')")
      const tasks = await addTasks(sql, { count: 6_000, stepMs: 1, tenant: 'acme' })
      const state = await node.worker()
      const taken: Uuid[] = []
      const claims = Array.from({ length: 3 }, async () => {
        for (let empty = 0; empty < 3; ) {
          const found = await node.claim(state, 40)
          empty = found.length === 0 ? empty + 1 : 0
          taken.push(...found.map(({ id }) => id))
        }
      })
      const [first, second] = await Promise.all([
        queuesOf().purge('default', actor),
        queuesOf().purge('default', actor),
        ...claims,
      ])
      const cancelled = purged.map(({ id }) => id)
      expect(first.cancelled + second.cancelled).toBe(cancelled.length)
      expect(cancelled.length).toBeGreaterThan(0)
      expect(taken.length).toBeGreaterThan(0)
      expect([...cancelled, ...taken].sort()).toEqual(tasks.map(({ id }) => id).sort())
      expect(await node.stores.queue.depths('default')).toEqual([])
    })
  })

  it('that is paused costs a look a second, not a claim for each task that comes', async () => {
    await sql("insert into queues (name, paused) values ('default', true), ('open', false)")
    await addTasks(sql, { count: 500 })
    let takes = 0
    const counted: ReadyQueue = {
      lanes: (...args) => node.stores.queue.lanes(...args),
      push: async () => {},
      remove: async () => {},
      take: (request) => {
        takes++
        return node.stores.queue.take(request)
      },
      setAside: (...args) => node.stores.queue.setAside(...args),
      depths: (...args) => node.stores.queue.depths(...args),
    }
    const dispatcher = new Dispatcher({
      ...{ queue: counted, store: node.stores.sessions, sessions: node.sessions, clock: systemClock },
      storeNowMs: () => node.storeClock.nowMs(),
      log: pino({ level: 'silent' }),
      onTaken: () => {},
      tellOthers: () => {},
      giveBack: async () => [],
    })
    const state = await node.worker({ queues: ['default', 'open'] })
    const stop = new AbortController()
    const poll = dispatcher.poll(state, { slots: 10, waitMs: 60_000, received: 0 }, stop.signal)
    await dispatcher.look()
    const lane = { queue: 'default', priority: 2, tenant: 'default', gate: '' } as const
    for (let round = 0; round < 20; round++) {
      dispatcher.ready([lane])
      await new Promise((resolve) => setImmediate(resolve))
      if (round % 5 === 0) await dispatcher.look()
    }
    expect(dispatcher.reserve({ queue: 'default', taskType: 'work', tenant: 'default' })).toBeNull()
    expect(takes).toBe(0)
    // and its neighbour is served by the same worker
    const [task] = await addTasks(sql, { queue: 'open' })
    dispatcher.ready([{ ...lane, queue: 'open' }])
    expect((await poll).map(({ id }) => id)).toEqual([task?.id])
    expect(takes).toBeGreaterThan(0)
    stop.abort()
  })
})

describe('a paused queue, with two nodes', () => {
  let a: HttpNode
  let b: HttpNode
  beforeAll(async () => {
    const store = await openStore()
    a = await startHttpNode(store.url)
    b = await startHttpNode(store.url)
    for (const node of [a, b]) await untilItTells(store.url, node)
  })
  const statusesOf = async (ids: readonly string[]) => Promise.all(ids.map(async (id) => (await a.api.get(id)).status))

  it('starts nothing, on either node and by no way; what runs ends; resuming wakes the workers of both', async () => {
    const workers = [
      await a.api.worker({ queues: ['p/1'], slots: 5 }),
      await b.api.worker({ queues: ['p/1'], slots: 5 }),
    ]
    const [first, second] = workers as [(typeof workers)[0], (typeof workers)[0]]
    await a.api.submit({ queue: 'p/1' })
    const [running] = await first.poll(1, { wait: 30 })
    const paused = await a.api.call<{ paused: boolean; running: number }>('POST', '/queues/p%2F1/pause')
    expect(paused).toMatchObject({ status: 200, body: { paused: true, running: 1 } })
    const polls = [first.poll(5, { wait: 30 }), second.poll(5, { wait: 30 })]
    await enough(300)
    // by hand-off at submission, by claim, by hand-off at promotion
    const ids = [
      (await a.api.submit({ queue: 'p/1' })).task_id,
      (await b.api.submit({ queue: 'p/1' })).task_id,
      ...(await b.api.submitBatch([{ queue: 'p/1' }, { queue: 'p/1' }])).map((task) => task.task_id),
      (await a.api.submit({ queue: 'p/1', delay_seconds: 0.2 })).task_id,
      (await b.api.submit({ queue: 'p/1', delay_seconds: 0.2 })).task_id,
    ]
    const allWait = async () => (await statusesOf(ids)).every((status) => status === 'PENDING')
    await until('all are PENDING', allWait)
    // longer than a slow look
    await enough(1_300)
    expect(await allWait()).toBe(true)
    expect(await second.report([running as NonNullable<typeof running>])).toMatchObject([{ accepted: false }])
    expect(await first.report([running as NonNullable<typeof running>])).toMatchObject([{ accepted: true }])
    const woken = await timed(async () => {
      expect((await a.api.call('POST', '/queues/p%2F1/resume')).status).toBe(200)
      return Promise.all(polls)
    })
    console.info(`resumed: workers of both nodes had tasks after ${Math.round(woken.ms)} ms`)
    const granted = woken.value.flat().map((task) => task.task_id)
    expect(woken.value.every((tasks) => tasks.length > 0)).toBe(true)
    expect(new Set(granted).size).toBe(granted.length)
    await Promise.all([first.leave(), second.leave()])
  })

  it('does not touch its neighbour, which the same worker serves (F065)', async () => {
    const worker = await b.api.worker({ queues: ['held', 'free'], slots: 10 })
    await a.api.call('POST', '/queues/held/pause')
    await a.api.submitBatch(Array.from({ length: 300 }, () => ({ queue: 'held', priority: 'high' })))
    const ids = new Set(
      (await a.api.submitBatch(Array.from({ length: 60 }, () => ({ queue: 'free' })))).map((t) => t.task_id),
    )
    while (ids.size > 0) {
      const tasks = await worker.poll(10, { wait: 30 })
      for (const { task_id } of tasks) expect(ids.delete(task_id)).toBe(true)
      await worker.report(tasks)
    }
    const held = await a.api.call<{ depth: number }>('GET', '/queues/held')
    expect(held.body.depth).toBe(300)
    await worker.leave()
  })

  it('tells who waits for a task that a purge ended, at another node', async () => {
    await a.api.call('POST', '/queues/gone/pause')
    const { task_id } = await a.api.submit({ queue: 'gone' })
    const waiting = b.api.get(task_id, 20)
    await enough()
    expect((await a.api.call('POST', '/queues/gone/purge')).body).toEqual({
      cancelled: 1,
      remaining: 0,
      complete: true,
    })
    expect(await waiting).toMatchObject({ status: 'CANCELLED', reason: 'purged' })
    expect((await a.api.call<{ status: string }>('POST', `/tasks/${task_id}/retry`)).body.status).toBe('PENDING')
  })
})
