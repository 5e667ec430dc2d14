import { decodeLease, encodeId } from '@duly/domain'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { GrantedTask, PollRequest } from '../model.js'
import { expectSound, openRow, statusOf, trailOf, wholeTrailOf } from '../testing/facts.js'
import { mark, silence } from '../testing/lives.js'
import { keyed, newTask, openTestNode, openTestStore, quietBeat, type TestNode } from '../testing/test-node.js'
import { until } from './testing/http-node.js'

const store = await openTestStore()
const { node } = store
/** Has looked at no queue yet. */
let other: TestNode
beforeAll(async () => {
  other = await openTestNode(store.url, { number: 1 })
})
afterEach(() => expectSound(node))
afterAll(async () => {
  await other.close()
})

const never = new AbortController().signal
const atOnce = (slots: number): PollRequest => ({ slots, waitMs: 0, received: 0 })
const lost = { code: 'session_lost' }

let queues = 0

/** A registered worker on a queue of its own, and the tasks that it was granted there. */
async function working(count: number): Promise<{ session: string; queue: string; tasks: readonly GrantedTask[] }> {
  const queue = `workers-${queues++}`
  for (let n = 0; n < count; n++) await node.intake.submit(newTask({ queue }))
  const { id: session } = await node.workers.register(
    {
      ...{ name: 'w', host: null, version: null, queues: [queue], taskTypes: ['work'], slots: 10, heartbeatMs: null },
    },
    null,
  )
  const tasks = await node.workers.poll({ id: session, tenant: null }, atOnce(10), never)
  expect(tasks).toHaveLength(count)
  // the worker acknowledges with its next call
  await node.workers.heartbeat(
    { id: session, tenant: null },
    { ...quietBeat, received: Math.max(0, ...tasks.map(({ grant }) => grant)) },
    never,
  )
  return { session, queue, tasks }
}

const success = ({ id, lease }: GrantedTask) => ({ id, lease, outcome: 'succeeded' as const, result: null })

describe('a granted task', () => {
  test('names its lease, its attempt, and a key that is stable over attempts', async () => {
    const { session, queue, tasks } = await working(1)
    const [first] = tasks
    if (!first) throw new Error('one was granted')
    expect(first).toMatchObject({ attempt: 1, failures: 0, suspect: false, checkpoint: null, payload: '{"n":1}' })
    expect(decodeLease(first.lease)).toMatchObject({ attempt: 1 })
    expect(first.idempotencyKey).toBe(encodeId('task', first.id))
    await node.workers.report({ id: session, tenant: null }, [
      { id: first.id, lease: first.lease, outcome: 'released' },
    ])
    await node.intake.submit(keyed('mine', 'a', { queue }))
    const [again, own] = await other.workers.poll(
      { id: session, tenant: null },
      { ...atOnce(10), received: first.grant },
      never,
    )
    expect(again).toMatchObject({ id: first.id, attempt: 2, idempotencyKey: first.idempotencyKey })
    expect(again?.lease).not.toBe(first.lease)
    expect(own).toMatchObject({ idempotencyKey: 'mine' })
  })
})

describe('an exchange', () => {
  test('answers each report in its order, and does not wait for tasks', async () => {
    const { session, tasks } = await working(2)
    const [first, second] = tasks
    if (!first || !second) throw new Error('two were granted')
    const reports = [success(second), { ...success(first), lease: second.lease }, success(first)]
    const answer = await node.workers.exchange(
      { id: session, tenant: null },
      reports,
      { slots: 5, waitMs: 60_000, received: 2 },
      never,
    )
    expect(answer.results).toEqual([
      { id: second.id, accepted: true, status: 'SUCCEEDED' },
      { id: first.id, accepted: false, code: 'lease_lost' },
      { id: first.id, accepted: true, status: 'SUCCEEDED' },
    ])
    expect(answer.tasks).toEqual([])
  })

  test('without reports waits until its client goes away', async () => {
    const { session } = await working(0)
    const gone = new AbortController()
    const answer = node.workers.exchange(
      { id: session, tenant: null },
      [],
      { slots: 1, waitMs: 60_000, received: 0 },
      gone.signal,
    )
    gone.abort()
    expect(await answer).toEqual({ results: [], tasks: [] })
  })
})

