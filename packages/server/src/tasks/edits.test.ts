import type { Uuid } from '@duly/domain'
import { afterAll, describe, expect, test } from 'vitest'
import type { TaskEdit } from '../model.js'
import { expectChained, expectSound, openRow, trailOf, wholeStateOf, wholeTrailOf } from '../testing/facts.js'
import { claimLife, type Life, passDue, say, startLife, words } from '../testing/lives.js'
import { keyed, newTask, openTestStore } from '../testing/test-node.js'

const { node } = await openTestStore()
afterAll(() => expectSound(node))

const actor = { kind: 'api', name: 'tester' } as const
const edit = (id: Uuid, change: TaskEdit) => node.tasks.edit(id, null, { edit: change, actor })
const later = () => Math.ceil(node.storeClock.nowMs()) + 3_600_000

let queues = 0
async function waiting(over: Parameters<typeof newTask>[0] = {}): Promise<{ id: Uuid; queue: string }> {
  const queue = `edit-${queues++}`
  return { queue, id: (await node.intake.submit(newTask({ queue, ...over }))).id }
}

async function lane(id: Uuid) {
  const [row] = await node.query<{
    ready_at: Date
    due_at: Date
    wake_at: Date
    lane_version: number
    timeout_ms: string
  }>('select ready_at, due_at, wake_at, lane_version, timeout_ms from open_tasks where id = $1', [id])
  if (!row) throw new Error('it has ended')
  return row
}

describe('an edit of a PENDING task', () => {
  test('changes every field at once, in the record and in what its worker gets', async () => {
    const { id } = await waiting()
    const change = {
      priority: 1,
      queue: 'edited',
      maxRetries: 7,
      timeoutMs: 1_500,
      payload: '{"z":1.0,"a":-0}',
    } as const
    expect(await edit(id, change)).toMatchObject({ id, status: 'PENDING', ...change })
    const worker = await node.worker({ queues: ['edited'] })
    const [task] = await node.claim(worker, 1, { queue: 'edited', priority: 1 })
    expect(task).toMatchObject({ id, timeoutMs: 1_500, payload: '{"z":1.0,"a":-0}' })
    expect(await trailOf(node, id)).toEqual(['edit PENDING>PENDING @- api'])
    const [, event] = await node.tasks.events(id, null)
    expect(event).toMatchObject({
      actor: 'api:tester',
      reason: 'priority, payload, queue, max_retries, timeout_seconds',
    })
    await expectChained(node, id)
  })

  test('keeps its place in its lane, and gets the last one of a new lane', async () => {
    const { id, queue } = await waiting()
    const before = await lane(id)
    await edit(id, { payload: '2', timeoutMs: 999 })
    const same = await lane(id)
    expect(same.ready_at).toEqual(before.ready_at)
    expect(same).toMatchObject({ lane_version: before.lane_version + 1, timeout_ms: '999' })
    const other = await node.intake.submit(newTask({ queue, priority: 3 }))
    await edit(id, { priority: 3 })
    const worker = await node.worker({ queues: [queue] })
    const taken = await node.claim(worker, 2, { queue, priority: 3 })
    expect(taken.map((task) => task.id)).toEqual([other.id, id])
    expect(taken[1]?.payload).toBe('2')
  })

  test('leaves the gate of its type when it moves, a suspect does not leave its own', async () => {
    const { id, queue } = await waiting()
    await node.stores.queue.setAside({ queue, priority: 2, tenant: 'acme', gate: '' }, ['other'], 10)
    await edit(id, { payload: '3' })
    expect((await openRow(node, id))?.gate).toBe('work')
    await edit(id, { queue: `${queue}-b` })
    expect((await openRow(node, id))?.gate).toBe('')
    await node.query(
      `with moved as (update open_tasks set gate = '!suspect', crashes = 1 where id = $1 returning *)
       insert into counters select queue, priority, tenant, x.gate, 99, x.depth from moved,
         (values ('', -1), ('!suspect', 1)) x (gate, depth)`,
      [id],
    )
    await edit(id, { priority: 1 })
    expect((await openRow(node, id))?.gate).toBe('!suspect')
    await node.query('update open_tasks set crashes = 0 where id = $1', [id])
  })

  test('can put it off: it leaves its lane, and comes back when it is due', async () => {
    const scheduledAtMs = later()
    const { id, queue } = await waiting({ expiresAtMs: scheduledAtMs - 60_000 })
    expect(await edit(id, { scheduledAtMs, priority: 1 })).toMatchObject({ status: 'SCHEDULED', scheduledAtMs })
    const row = await lane(id)
    expect(row.ready_at).toBeNull()
    expect(row.due_at.getTime()).toBe(scheduledAtMs)
    // it expires before it is due
    expect(row.wake_at.getTime()).toBe(scheduledAtMs - 60_000)
    expect(node.edited.at(-1)).toMatchObject({
      id,
      status: 'SCHEDULED',
      wakeAtMs: scheduledAtMs - 60_000,
      mayExpire: true,
    })
    await passDue(node, id)
    const { ready } = await node.stores.timers.promote([{ id, handoff: null, epoch: 1 }])
    expect(ready).toMatchObject([{ id, queue, priority: 1 }])
    expect(await trailOf(node, id)).toEqual(['reschedule PENDING>SCHEDULED @- api'])
    await expectChained(node, id)
  })
})

