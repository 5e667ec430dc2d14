import { afterEach, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { newTask, openTestStore } from '../testing/test-node.js'

const store = await openTestStore()
afterEach(() => expectSound(store.node))

const isStored = async (id: string): Promise<boolean> =>
  (await store.node.query('select from tasks join open_tasks using (id) where id = $1', [id])).length === 1

test('64 concurrent submissions share some commits, and each answer comes after its row', async () => {
  const { node } = store
  const queue = 'shared'
  await node.intake.submit(newTask({ queue, payload: 'null' }))
  const answers = await Promise.all(
    Array.from({ length: 64 }, async (_, n) => {
      const answer = await node.intake.submit(newTask({ queue, payload: String(n) }))
      return { n, answer, isStored: await isStored(answer.id) }
    }),
  )
  expect(answers.every((each) => each.isStored)).toBe(true)
  const rows = await node.query<{ id: string; payload: string; xmin: string }>(
    `select id, payload, xmin::text from tasks where queue = $1 and payload <> 'null'`,
    [queue],
  )
  expect(new Set(rows.map(({ xmin }) => xmin)).size).toBeLessThanOrEqual(3)
  // each got its own task's id, not a neighbour's
  expect(new Map(rows.map(({ id, payload }) => [id, payload]))).toEqual(
    new Map(answers.map(({ n, answer }) => [answer.id, String(n)])),
  )
})

test('64 first submissions to a queue that is new are all accepted', async () => {
  for (let round = 0; round < 5; round++) {
    const queue = `new-${round}`
    const all = Array.from({ length: 64 }, () => store.node.intake.submit(newTask({ queue, taskType: queue })))
    expect(await Promise.all(all)).toHaveLength(64)
  }
})

test('nothing is answered while the commit is under way', async () => {
  const { node } = store
  await node.intake.submit(newTask({ queue: 'held' }))
  const blocker = await node.admin.connect()
  await blocker.query('begin; lock table open_tasks in share mode')
  let answered = 0
  const submissions = Array.from({ length: 5 }, async () => {
    const { id } = await node.intake.submit(newTask({ queue: 'held' }))
    answered += 1
    return id
  })
  const waiting = `select from pg_locks where relation = 'open_tasks'::regclass and not granted`
  while ((await node.query(waiting)).length === 0);
  expect(answered).toBe(0)
  await blocker.query('commit')
  blocker.release()
  const ids = await Promise.all(submissions)
  expect(await Promise.all(ids.map(isStored))).toEqual([true, true, true, true, true])
})

test('counters follow tenants and priorities, each writer in slots of its own', async () => {
  const { node } = store
  const lanes = [1, 2, 3].flatMap((priority) => ['acme', 'other'].map((tenant) => ({ priority, tenant })))
  const tasks = Array.from({ length: 120 }, (_, n) => ({ ...lanes[n % lanes.length], queue: 'counted' }) as object)
  await Promise.all(tasks.map((lane) => node.intake.submit(newTask(lane))))
  await node.intake.submitBatch(tasks.map((lane) => newTask(lane)))
  const depths = await node.stores.queue.depths('counted')
  expect(depths.map(({ depth }) => depth)).toEqual([40, 40, 40, 40, 40, 40])
  const slots = await node.query<{ slot: number }>(`select distinct slot from counters where queue = 'counted'`)
  for (const { slot } of slots) expect([0, 1, 2, 3]).toContain(slot)
})

test('draining waits for what was asked for', async () => {
  const { node } = store
  const submitted = node.intake.submit(newTask({ queue: 'counted' }))
  await Promise.resolve()
  await node.intake.drained()
  expect(await isStored((await submitted).id)).toBe(true)
})
