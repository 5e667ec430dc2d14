import { type Cause, type CauseCode, causeCodes, type Explanation, encodeId, type Uuid } from '@duly/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  claimLife,
  error,
  mark,
  passDeadline,
  passDue,
  say,
  silence,
  startLife,
  watch,
  words,
} from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'
import { Graph } from '../testing/workflows.js'
import { Explainer } from './explainer.js'

const { node } = await openTestStore()
const explainer = new Explainer({ store: node.stores.explain, maxCrashes: 3 })
const seen = new Set<string>()

/** A scheduler that is alive, as nodes with duties keep it. */
async function scheduler(isAlive: boolean): Promise<void> {
  await node.query(
    `insert into nodes (id, number, roles, version, started_at, seen_at)
     values ('00000000-0000-4000-8000-000000000001', 1, '{api,scheduler}', 'test', now(), now())
     on conflict (id) do update set seen_at = now() - $1::integer * interval '1 second'`,
    [isAlive ? 0 : 30],
  )
}
beforeAll(async () => {
  await node.query('update store_marks set marked_at = now(), judge_after = now()')
  await scheduler(true)
  // one that is not seen for 6 s is dead, and tests may take longer
  await node.query(`update nodes set seen_at = now() + interval '1 hour'`)
})

let queues = 0
const newQueue = (): string => `explained-${queues++}`

async function explain(id: Uuid, tenant: string | null = null): Promise<Explanation> {
  await node.query('update store_marks set marked_at = now()')
  const explanation = await explainer.explain(id, tenant)
  for (const { code } of explanation.causes) seen.add(code)
  return explanation
}

const codesOf = ({ causes }: Explanation): CauseCode[] => causes.map(({ code }) => code)
const causeOf = ({ causes }: Explanation, code: CauseCode): Cause | undefined =>
  causes.find((each) => each.code === code)
const submit = async (over: Parameters<typeof newTask>[0] = {}): Promise<{ id: Uuid; queue: string }> => {
  const queue = over.queue ?? newQueue()
  return { id: (await node.intake.submit(newTask({ ...over, queue }))).id, queue }
}

