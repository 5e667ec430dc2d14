import { encodeId, type TaskStatus } from '@duly/domain'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { randomOf } from '../../../../tests/chaos/load/random.js'
import { expectSound } from '../testing/facts.js'
import { keyed, newTask, openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store
let other: TestNode
beforeAll(async () => {
  other = await openTestNode(store.url, { number: 1 })
})
afterEach(() => expectSound(node))
afterAll(async () => {
  await other.close()
})

const tasksUnder = (key: string) => node.query<{ id: string }>('select id from tasks where idempotency_key = $1', [key])
const settle = <T>(promises: readonly Promise<T>[]) => Promise.allSettled(promises)

describe('a repeated submission is answered with the first task', () => {
  /** Brings the task that stands in the lane of `queue` into the status. */
  const bring: Record<string, (queue: string) => Promise<unknown>> = {
    PENDING: async () => {},
    RUNNING: async (queue) => node.claim(await node.worker(), 1, { queue }),
    SUCCEEDED: (queue) => end(queue, { outcome: 'succeeded', result: '1' }),
    FAILED: (queue) => end(queue, { ...failure, retryable: false }),
    RETRYING: (queue) => end(queue, failure),
    DEAD: async (queue) => {
      await node.query(`update tasks set max_retries = 0 where queue = $1`, [queue])
      await end(queue, failure)
    },
    CANCELLED: async (queue) => {
      const [row] = await node.query<{ id: string }>('select id from tasks where queue = $1', [queue])
      await node.tasks.cancel(row?.id ?? '', null, { kind: 'api' })
    },
  }
  const error = { class: 'E', message: 'm', stack: null }
  const failure = { outcome: 'failed', error, retryable: true, retryAfterMs: null, timedOut: false } as const
  async function end(queue: string, report: object): Promise<void> {
    const worker = await node.worker()
    const [task] = await node.claim(worker, 1, { queue })
    const lease = `${task?.attempt}-${task?.token.toString(16).padStart(16, '0')}`
    await node.reports.report(worker, [{ id: task?.id ?? '', lease, ...(report as { outcome: 'cancelled' }) }])
  }

  for (const status of Object.keys(bring) as TaskStatus[]) {
    test(`when it is ${status}`, async () => {
      const task = keyed(`state ${status}`, 'a', { queue: `q-${status}` })
      const first = await node.intake.submit(task)
      await bring[status]?.(task.queue)
      const again = await other.intake.submit(task)
      expect(again).toEqual({ ...first, status, replayed: true })
      const [inBatch] = await node.intake.submitBatch([task])
      expect(inBatch).toEqual(again)
      await expect(node.intake.submit({ ...task, requestHash: Buffer.alloc(32, 'b') })).rejects.toMatchObject({
        code: 'idempotency_conflict',
        message: expect.stringContaining(encodeId('task', first.id)),
      })
      expect(await tasksUnder(`state ${status}`)).toHaveLength(1)
    })
  }
})

test('100 submissions of one key at the same instant on two nodes make one task', async () => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => (n % 2 ? node : other).intake.submit(keyed('at once'))),
  )
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
  expect(await tasksUnder('at once')).toHaveLength(1)
})

test('two requests that race for a key: one wins whole, the other is told of it', async () => {
  for (let round = 0; round < 10; round++) {
    const key = `contest ${round}`
    const all = Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? node : other).intake.submit(keyed(key, n % 4 < 2 ? 'a' : 'b')),
    )
    const ended = await settle(all)
    const [winner] = await tasksUnder(key)
    expect(await tasksUnder(key)).toHaveLength(1)
    const accepted = ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value.id] : []))
    const refused = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
    expect(accepted).toEqual(Array(10).fill(winner?.id))
    expect(refused).toEqual(Array(10).fill('idempotency_conflict'))
  }
})

test('many keys in many orders on two nodes lock nobody out', async () => {
  const random = randomOf('key orders')
  const keys = Array.from({ length: 60 }, (_, n) => `order ${n}`)
  const shuffled = () => [...keys].sort(() => random.next() - 0.5).map((key) => keyed(key))
  const batches = Array.from({ length: 8 }, (_, n) => (n % 2 ? node : other).intake.submitBatch(shuffled()))
  const singles = [node, other].flatMap((each) => shuffled().map((task) => each.intake.submit(task)))
  const answers = [...(await Promise.all(batches)).flat(), ...(await Promise.all(singles))]
  expect(new Set(answers.map(({ id }) => id)).size).toBe(60)
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(60)
})

