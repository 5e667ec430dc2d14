import type { Uuid } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import { Recorder } from '../stats/recorder.js'
import { claimLife, silence, watch } from '../testing/lives.js'
import { causeOf, codesOf, openExplainBench, readyCodes } from './testing/explain-bench.js'

const bench = await openExplainBench(readyCodes)
const { node } = bench

describe('a PENDING task', () => {
  test('that nobody serves says who comes near', async () => {
    const { id, queue } = await bench.submit({ taskType: 'work' })
    await node.worker({ name: 'slip', queues: [`${queue}s`], taskTypes: ['work'] })
    const none = await bench.explain(id)
    expect(codesOf(none)).toEqual(['no_worker_for_queue', 'lane_position'])
    expect(causeOf(none, 'no_worker_for_queue')?.nearWorkers?.[0]).toMatchObject({
      ...{ name: 'slip', queues: [`${queue}s`], taskTypes: ['work'], missing: ['queue'] },
    })
    const other = await node.worker({ name: 'other', queues: [queue], taskTypes: ['works'] })
    const type = await bench.explain(id)
    expect(codesOf(type)).toEqual(['no_worker_for_type', 'lane_position'])
    expect(causeOf(type, 'no_worker_for_type')).toMatchObject({
      workers: 1,
      nearWorkers: [{ id: other.row.id, name: 'other', missing: ['task_type'] }, { name: 'slip' }],
    })
    expect(type.summary).toBe(
      `1 live worker serves its queue ${queue}, but none its type work; the nearest, other, serves works.`,
    )
  })

  test('whose workers are bound to other tenants is told so, and a tenant nothing of others', async () => {
    const { id, queue } = await bench.submit()
    const rivals = await node.worker({ name: 'rivals', queues: [queue] }, 'rival')
    const all = await bench.explain(id)
    expect(causeOf(all, 'workers_of_other_tenants')).toMatchObject({ workers: 1, tenant: 'acme' })
    expect(causeOf(all, 'workers_of_other_tenants')?.nearWorkers?.[0]).toMatchObject({
      ...{ id: rivals.row.id, missing: ['tenant'] },
    })
    const own = await bench.explain(id, 'acme')
    expect(codesOf(own)).toEqual(['no_worker_for_queue', 'lane_position'])
    expect(JSON.stringify(own)).not.toMatch(/rival/)
    await node.worker({ name: 'shared', queues: [queue], taskTypes: ['else'] })
    const near = causeOf(await bench.explain(id, 'acme'), 'no_worker_for_type')
    expect(near).toMatchObject({ workers: 1, nearWorkers: [] })
    await node.worker({ name: 'own', queues: [queue] }, 'acme')
    expect(codesOf(await bench.explain(id, 'acme'))).toEqual(['slot_free', 'lane_position'])
    await expect(bench.explainer.explain(id, 'rival')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('of a paused queue says since when, however often it is paused', async () => {
    const { id, queue } = await bench.submit()
    await node.stores.queues.pause(queue, 100)
    await node.query(`update queues set paused_at = now() - interval '90 s' where name = $1`, [queue])
    await node.stores.queues.pause(queue, 100)
    await node.worker({ queues: [queue] })
    const paused = await bench.explain(id)
    expect(codesOf(paused)).toEqual(['queue_paused', 'lane_position'])
    expect(paused.summary).toMatch(/^Its queue explained-\d+ has been paused for 1 min 3\d s\.$/)
    await node.stores.queues.resume(queue)
    expect(codesOf(await bench.explain(id))).toEqual(['slot_free', 'lane_position'])
    await node.stores.queues.pause(queue, 100)
    expect(causeOf(await bench.explain(id), 'queue_paused')?.forMs).toBeLessThan(60_000)
  })

  test('behind busy slots says how many, and since when the oldest runs', async () => {
    const queue = bench.newQueue()
    const worker = await node.worker({ queues: [queue], slots: 2 })
    const first = await bench.submit({ queue })
    const foreign = await bench.submit({ queue, tenant: 'rival' })
    await node.claim(worker, 1, { queue })
    await node.claim(worker, 1, { queue, tenant: 'rival' })
    await node.query(`update open_tasks set started_at = now() - interval '1 h' where id = $1`, [foreign.id])
    await node.query(`update open_tasks set started_at = now() - interval '1 min' where id = $1`, [first.id])
    const { id } = await bench.submit({ queue })
    const busy = await bench.explain(id)
    expect(codesOf(busy)).toEqual(['slots_busy', 'lane_position'])
    expect(causeOf(busy, 'slots_busy')).toMatchObject({ workers: 1, slots: 2, running: 2 })
    expect(busy.summary).toMatch(/2 of 2, the longest for 1 h/)
    // how long another tenant's task runs is not its business
    expect((await bench.explain(id, 'acme')).summary).toMatch(/2 of 2, the longest for 1 min/)
  })

  test('of a fitting worker that drains says whether another one is left', async () => {
    const { id, queue } = await bench.submit()
    const draining = await node.worker({ queues: [queue] })
    await node.stores.sessions.drain(draining.row.id)
    expect((await bench.explain(id)).summary).toBe(
      'The only live worker that could run it is draining and takes nothing more.',
    )
    await node.worker({ queues: [queue] })
    expect(codesOf(await bench.explain(id))).toEqual(['slot_free', 'worker_draining', 'lane_position'])
  })

  test('counts what is ahead of it, and reckons with what its queue started of late', async () => {
    const queue = bench.newQueue()
    await node.worker({ queues: [queue], slots: 1 })
    for (let n = 0; n < 5; n++) await bench.submit({ queue })
    const { id } = await bench.submit({ queue })
    expect(causeOf(await bench.explain(id), 'lane_position')).toMatchObject({
      ...{ ahead: 5, isAheadExact: true, depth: 6, estimate: null, message: '5 tasks of its lane are ahead of it.' },
    })
    const empty = { submitted: 0, succeeded: 0, failed: 0, dead: 0, cancelled: 0, retried: 0, lost: 0, timed_out: 0 }
    const [minute] = await node.query<{ ms: number }>(
      `select date_part('epoch', date_trunc('minute', now()) - interval '2 minutes') * 1000 as ms`,
    )
    const figures = {
      ...empty,
      started: 600,
      startMs: Number(minute?.ms),
      wait: new Uint8Array(),
      run: new Uint8Array(),
    }
    await node.stores.stats.writeMinute([{ ...figures, kind: 'queue', name: queue }])
    const { estimate } = causeOf(await bench.explain(id), 'lane_position') ?? {}
    const [now] = await node.query<{ ms: number }>(`select date_part('epoch', now()) * 1000 as ms`)
    expect(estimate).toMatchObject({ startsOf: 'queue', share: 1 })
    expect(estimate?.windowMs).toBeGreaterThanOrEqual(120_000)
    // it began with that minute, and goes up to now
    expect(estimate?.windowMs).toBeLessThanOrEqual((now?.ms ?? 0) - figures.startMs)
    expect(estimate?.startsPerSecond).toBeCloseTo(600 / ((estimate?.windowMs ?? 0) / 1_000))
    expect(estimate?.waitMs).toBe(Math.round((5 / (estimate?.startsPerSecond ?? 1)) * 1_000))
    // figures of a queue are those of all tenants: a tenant reckons with its own
    expect(causeOf(await bench.explain(id, 'acme'), 'lane_position')?.estimate).toBeNull()
  })

  test('reckons in the first seconds of a queue with these, and for a tenant with what is its own there', async () => {
    const queue = bench.newQueue()
    const recorder = new Recorder({ store: node.stores.stats, storeNowMs: () => nowMs })
    const [{ at = 0 } = {}] = await node.query<{ at: number }>(`select date_part('epoch', now()) * 1000 as at`)
    let nowMs = at - 5_000
    for (let second = 0; second <= 5; second++, nowMs += 1_000) {
      const minute = recorder.now()
      for (let n = 0; n < 50; n++)
        minute.count({ queue, taskType: 'work', tenant: n % 5 === 0 ? 'acme' : 'rival' }, 'started')
      for (let n = 0; n < 90; n++) minute.count({ queue: `${queue}-else`, taskType: 'work', tenant: 'acme' }, 'started')
    }
    nowMs = at
    await recorder.flush()
    await node.worker({ queues: [queue], slots: 1 })
    for (let n = 0; n < 20; n++) await bench.submit({ queue })
    const { id } = await bench.submit({ queue })
    const ofAll = causeOf(await bench.explain(id), 'lane_position')
    expect(ofAll?.estimate?.startsPerSecond).toBeGreaterThan(40)
    expect(ofAll?.estimate?.startsPerSecond).toBeLessThan(75)
    expect(ofAll?.estimate?.waitMs).toBeLessThan(1_000)
    const own = causeOf(await bench.explain(id, 'acme'), 'lane_position')
    expect(own?.estimate?.startsPerSecond).toBeGreaterThan(8)
    expect(own?.estimate?.startsPerSecond).toBeLessThan(15)
    expect(own?.message).toMatch(/that its tenant had in this queue/)
    // one minute in which lanes were too many to be kept apart says nothing of any
    const places = Array.from({ length: 201 }, (_, n) => ({ queue: `${queue}-${n}`, taskType: 'work', tenant: 'acme' }))
    for (const place of places) recorder.now().count(place, 'started')
    await recorder.flush()
    expect(causeOf(await bench.explain(id, 'acme'), 'lane_position')?.estimate).toBeNull()
  })

  test('says which lanes share the starts with it', async () => {
    const queue = bench.newQueue()
    await node.worker({ queues: [queue] })
    const { id } = await bench.submit({ queue })
    await bench.submit({ queue, priority: 1, tenant: 'rival' })
    await bench.submit({ queue, tenant: 'rival' })
    await bench.submit({ queue, tenant: 'third' })
    expect(causeOf(await bench.explain(id), 'other_lanes')).toMatchObject({
      priorities: [{ priority: 1 }, { priority: 2 }],
      ...{ tenants: 3, gates: 1 },
    })
    expect(codesOf(await bench.explain(id, 'acme'))).not.toContain('other_lanes')
    await bench.submit({ queue, priority: 3 })
    expect(causeOf(await bench.explain(id, 'acme'), 'other_lanes')).toMatchObject({
      priorities: [{ priority: 2 }, { priority: 3 }],
      tenants: null,
    })
  })

  test('set aside for its type, or beyond the cap of its queue, says so', async () => {
    const { id, queue } = await bench.submit({ taskType: 'rare' })
    await node.stores.queue.setAside({ queue, priority: 2, tenant: 'acme', gate: '' }, ['work'], 10)
    await node.worker({ queues: [queue], taskTypes: ['rare'] })
    expect(codesOf(await bench.explain(id))).toEqual(['slot_free', 'set_aside', 'lane_position'])
    await node.query(`update open_tasks set gate = '!overflow' where id = $1`, [id])
    expect(codesOf(await bench.explain(id))).toEqual(['overflow', 'lane_position'])
    await node.query(`update open_tasks set gate = 'rare' where id = $1`, [id])
  })

  test('after a crash waits apart, for its turn where its worker holds a suspect', async () => {
    const queue = bench.newQueue()
    const crashed = async (): Promise<Uuid> => {
      const { id } = await bench.submit({ queue })
      const life = await claimLife(node, { id, queue })
      await silence(node, life.worker)
      await watch(node)
      return id
    }
    const [first, second] = [await crashed(), await crashed()]
    const alone = await bench.explain(second)
    expect(codesOf(alone)).toEqual(['no_worker_for_queue', 'lane_position', 'suspect'])
    expect(causeOf(alone, 'suspect')).toMatchObject({ crashes: 1, maxCrashes: 3, attempt: 1, workerName: 'w' })
    await claimLife(node, { id: first, queue, gate: '!suspect' })
    const turn = await bench.explain(second)
    expect(codesOf(turn)).toEqual(['suspect_turn', 'lane_position', 'suspect'])
    expect(codesOf(await bench.explain(first))).toEqual(['running', 'suspect'])
  })

  test('that may expire says when', async () => {
    const { id, queue } = await bench.submit({ expiresAtMs: Date.now() + 3_600_000 })
    await node.worker({ queues: [queue] })
    expect(codesOf(await bench.explain(id))).toEqual(['slot_free', 'lane_position', 'expires'])
  })
})
