import { afterEach, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { newTask, openTestStore } from '../testing/test-node.js'

const store = await openTestStore()
afterEach(() => expectSound(store.node))

const big = (queue: string) => Array.from({ length: 10_000 }, (_, n) => newTask({ queue, payload: String(n) }))
const countIn = async (queue: string) => (await store.node.query('select from tasks where queue = $1', [queue])).length

test('10,000 items are answered, stored and claimed in the order given', async () => {
  const { node } = store
  const answers = await node.intake.submitBatch(big('large'))
  const ids = answers.map(({ id }) => id)
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(10_000)
  const rows = await node.query<{ payload: string; xmin: string }>(
    `select payload, xmin::text from tasks where queue = 'large' order by id`,
  )
  expect(rows.map(({ payload }) => Number(payload))).toEqual(ids.map((_, n) => n))
  expect(new Set(rows.map(({ xmin }) => xmin)).size).toBe(1)
  const worker = await node.worker({ queues: ['large'] })
  const taken = await node.claim(worker, 500, { queue: 'large' })
  expect([...taken].sort((a, b) => (a.token < b.token ? -1 : 1)).map(({ id }) => id)).toEqual(ids.slice(0, 500))
})

test('one bad item at the end of 10,000 leaves nothing of the others', async () => {
  const batch = [...big('spoilt').slice(0, -1), newTask({ queue: 'spoilt', payload: '"\u0000"' })]
  await expect(store.node.intake.submitBatch(batch)).rejects.toMatchObject({ code: 'invalid_request' })
  expect(await countIn('spoilt')).toBe(0)
})

test('an empty batch is answered without a look at the store', async () => {
  expect(await store.node.intake.submitBatch([])).toEqual([])
})