describe('a PENDING task', () => {
  test('that nobody serves says who comes near', async () => {
    const { id, queue } = await submit({ taskType: 'work' })
    await node.worker({ name: 'slip', queues: [`${queue}s`], taskTypes: ['work'] })
    const none = await explain(id)
    expect(codesOf(none)).toEqual(['no_worker_for_queue', 'lane_position'])
    expect(causeOf(none, 'no_worker_for_queue')?.nearWorkers?.[0]).toMatchObject({
      ...{ name: 'slip', queues: [`${queue}s`], taskTypes: ['work'], missing: ['queue'] },
    })
    const other = await node.worker({ name: 'other', queues: [queue], taskTypes: ['works'] })
    const type = await explain(id)
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
    const { id, queue } = await submit()
    const rivals = await node.worker({ name: 'rivals', queues: [queue] }, 'rival')
    const all = await explain(id)
    expect(causeOf(all, 'workers_of_other_tenants')).toMatchObject({ workers: 1, tenant: 'acme' })
    expect(causeOf(all, 'workers_of_other_tenants')?.nearWorkers?.[0]).toMatchObject({
      ...{ id: rivals.row.id, missing: ['tenant'] },
    })
    const own = await explain(id, 'acme')
    expect(codesOf(own)).toEqual(['no_worker_for_queue', 'lane_position'])
    expect(JSON.stringify(own)).not.toMatch(/rival/)
    await node.worker({ name: 'shared', queues: [queue], taskTypes: ['else'] })
    const near = causeOf(await explain(id, 'acme'), 'no_worker_for_type')
    expect(near).toMatchObject({ workers: 1, nearWorkers: [] })
    await node.worker({ name: 'own', queues: [queue] }, 'acme')
    expect(codesOf(await explain(id, 'acme'))).toEqual(['slot_free', 'lane_position'])
    await expect(explainer.explain(id, 'rival')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('of a paused queue says since when, however often it is paused', async () => {
    const { id, queue } = await submit()
    await node.stores.queues.pause(queue, 100)
    await node.query(`update queues set paused_at = now() - interval '90 s' where name = $1`, [queue])
    await node.stores.queues.pause(queue, 100)
    await node.worker({ queues: [queue] })
    const paused = await explain(id)
    expect(codesOf(paused)).toEqual(['queue_paused', 'lane_position'])
    expect(paused.summary).toMatch(/^Its queue explained-\d+ has been paused for 1 min 3\d s\.$/)
    await node.stores.queues.resume(queue)
    expect(codesOf(await explain(id))).toEqual(['slot_free', 'lane_position'])
    await node.stores.queues.pause(queue, 100)
    expect(causeOf(await explain(id), 'queue_paused')?.forMs).toBeLessThan(60_000)
  })

  test('behind busy slots says how many, and since when the oldest runs', async () => {
    const queue = newQueue()
    const worker = await node.worker({ queues: [queue], slots: 2 })
    const first = await submit({ queue })
    const foreign = await submit({ queue, tenant: 'rival' })
    await node.claim(worker, 1, { queue })
    await node.claim(worker, 1, { queue, tenant: 'rival' })
    await node.query(`update open_tasks set started_at = now() - interval '1 h' where id = $1`, [foreign.id])
    await node.query(`update open_tasks set started_at = now() - interval '1 min' where id = $1`, [first.id])
    const { id } = await submit({ queue })
    const busy = await explain(id)
    expect(codesOf(busy)).toEqual(['slots_busy', 'lane_position'])
    expect(causeOf(busy, 'slots_busy')).toMatchObject({ workers: 1, slots: 2, running: 2 })
    expect(busy.summary).toMatch(/2 of 2, the longest for 1 h/)
    // how long another tenant's task runs is not its business
    expect((await explain(id, 'acme')).summary).toMatch(/2 of 2, the longest for 1 min/)
  })

  test('of a fitting worker that drains says whether another one is left', async () => {
    const { id, queue } = await submit()
    const draining = await node.worker({ queues: [queue] })
    await node.stores.sessions.drain(draining.row.id)
    expect((await explain(id)).summary).toBe(
      'The only live worker that could run it is draining and takes nothing more.',
    )
    await node.worker({ queues: [queue] })
    expect(codesOf(await explain(id))).toEqual(['slot_free', 'worker_draining', 'lane_position'])
  })

  test('counts what is ahead of it, and reckons with what its queue started of late', async () => {
    const queue = newQueue()
    await node.worker({ queues: [queue], slots: 1 })
    for (let n = 0; n < 5; n++) await submit({ queue })
    const { id } = await submit({ queue })
    expect(causeOf(await explain(id), 'lane_position')).toMatchObject({
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
    const { estimate } = causeOf(await explain(id), 'lane_position') ?? {}
    expect(estimate).toMatchObject({ startsOf: 'queue', share: 1 })
    expect(estimate?.windowMs).toBeGreaterThanOrEqual(120_000)
    expect(estimate?.windowMs).toBeLessThanOrEqual(180_000)
    expect(estimate?.startsPerSecond).toBeCloseTo(600 / ((estimate?.windowMs ?? 0) / 1_000))
    expect(estimate?.waitMs).toBe(Math.round((5 / (estimate?.startsPerSecond ?? 1)) * 1_000))
    // figures of a queue are those of all tenants: a tenant reckons with its own
    expect(causeOf(await explain(id, 'acme'), 'lane_position')?.estimate).toBeNull()
  })

  test('says which lanes share the starts with it', async () => {
    const queue = newQueue()
    await node.worker({ queues: [queue] })
    const { id } = await submit({ queue })
    await submit({ queue, priority: 1, tenant: 'rival' })
    await submit({ queue, tenant: 'rival' })
    await submit({ queue, tenant: 'third' })
    expect(causeOf(await explain(id), 'other_lanes')).toMatchObject({
      priorities: [{ priority: 1 }, { priority: 2 }],
      ...{ tenants: 3, gates: 1 },
    })
    expect(codesOf(await explain(id, 'acme'))).not.toContain('other_lanes')
    await submit({ queue, priority: 3 })
    expect(causeOf(await explain(id, 'acme'), 'other_lanes')).toMatchObject({
      priorities: [{ priority: 2 }, { priority: 3 }],
      tenants: null,
    })
  })

  test('set aside for its type, or beyond the cap of its queue, says so', async () => {
    const { id, queue } = await submit({ taskType: 'rare' })
    await node.stores.queue.setAside({ queue, priority: 2, tenant: 'acme', gate: '' }, ['work'], 10)
    await node.worker({ queues: [queue], taskTypes: ['rare'] })
    expect(codesOf(await explain(id))).toEqual(['slot_free', 'set_aside', 'lane_position'])
    await node.query(`update open_tasks set gate = '!overflow' where id = $1`, [id])
    expect(codesOf(await explain(id))).toEqual(['overflow', 'lane_position'])
    await node.query(`update open_tasks set gate = 'rare' where id = $1`, [id])
  })

  test('after a crash waits apart, for its turn where its worker holds a suspect', async () => {
    const queue = newQueue()
    const crashed = async (): Promise<Uuid> => {
      const { id } = await submit({ queue })
      const life = await claimLife(node, { id, queue })
      await silence(node, life.worker)
      await watch(node)
      return id
    }
    const [first, second] = [await crashed(), await crashed()]
    const alone = await explain(second)
    expect(codesOf(alone)).toEqual(['no_worker_for_queue', 'lane_position', 'suspect'])
    expect(causeOf(alone, 'suspect')).toMatchObject({ crashes: 1, maxCrashes: 3, attempt: 1, workerName: 'w' })
    await claimLife(node, { id: first, queue, gate: '!suspect' })
    const turn = await explain(second)
    expect(codesOf(turn)).toEqual(['suspect_turn', 'lane_position', 'suspect'])
    expect(codesOf(await explain(first))).toEqual(['running', 'suspect'])
  })

  test('that may expire says when', async () => {
    const { id, queue } = await submit({ expiresAtMs: Date.now() + 3_600_000 })
    await node.worker({ queues: [queue] })
    expect(codesOf(await explain(id))).toEqual(['slot_free', 'lane_position', 'expires'])
  })
})

describe('a task that waits for its time', () => {
  test('says when it is due, and who will be missing then', async () => {
    const { id, queue } = await submit({ delayMs: 3_600_000 })
    expect(codesOf(await explain(id))).toEqual(['not_due', 'no_worker_for_queue'])
    await node.worker({ queues: [queue] })
    expect((await explain(id)).summary).toMatch(/^It is due in (59 min|1 h)/)
    await passDue(node, id)
    expect(codesOf(await explain(id))).toEqual(['due'])
  })

  test('needs a scheduler that lives', async () => {
    const { id, queue } = await submit({ delayMs: 3_600_000 })
    await node.worker({ queues: [queue] })
    await scheduler(false)
    expect(codesOf(await explain(id))).toEqual(['not_due', 'no_scheduler'])
    await passDue(node, id)
    const dead = await explain(id)
    expect(codesOf(dead)).toEqual(['no_scheduler'])
    expect(dead.summary).toMatch(/the last was seen 3\d s ago\.$/)
    await node.query(`update nodes set roles = '{api}', seen_at = now() + interval '1 hour'`)
    expect(codesOf(await explain(id))).toEqual(['no_scheduler'])
    await node.query(`update nodes set roles = '{api,scheduler}'`)
  })

  test('put off by its handler says so', async () => {
    const life = await startLife(node)
    await say(node, life, words.snooze)
    const put = await explain(life.id)
    expect(codesOf(put)).toEqual(['snoozed'])
    expect(put.summary).toMatch(/^Its handler put it off by 1 min, once so far; it is due again in (59 s|1 min)/)
  })

  test('tried again says why, how long, and who wanted the delay', async () => {
    const drawn = await startLife(node)
    await say(node, drawn, words.retry)
    const retrying = await explain(drawn.id)
    expect(codesOf(retrying)).toEqual(['retrying'])
    expect(retrying.causes[0]).toMatchObject({
      ...{
        failures: 1,
        maxRetries: 3,
        attempt: 1,
        delayMs: 10_000,
        delayFrom: 'backoff',
        backoff: 'fixed',
        jitter: 'none',
      },
      error: { class: error.class, message: error.message },
    })
    const wished = await startLife(node)
    await say(node, wished, { ...words.retry, retryAfterMs: 30_000 } as unknown as typeof words.retry)
    expect((await explain(wished.id)).causes[0]).toMatchObject({ delayMs: 30_000, delayFrom: 'handler' })
    const timedOut = await startLife(node)
    await passDeadline(node, timedOut.id)
    await watch(node)
    expect((await explain(timedOut.id)).summary).toMatch(/^Attempt 1 ran out of time/)
    // written by a version that did not keep it
    await node.query('update failed_attempts set delay_wished = null where task_id = $1', [drawn.id])
    expect((await explain(drawn.id)).causes[0]).toMatchObject({ delayFrom: null })
  })

  test('for the end of an earlier task of its definition names it', async () => {
    const earlier = await startLife(node)
    const { id } = await submit({ delayMs: 3_600_000 })
    const cron = '01a22897-5adc-700f-9efd-267978275483'
    await mark(node, earlier.id)
    await node.query('update open_tasks set cron_id = $1 where id = any ($2)', [cron, [earlier.id, id]])
    await node.query('update tasks set cron_id = $1 where id = any ($2)', [cron, [earlier.id, id]])
    await node.query(
      `update open_tasks set status = 'BLOCKED', blockers = 1, due_at = null, wake_at = null where id = $1`,
      [id],
    )
    const blocked = await explain(id)
    expect(blocked.causes[0]).toMatchObject({
      ...{ code: 'waits_for_earlier', blockerCount: 1, blockers: [{ id: earlier.id, node: null, status: 'RUNNING' }] },
    })
    await say(node, earlier, words.stop)
    expect((await explain(id)).summary).toMatch(/becomes ready in an instant/)
    await node.query(`update open_tasks set status = 'PENDING', blockers = 0, ready_at = now() where id = $1`, [id])
  })
})

describe('a RUNNING task', () => {
  test('says who runs it, how its lease stands, and how far it is', async () => {
    const life = await startLife(node)
    await node.query(`insert into task_progress (task_id, percent, note, updated_at) values ($1, 40, 'half', now())`, [
      life.id,
    ])
    const running = await explain(life.id)
    expect(codesOf(running)).toEqual(['running', 'progress'])
    expect(running.causes[0]).toMatchObject({
      workerId: life.worker.row.id,
      workerName: 'w',
      attempt: 1,
      isLeaseLive: true,
    })
    expect(running.summary).toContain(encodeId('worker', life.worker.row.id))
  })

  test('whose grant was not acknowledged, whose worker drains or is to stop it, says so', async () => {
    const life = await startLife(node)
    await node.query('update session_grants set received = 0 where session = $1', [life.worker.row.id])
    await node.stores.sessions.drain(life.worker.row.id)
    expect(codesOf(await explain(life.id))).toEqual(['running', 'unacknowledged', 'worker_draining'])
    await mark(node, life.id)
    expect(causeOf(await explain(life.id), 'cancel_requested')).toMatchObject({ reason: 'cancel_requested' })
  })

  test('whose worker is silent, or whose time is over, says what comes next', async () => {
    const life = await startLife(node)
    await silence(node, life.worker)
    expect((await explain(life.id)).summary).toMatch(/its lease is over, and the task is about to be taken back\.$/)
    const late = await startLife(node)
    await passDeadline(node, late.id)
    expect(codesOf(await explain(late.id))).toEqual(['past_deadline', 'running'])
  })
})

describe('a task that has ended', () => {
  const ended = async (said: Parameters<typeof say>[2], over: Parameters<typeof newTask>[0] = {}): Promise<Uuid> => {
    const life = await startLife(node, over)
    await say(node, life, said)
    return life.id
  }

  test('by its worker says how', async () => {
    expect(codesOf(await explain(await ended(words.succeed)))).toEqual(['succeeded'])
    const failed = await explain(await ended(words.fail))
    expect(failed.causes[0]).toMatchObject({ code: 'failed', error: { class: 'Boom' }, workerName: 'w' })
    const dead = await ended(words.retry, { maxRetries: 0 })
    expect(codesOf(await explain(dead))).toEqual(['retries_exhausted', 'dead_letter'])
    await node.query('delete from dead_letters where task_id = $1', [dead])
    await node.query('update outcomes set discarded_at = now() where id = $1', [dead])
    expect(codesOf(await explain(dead))).toEqual(['retries_exhausted', 'discarded'])
  })

  test('by crashes or snoozes says so', async () => {
    const queue = newQueue()
    const { id } = await submit({ queue })
    for (const gate of ['', '!suspect', '!suspect']) {
      const life = await claimLife(node, { id, queue, gate })
      await silence(node, life.worker)
      await watch(node)
    }
    expect(codesOf(await explain(id))).toEqual(['crashes_exhausted', 'dead_letter'])
    const sleepy = await startLife(node)
    await node.query('update open_tasks set snoozes = 1000 where id = $1', [sleepy.id])
    await say(node, sleepy, words.snooze)
    expect(codesOf(await explain(sleepy.id))).toEqual(['snoozes_exhausted', 'dead_letter'])
  })

  test('without a worker says who ended it, and why', async () => {
    const cancelled = await submit()
    await mark(node, cancelled.id)
    expect((await explain(cancelled.id)).causes).toMatchObject([{ code: 'cancelled', actor: 'api:tester' }])
    const reasons = { expired: 'expired', skipped: 'skipped', purged: 'purged', overlap: 'overlapped' } as const
    for (const [reason, code] of Object.entries(reasons)) {
      await node.query('update outcomes set reason = $2 where id = $1', [cancelled.id, reason])
      expect(codesOf(await explain(cancelled.id))).toEqual([code])
    }
    const upstream = await ended(words.fail)
    await node.query(`update outcomes set reason = 'dependency' where id = $1`, [upstream])
    expect(codesOf(await explain(upstream))).toEqual(['dependency_failed'])
  })

  test('and was run again is explained anew', async () => {
    const id = await ended(words.retry, { maxRetries: 0 })
    await node.tasks.replay(id, null, { kind: 'api' })
    const again = await explain(id)
    expect(again.status).toBe('PENDING')
    expect(codesOf(again)).not.toContain('retrying')
  })
})

describe('a node of a workflow', () => {
  test('names what it waits for, and what ended otherwise than it must', async () => {
    const graph = await Graph.submit(node, { a: {}, b: {}, join: { after: ['a', 'b'] }, last: { after: ['join'] } })
    const id = (name: string): Uuid => graph.idOf(name)
    await graph.claim()
    const both = await explain(id('join'))
    expect(both.summary).toBe('It waits for 2 dependencies: a RUNNING, b RUNNING.')
    expect(both.causes[0]).toMatchObject({ code: 'waits_for_dependencies', blockerCount: 2 })
    await graph.say('a')
    expect((await explain(id('join'))).causes[0]?.blockers).toEqual([{ id: id('b'), node: 'b', status: 'RUNNING' }])
    await graph.say('b', words.fail)
    const failed = await explain(id('join'))
    expect(failed.causes[0]).toMatchObject({
      ...{ code: 'dependency_failed', blockers: [{ id: id('b'), node: 'b', status: 'FAILED' }] },
    })
    expect(failed.summary).toMatch(/since b \(FAILED\) ended otherwise than it must\.$/)
    expect((await explain(id('last'))).summary).toMatch(/since join \(FAILED\)/)
  })
})

test('what does not exist is not explained', async () => {
  await expect(explainer.explain('01a22897-5adc-700f-9efd-267978275482', null)).rejects.toMatchObject({
    code: 'not_found',
  })
})

afterAll(() => {
  expect(causeCodes.map(({ code }) => code).filter((code) => !seen.has(code))).toEqual([])
})