describe('a refused report', () => {
  test('lets the next call ask the store whether the session lives', async () => {
    const { session, tasks } = await working(1)
    const state = await node.sessions.require({ id: session, tenant: null })
    await silence(node, state)
    // the store was asked a moment ago: the node still takes the session for alive
    expect(await node.workers.poll({ id: session, tenant: null }, atOnce(0), never)).toEqual([])
    const [task] = tasks
    if (!task) throw new Error('one was granted')
    const forged = { ...success(task), lease: '9-0000000000000001' }
    expect(await node.workers.report({ id: session, tenant: null }, [forged])).toMatchObject([{ accepted: false }])
    await expect(node.workers.poll({ id: session, tenant: null }, atOnce(0), never)).rejects.toMatchObject(lost)
    await expect(node.workers.report({ id: session, tenant: null }, [success(task)])).rejects.toMatchObject(lost)
    expect(await statusOf(node, task.id)).toBe('RUNNING')
  })
})

describe('a worker that leaves', () => {
  test('gives back what it holds, ends what was to be cancelled, and is gone', async () => {
    const { session, queue, tasks } = await working(3)
    const [kept, marked, done] = tasks
    if (!kept || !marked || !done) throw new Error('three were granted')
    await mark(node, marked.id)
    await node.workers.report({ id: session, tenant: null }, [success(done)])
    await node.workers.leave({ id: session, tenant: null })
    expect(await openRow(node, kept.id)).toMatchObject({ status: 'PENDING', attempt: 1, crashes: 0, releases: 1 })
    expect(await trailOf(node, kept.id)).toEqual(['release RUNNING>PENDING @1 worker'])
    expect((await node.tasks.events(kept.id, null)).at(-1)).toMatchObject({
      actor: encodeId('worker', session),
      reason: 'worker_left',
    })
    expect(await node.tasks.get(marked.id, null)).toMatchObject({ status: 'CANCELLED', reason: 'cancel_requested' })
    expect((await wholeTrailOf(node, done.id)).at(-1)).toBe('succeed RUNNING>SUCCEEDED @1 worker')
    for (const call of [
      node.workers.leave({ id: session, tenant: null }),
      node.workers.poll({ id: session, tenant: null }, atOnce(1), never),
    ]) {
      await expect(call).rejects.toMatchObject(lost)
    }
    const heir = await node.worker({ queues: [queue] })
    expect((await node.claim(heir, 5, { queue })).map((task) => [task.id, task.attempt])).toEqual([[kept.id, 2]])
  })

  test('gives back what it is being granted meanwhile, over whichever node: it counts as no loss', async () => {
    const { session, queue } = await working(0)
    const { id } = await node.intake.submit(newTask({ queue }))
    const client = await node.admin.connect()
    await client.query('begin')
    await client.query('select from session_grants where session = $1 for update', [session])
    const waiting = (count: number) =>
      until('statements wait for the grants of the session', async () => {
        const rows = await node.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.length === count
      })
    const claiming = other.claim(await other.sessions.require({ id: session, tenant: null }), 1, { queue })
    await waiting(1)
    const leaving = node.workers.leave({ id: session, tenant: null })
    await Promise.race([waiting(2), leaving])
    await client.query('rollback')
    client.release()
    expect(await claiming).toHaveLength(1)
    await leaving
    expect(await openRow(node, id)).toMatchObject({ status: 'PENDING', attempt: 1, undelivered: 0, releases: 1 })
  })

  test('with a poll open lets it return empty', async () => {
    const { session } = await working(0)
    const poll = node.workers.poll({ id: session, tenant: null }, { slots: 1, waitMs: 60_000, received: 0 }, never)
    await node.workers.leave({ id: session, tenant: null })
    expect(await poll).toEqual([])
  })
})
