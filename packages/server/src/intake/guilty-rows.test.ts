import { afterEach, expect, test } from 'vitest'
import type { NewTask } from '../model.js'
import { expectSound } from '../testing/facts.js'
import { keyed, newTask, openTestStore } from '../testing/test-node.js'

const store = await openTestStore()
afterEach(() => expectSound(store.node))

/** Values that never pass the edge; should one, it must not take its neighbours with it. */
const guilty: Record<string, Partial<NewTask>> = {
  'a NUL in the payload': { payload: '"\u0000"' },
  'a NUL in a tag': { tags: ['good', 'bad\u0000'] },
  'an instant beyond the calendar': { delayMs: 1e16 },
  'a value that a CHECK refuses': { timeoutMs: 0 },
  'a number that the wire format cannot carry': { maxRetries: 2 ** 40 },
}

for (const [what, over] of Object.entries(guilty)) {
  test(`${what} fails alone among 64`, async () => {
    const { node } = store
    const queue = what.replaceAll(' ', '-')
    const at = 37
    const ended = await Promise.allSettled(
      Array.from({ length: 64 }, (_, n) => {
        const task = { queue, ...(n === at ? over : {}) }
        return node.intake.submit(n % 3 === 0 ? keyed(`${what} ${n}`, 'a', task) : newTask(task))
      }),
    )
    const failed = ended.flatMap((each, n) => (each.status === 'rejected' ? [[n, each.reason.code]] : []))
    expect(failed).toEqual([[at, 'invalid_request']])
    const stored = await node.query<{ id: string }>('select id from tasks where queue = $1', [queue])
    const answered = ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value.id] : []))
    expect(stored.map(({ id }) => id).sort()).toEqual(answered.sort())
  })

  test(`${what} refuses the whole batch that holds it`, async () => {
    const { node } = store
    const queue = `batch-${what.replaceAll(' ', '-')}`
    const batch = [newTask({ queue }), keyed(`batch ${what}`, 'a', { queue }), newTask({ queue, ...over })]
    await expect(node.intake.submitBatch(batch)).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await node.query('select from tasks where queue = $1', [queue])).toEqual([])
    expect(await node.query('select from idempotency_keys where key = $1', [`batch ${what}`])).toEqual([])
  })
}

test('when the store fails between the halves of a split group, each row is answered as it stands', async () => {
  const { node } = store
  await node.intake.submitBatch([newTask({ queue: 'split' }), newTask({ queue: 'split', taskType: 'too_much' })])
  // the second half meets a full disk, after the first half has been committed
  await node.query(`create function fill_up() returns trigger language plpgsql as $$
    begin raise exception 'disk full' using errcode = '53100'; end $$`)
  await node.query(`create trigger fill_up before insert on open_tasks for each row
    when (new.task_type = 'too_much') execute function fill_up()`)
  const ended = await Promise.allSettled(
    [{}, { payload: '"\u0000"' }, {}, { taskType: 'too_much' }].map((over) =>
      node.intake.submit(newTask({ queue: 'split', concurrencyKey: 'this', ...over })),
    ),
  )
  const outcome = ended.map((each) => (each.status === 'fulfilled' ? each.value.id : each.reason.code))
  const stored = await node.query<{ id: string }>(`select id from tasks where concurrency_key = 'this'`)
  const accepted = ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value.id] : []))
  expect(stored.map(({ id }) => id).sort()).toEqual(accepted.sort())
  expect(outcome).toEqual([expect.any(String), 'invalid_request', expect.any(String), 'store_unavailable'])
})
