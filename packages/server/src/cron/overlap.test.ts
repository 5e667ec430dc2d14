import { encodeLease, type Uuid } from '@duly/domain'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { newTask } from '../testing/test-node.js'
import { openCronBench } from './testing/cron-bench.js'
import { definition } from './testing/cron-node.js'

const hour = 3_600_000

const { advance, clear, one, openOf, outcomesOf, pass, store } = await openCronBench({
  at: new Date('2026-05-04T12:30:00Z'),
})
beforeEach(clear)
afterAll(() => expectSound(store))

describe('an earlier task that is unfinished', () => {
  test('lets the next firing be skipped, which is recorded, and none once it has ended', async () => {
    const { id } = await one.cron.create(definition({ overlap: 'skip' }))
    await pass(hour)
    await pass(hour)
    expect(await openOf(id)).toMatchObject([{ status: 'PENDING' }])
    expect(await outcomesOf(id)).toEqual(['fired', 'skipped_overlap'])
    const [first] = await openOf(id)
    await store.tasks.cancel(first?.id ?? '', null, { kind: 'api' })
    await pass(hour)
    expect(await outcomesOf(id)).toEqual(['fired', 'skipped_overlap', 'fired'])
    expect(await one.cron.get(id, null)).toMatchObject({ fired: 2, skipped: 1, lastTaskId: (await openOf(id))[0]?.id })
  })

  test('is cancelled at once when it waits', async () => {
    const { id } = await one.cron.create(definition({ overlap: 'cancel_running' }))
    await pass(hour)
    const [old] = await openOf(id)
    await pass(hour)
    const [next, ...more] = await openOf(id)
    expect([next?.status, more]).toEqual(['PENDING', []])
    expect(await store.tasks.get(old?.id ?? '', null)).toMatchObject({ status: 'CANCELLED', reason: 'overlap' })
  })

  test('is told to stop when it runs, and the new one is BLOCKED until it has', async () => {
    const plain = definition({ overlap: 'cancel_running' })
    const { id } = await one.cron.create({ ...plain, template: { ...plain.template, queue: 'overlap' } })
    await pass(hour)
    const worker = await store.worker({ queues: ['overlap'] })
    const [running] = await store.claim(worker, 1, { queue: 'overlap' })
    if (!running) throw new Error('nothing was claimed')
    expect(running).toMatchObject({ cronId: id, scheduledAtMs: expect.any(Number) })
    await pass(hour)
    const statuses = async () => (await openOf(id)).map(({ status, marked }) => [status, marked]).sort()
    expect(await statuses()).toEqual([
      ['BLOCKED', false],
      ['RUNNING', true],
    ])
    // once more: the one that waits gives way to the newest
    await pass(hour)
    expect(await statuses()).toEqual([
      ['BLOCKED', false],
      ['RUNNING', true],
    ])
    await one.duty.runOnce()
    expect(one.unblocked).toEqual([])
    expect(one.duty.ended(['00000000-0000-7000-8000-000000000000'])).toBe(false)
    await store.reports.report(worker, [{ id: running.id, lease: encodeLease(running), outcome: 'cancelled' }])
    expect(await store.tasks.get(running.id, null)).toMatchObject({ status: 'CANCELLED' })
    expect(one.duty.ended([running.id])).toBe(true)
    await one.duty.runOnce()
    expect(await statuses()).toEqual([['PENDING', false]])
    expect(one.unblocked).toMatchObject([{ queue: 'overlap' }])
  })
})