describe('an edit of a SCHEDULED task', () => {
  test.each([null, Date.UTC(2020, 1, 1)])('to %s makes it ready now', async (scheduledAtMs) => {
    const { id, queue } = await waiting({ delayMs: 60_000 })
    expect(await edit(id, { scheduledAtMs })).toMatchObject({ status: 'PENDING', scheduledAtMs, dueAtMs: null })
    expect(node.edited.at(-1)).toMatchObject({ id, status: 'PENDING', queue })
    expect((await claimLife(node, { id, queue })).id).toBe(id)
    expect(await wholeTrailOf(node, id)).toEqual([
      'submit >SCHEDULED @- api',
      'reschedule SCHEDULED>PENDING @- api',
      'claim PENDING>RUNNING @1 dispatcher',
    ])
  })

  test('to other times keeps the trail true: each schedule is told as it was', async () => {
    const firstMs = later()
    const { id } = await waiting({ scheduledAtMs: firstMs })
    await edit(id, { scheduledAtMs: firstMs + 1_000 })
    await edit(id, { scheduledAtMs: null })
    await edit(id, { scheduledAtMs: firstMs + 2_000 })
    await expectChained(node, id)
    expect(await wholeTrailOf(node, id)).toEqual([
      'submit >SCHEDULED @- api',
      'reschedule SCHEDULED>SCHEDULED @- api',
      'reschedule SCHEDULED>PENDING @- api',
      'reschedule PENDING>SCHEDULED @- api',
    ])
    const rows = await node.query<{ previous_at: Date | null }>(
      'select previous_at from task_events where task_id = $1 order by event_id',
      [id],
    )
    expect(rows.map((row) => row.previous_at?.getTime() ?? null)).toEqual([firstMs, firstMs + 1_000, null])
  })
})