describe('one key twice', () => {
  test('in one batch with the same request makes one task, made by its first item', async () => {
    // far more than the 7 items up to which PostgreSQL's sort happens to be stable
    const items = [newTask(), ...Array.from({ length: 50 }, () => keyed('twin')), keyed('alone'), newTask()]
    const answers = await node.intake.submitBatch(items)
    expect(answers.map(({ replayed }) => replayed)).toEqual([false, false, ...Array(49).fill(true), false, false])
    expect(new Set(answers.slice(1, 51).map(({ id }) => id)).size).toBe(1)
    expect(await tasksUnder('twin')).toHaveLength(1)
    expect(answers.map(({ status }) => status)).toEqual(Array(53).fill('PENDING'))
  })

  test('in one batch with different requests is refused by name, and nothing is stored', async () => {
    const items = [
      keyed('odd', 'a'),
      newTask({ queue: 'nothing' }),
      keyed('odd', 'b'),
      keyed('odd', 'a'),
      keyed('odd', 'c'),
    ]
    await expect(node.intake.submitBatch(items)).rejects.toMatchObject({
      code: 'idempotency_conflict',
      errors: [{ path: 'tasks[2].idempotency_key' }, { path: 'tasks[4].idempotency_key' }],
    })
    expect(await tasksUnder('odd')).toEqual([])
    expect(await node.query(`select from tasks where queue = 'nothing'`)).toEqual([])
    // nor is the key burnt
    expect(await node.intake.submit(keyed('odd', 'c'))).toMatchObject({ replayed: false })
  })

  test('of which one is held already: the batch names the holder and stores nothing', async () => {
    const holder = await node.intake.submit(keyed('held', 'a'))
    const batch = [keyed('fresh'), keyed('held', 'a'), keyed('held', 'b')]
    await expect(node.intake.submitBatch(batch)).rejects.toMatchObject({
      errors: [{ path: 'tasks[2].idempotency_key', message: expect.stringContaining(encodeId('task', holder.id)) }],
    })
    expect(await tasksUnder('fresh')).toEqual([])
    expect(await node.intake.submitBatch(batch.slice(0, 2))).toMatchObject([
      { replayed: false },
      { id: holder.id, replayed: true },
    ])
  })

  test('among concurrent single submissions concerns those two alone', async () => {
    const strangers = Array.from({ length: 30 }, () => node.intake.submit(newTask({ queue: 'strangers' })))
    const pair = settle(['a', 'a', 'b'].map((request) => node.intake.submit(keyed('pair', request))))
    expect(await Promise.all(strangers)).toHaveLength(30)
    const [first, second, third] = await pair
    expect(first).toMatchObject({ status: 'fulfilled', value: { replayed: false } })
    expect(second).toMatchObject({ value: { ...(first?.status === 'fulfilled' ? first.value : {}), replayed: true } })
    expect(third).toMatchObject({ reason: { code: 'idempotency_conflict' } })
  })
})

test('keys are per tenant, and texts that look alike when joined are different keys', async () => {
  const pairs = [
    ['a', 'b c'],
    ['a b', 'c'],
    ['a', 'b'],
    ['b', 'a'],
  ] as const
  const answers = await Promise.all(pairs.map(([tenant, key]) => node.intake.submit(keyed(key, 'a', { tenant }))))
  expect(new Set(answers.map(({ id }) => id)).size).toBe(4)
  expect(answers.every(({ replayed }) => !replayed)).toBe(true)
  const inBatch = await node.intake.submitBatch(pairs.map(([tenant, key]) => keyed(key, 'a', { tenant })))
  expect(inBatch.map(({ id }) => id)).toEqual(answers.map(({ id }) => id))
})

test('a submission that failed did not use up its key', async () => {
  const refused = keyed('again', 'a', { payload: '"\u0000"' })
  await expect(node.intake.submit(refused)).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(node.intake.submitBatch([refused, newTask()])).rejects.toMatchObject({ code: 'invalid_request' })
  expect(await node.query(`select from idempotency_keys where key = 'again'`)).toEqual([])
  expect(await node.intake.submit(keyed('again', 'b'))).toMatchObject({ replayed: false })
})