describe('more earlier tasks than one transaction cancels', () => {
  const backlog = 2_300

  /** A definition that has that many unfinished tasks, of which so many run. */
  async function crowded(running: number) {
    const queue = `crowd-${running}`
    const { id } = await one.cron.create(definition({ overlap: 'cancel_running' }))
    const tasks = await store.intake.submitBatch(Array.from({ length: backlog }, () => newTask({ queue })))
    const ids = tasks.map((task) => task.id)
    for (const table of ['tasks', 'open_tasks'])
      await store.query(`update ${table} set cron_id = $1 where id = any ($2)`, [id, ids])
    await store.query(
      `insert into cron_firings (cron_id, fire_time, tenant, fired_at, outcome, task_id)
       select $1, now() - n * interval '1 ms', 'acme', now(), 'triggered', i from unnest($2::uuid[]) with ordinality as t (i, n)`,
      [id, ids],
    )
    const worker = await store.worker({ queues: [queue], slots: 5_000 })
    const claimed = running === 0 ? [] : await store.claim(worker, running, { queue })
    return { id, ids, worker, claimed }
  }

  /** Of those that were no trigger's. */
  const firedOf = async (id: Uuid) => (await outcomesOf(id)).filter((outcome) => outcome !== 'triggered')

  const counted = async (id: Uuid) =>
    (
      await store.query<{ open: number; marked: number; cancelled: number }>(
        `select (select count(*)::integer from open_tasks where cron_id = $1) as open,
          (select count(*)::integer from open_tasks where cron_id = $1 and cancel_requested_at is not null) as marked,
          (select count(*)::integer from outcomes u join tasks t using (id) where t.cron_id = $1 and u.reason = 'overlap') as cancelled`,
        [id],
      )
    )[0]

  test('are cancelled part by part, and the definition fires when the last one is gone', async () => {
    const { id } = await crowded(0)
    const other = await one.cron.create(definition())
    await advance(hour)
    await one.firer.fire()
    expect(await counted(id)).toEqual({ open: backlog - 1_000, marked: 0, cancelled: 1_000 })
    expect(await firedOf(id)).toEqual([])
    // what else is due is not held up
    expect(await outcomesOf(other.id)).toEqual(['fired'])
    one.fired.length = 0
    await one.drain()
    expect(one.fired.map(({ cancelled }) => cancelled.length)).toEqual([1_000, 300, 0])
    expect(await counted(id)).toEqual({ open: 1, marked: 0, cancelled: backlog })
    expect(await openOf(id)).toMatchObject([{ status: 'PENDING' }])
    expect(await firedOf(id)).toEqual(['fired'])
    expect(await one.cron.get(id, null)).toMatchObject({ fired: 1, skipped: 0 })
  })

  test('are told to stop part by part where they run, and the new one waits for all of them', async () => {
    const { id, claimed, worker } = await crowded(1_500)
    expect(claimed).toHaveLength(1_500)
    one.fired.length = 0
    await pass(hour)
    for (const { cancelled, stopping } of one.fired)
      expect(cancelled.length + stopping.filter(({ isNew }) => isNew).length).toBeLessThanOrEqual(1_000)
    expect(await counted(id)).toEqual({ open: 1_501, marked: 1_500, cancelled: backlog - 1_500 })
    expect((await openOf(id)).filter(({ status }) => status === 'BLOCKED')).toHaveLength(1)
    const told = one.fired.flatMap(({ stopping }) => stopping.flatMap((task) => (task.isNew ? task.id : [])))
    expect(new Set(told)).toEqual(new Set(claimed.map((task) => task.id)))
    const reports = claimed.map((task) => ({ id: task.id, lease: encodeLease(task), outcome: 'cancelled' as const }))
    await store.reports.report(worker, reports.slice(1))
    await one.duty.runOnce()
    expect((await openOf(id)).map(({ status }) => status).sort()).toEqual(['BLOCKED', 'RUNNING'])
    await store.reports.report(worker, reports.slice(0, 1))
    await one.duty.runOnce()
    expect((await openOf(id)).map(({ status }) => status)).toEqual(['PENDING'])
  })
})

test('whoever did not hear of an end looks for it, a part of what waits at a time', async () => {
  const plain = definition({ overlap: 'cancel_running' })
  const made = []
  for (let n = 0; n < 3; n++) {
    const { name } = definition()
    made.push(await one.cron.create({ ...plain, name, template: { ...plain.template, queue: 'parts' } }))
  }
  await pass(hour)
  const worker = await store.worker({ queues: ['parts'] })
  const running = await store.claim(worker, 3, { queue: 'parts' })
  await pass(hour)
  const blocked = (await Promise.all(made.map(({ id }) => openOf(id))))
    .flat()
    .filter(({ status }) => status === 'BLOCKED')
  const [first, second, third] = blocked.map(({ id }) => id).sort()
  const cronOf = async (id = '') => (await store.tasks.get(id, null)).cronId
  const ends = async (id: string | undefined) => {
    const cronId = await cronOf(id)
    const task = running.find((each) => each.cronId === cronId)
    if (task) await store.reports.report(worker, [{ id: task.id, lease: encodeLease(task), outcome: 'cancelled' }])
  }
  const { firings } = store.stores
  const start = '00000000-0000-0000-0000-000000000000'
  expect(await firings.unblockNext(start, 2)).toEqual({ tasks: [], next: second })
  await ends(first)
  await ends(third)
  expect(await firings.unblockNext(start, 2)).toMatchObject({ tasks: [{ id: first, queue: 'parts' }], next: second })
  expect(await firings.unblockNext(second ?? '', 2)).toMatchObject({ tasks: [{ id: third }], next: null })
  // a node that goes on from the end begins anew
  await ends(second)
  await one.duty.runOnce()
  expect(one.unblocked.map(({ id }) => id)).toContain(second)
})