describe('an edit', () => {
  test('of a RETRYING task keeps its delay, and its later attempts run as edited', async () => {
    const life = await startLife(node)
    await say(node, life, words.retry)
    const [before, place] = [await openRow(node, life.id), await lane(life.id)]
    await edit(life.id, { payload: '"new"', queue: `${life.queue}-b`, maxRetries: 1 })
    const after = await openRow(node, life.id)
    expect({ ...after, dueInMs: 0 }).toEqual({ ...before, dueInMs: 0 })
    expect((await lane(life.id)).due_at).toEqual(place.due_at)
    await passDue(node, life.id)
    await node.stores.timers.promote([{ id: life.id, handoff: null, epoch: 1 }])
    const worker = await node.worker({ queues: [`${life.queue}-b`] })
    expect(await node.claim(worker, 1, { queue: `${life.queue}-b` })).toMatchObject([{ attempt: 2, payload: '"new"' }])
    await expectChained(node, life.id)
  })

  test('keeps every column that it does not concern', async () => {
    const life = await startLife(node, { concurrencyKey: 'key', expiresAtMs: later(), resultTtlMs: 60_000 })
    await say(node, life, words.retry)
    await node.query(
      `update open_tasks set crashes = 1, undelivered = 2, snoozes = 3, releases = 4, cancel_reason = 'x', blockers = 5,
         gate = '!suspect', workflow_id = id, cron_id = id where id = $1`,
      [life.id],
    )
    const state = async () => (await wholeStateOf(node, life.id)).open_tasks as Record<string, unknown>[]
    const [before] = await state()
    // a column that holds nothing proves nothing: a new one belongs into this test
    const empty = Object.entries(before ?? {}).filter(
      ([name, value]) => value === null || (value === 0 && name !== 'partition'),
    )
    expect(empty.map(([name]) => name).sort()).toEqual(
      ['deadline_at', 'grant_no', 'ready_at', 'session', 'started_at', 'token', 'cancel_requested_at'].sort(),
    )
    await edit(life.id, { payload: '5' })
    expect(await state()).toEqual([{ ...before, lane_version: Number(before?.lane_version) + 1 }])
    await node.query('update open_tasks set crashes = 0, cron_id = null where id = $1', [life.id])
  })

  const refused: Record<string, (life: Life) => Promise<unknown>> = {
    RUNNING: async () => undefined,
    SUCCEEDED: (life) => say(node, life, words.succeed),
    FAILED: (life) => say(node, life, words.fail),
  }
  test.each(Object.keys(refused))('of a %s task is refused and changes nothing', async (status) => {
    const life = await startLife(node)
    await refused[status]?.(life)
    const before = await wholeStateOf(node, life.id)
    await expect(edit(life.id, { payload: '1', queue: 'never-made' })).rejects.toMatchObject({
      code: 'wrong_state',
      message: `The task is ${status}; it can be edited when it is SCHEDULED, PENDING, BLOCKED, RETRYING.`,
    })
    expect(await wholeStateOf(node, life.id)).toEqual(before)
    expect(await node.query(`select 1 from queues where name = 'never-made'`)).toEqual([])
  })

  test('of the time of a RETRYING task is refused, whatever else it asks', async () => {
    const life = await startLife(node)
    await say(node, life, words.retry)
    await expect(edit(life.id, { scheduledAtMs: null, payload: '1' })).rejects.toMatchObject({
      code: 'wrong_state',
      message: 'The task is RETRYING; its scheduled_at can be edited when it is SCHEDULED, PENDING.',
    })
    expect((await node.tasks.get(life.id, null)).payload).toBe('{"n":1}')
  })

  test("of another tenant's task finds none, and makes no queue", async () => {
    const { id } = await waiting()
    const change = { edit: { queue: 'stolen' }, actor }
    await expect(node.tasks.edit(id, 'other', change)).rejects.toMatchObject({ code: 'not_found' })
    expect(await node.query(`select 1 from queues where name = 'stolen'`)).toEqual([])
    expect(await node.tasks.edit(id, 'acme', change)).toMatchObject({ queue: 'stolen' })
  })

  test('does not change what its idempotency key stands for', async () => {
    const first = await node.intake.submit(keyed('edit-key', 'a', { delayMs: 60_000 }))
    await edit(first.id, { payload: '"edited"', scheduledAtMs: null })
    const again = await node.intake.submit(keyed('edit-key', 'a', { delayMs: 60_000 }))
    expect(again).toMatchObject({ id: first.id, replayed: true, status: 'PENDING' })
    await expect(node.intake.submit(keyed('edit-key', 'edited'))).rejects.toMatchObject({
      code: 'idempotency_conflict',
    })
  })
})
