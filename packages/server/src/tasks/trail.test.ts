import type { Uuid } from '@duly/domain'
import { afterAll, describe, expect, test } from 'vitest'
import { randomToken } from '../base/random.js'
import { expectChained, expectSound, openRow, wholeTrailOf } from '../testing/facts.js'
import { claimLife, type Life, mark, passDue, say, silence, startLife, watch, words } from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'

const { node } = await openTestStore()
afterAll(() => expectSound(node))

const api = { kind: 'api', name: 'tester' } as const
const submit = 'submit >PENDING @- api'
const promoteRetry = 'promote RETRYING>PENDING @- timer'
const claim = (attempt: number) => `claim PENDING>RUNNING @${attempt} dispatcher`
const retry = (attempt: number) => `retry RUNNING>RETRYING @${attempt} worker`
const succeed = (attempt: number) => `succeed RUNNING>SUCCEEDED @${attempt} worker`

async function trail(id: Uuid): Promise<string[]> {
  await expectChained(node, id)
  return wholeTrailOf(node, id)
}

async function promote(id: Uuid): Promise<void> {
  await passDue(node, id)
  await node.stores.timers.promote([{ id, handoff: null, epoch: 1 }])
}

/** The task fails, its retry comes due, and another worker has it. */
async function retryOnce(life: Life): Promise<Life> {
  await say(node, life, words.retry)
  await promote(life.id)
  return claimLife(node, life)
}

async function lose(life: Life): Promise<void> {
  await silence(node, life.worker)
  await watch(node)
}

describe('the trail of a task that', () => {
  test('simply ran is told by its timestamps', async () => {
    const life = await startLife(node)
    expect(await trail(life.id)).toEqual([submit, claim(1)])
    await say(node, life, words.succeed)
    expect(await trail(life.id)).toEqual([submit, claim(1), succeed(1)])
    const record = await node.tasks.get(life.id, null)
    const events = await node.tasks.events(life.id, null)
    expect(events.map(({ at }) => at)).toEqual([record.createdAtMs, record.startedAtMs, record.completedAtMs])
    expect(events[2]?.actor).toMatch(/^worker-[0-9a-z]{26}$/)
  })

  test('was retried twice names each attempt and each promotion once', async () => {
    const last = await retryOnce(await retryOnce(await startLife(node)))
    await say(node, last, words.succeed)
    expect(await trail(last.id)).toEqual([
      ...[submit, claim(1), retry(1), promoteRetry],
      ...[claim(2), retry(2), promoteRetry, claim(3), succeed(3)],
    ])
  })

  test('waits for its time is promoted at its due time, handed off or not', async () => {
    const queue = 'due'
    /** Two that are due in a moment; on a machine that is short of time they are due as they come, unless it is a longer one. */
    const submit = async (inMs: number) => {
      const dueAtMs = Math.ceil(node.storeClock.nowMs()) + inMs
      const tasks = [newTask({ queue, scheduledAtMs: dueAtMs }), newTask({ queue, scheduledAtMs: dueAtMs })]
      return { dueAtMs, inMs, made: await node.intake.submitBatch(tasks) }
    }
    let submitted = await submit(60)
    while (submitted.made.some(({ status }) => status !== 'SCHEDULED')) submitted = await submit(submitted.inMs * 4)
    const {
      dueAtMs,
      made: [plain, handed],
    } = submitted
    if (!plain || !handed) throw new Error('two were submitted')
    expect(await trail(plain.id)).toEqual(['submit >SCHEDULED @- api'])
    const session = (await node.worker({ queues: [queue] })).row.id
    await expect
      .poll(async () => {
        await node.stores.timers.promote([
          { id: plain.id, handoff: null, epoch: 1 },
          { id: handed.id, handoff: { session, token: randomToken(), queue }, epoch: 1 },
        ])
        return (await openRow(node, handed.id))?.status
      })
      .toBe('RUNNING')
    const begun = ['submit >SCHEDULED @- api', 'promote SCHEDULED>PENDING @- timer']
    expect(await trail(plain.id)).toEqual(begun)
    expect(await trail(handed.id)).toEqual([...begun, claim(1)])
    for (const { id } of [plain, handed]) expect((await node.tasks.events(id, null))[1]?.at).toBe(dueAtMs)
  })

  test('snoozed or was released comes back without a failure', async () => {
    const life = await startLife(node)
    await say(node, life, words.snooze)
    await promote(life.id)
    await say(node, await claimLife(node, life), words.release)
    await claimLife(node, life)
    expect(await trail(life.id)).toEqual([
      ...[submit, claim(1), 'snooze RUNNING>SCHEDULED @1 worker', 'promote SCHEDULED>PENDING @- timer'],
      ...[claim(2), 'release RUNNING>PENDING @2 worker', claim(3)],
    ])
  })

  test('was cancelled while it waited tells where it waited', async () => {
    const scheduled = await node.intake.submit(newTask({ delayMs: 60_000 }))
    const pending = await node.intake.submit(newTask({ queue: 'cancelled' }))
    const retrying = await startLife(node)
    await say(node, retrying, words.retry)
    const promoted = await startLife(node)
    await say(node, promoted, words.retry)
    await promote(promoted.id)
    for (const { id } of [scheduled, pending, retrying, promoted]) await node.tasks.cancel(id, null, api)
    expect(await trail(scheduled.id)).toEqual(['submit >SCHEDULED @- api', 'cancel SCHEDULED>CANCELLED @- api'])
    expect(await trail(pending.id)).toEqual([submit, 'cancel PENDING>CANCELLED @- api'])
    const failedOnce = [submit, claim(1), retry(1)]
    expect(await trail(retrying.id)).toEqual([...failedOnce, 'cancel RETRYING>CANCELLED @- api'])
    expect(await trail(promoted.id)).toEqual([...failedOnce, promoteRetry, 'cancel PENDING>CANCELLED @- api'])
  })

  test('was cancelled while it ran tells the mark, and how it ended', async () => {
    const marked = [submit, claim(1), 'request_cancel RUNNING>RUNNING @1 api']
    const [obeyed, won] = [await startLife(node), await startLife(node)]
    for (const { id } of [obeyed, won]) await mark(node, id)
    expect(await trail(obeyed.id)).toEqual(marked)
    await say(node, obeyed, words.stop)
    await say(node, won, words.succeed)
    expect(await trail(obeyed.id)).toEqual([...marked, 'stop RUNNING>CANCELLED @1 worker'])
    expect(await trail(won.id)).toEqual([...marked, succeed(1)])
  })

  test('expired never started', async () => {
    const { id } = await node.intake.submit(newTask({ queue: 'expired', expiresAtMs: 1 }))
    await node.stores.timers.expire([{ id, epoch: 1 }])
    expect(await trail(id)).toEqual([submit, 'expire PENDING>CANCELLED @- timer'])
  })

  test('was lost, first before its worker knew of it, tells each grant', async () => {
    const unseen = await startLife(node)
    await node.query('update session_grants set received = 0 where session = $1', [unseen.worker.row.id])
    await lose(unseen)
    expect((await node.tasks.events(unseen.id, null)).at(-1)?.reason).toBe('undelivered')
    const second = await claimLife(node, { ...unseen, gate: '!suspect' })
    await lose(second)
    await say(node, await claimLife(node, { ...unseen, gate: '!suspect' }), words.succeed)
    expect(await trail(unseen.id)).toEqual([
      ...[submit, claim(1), 'lose RUNNING>PENDING @1 watchdog'],
      ...[claim(2), 'lose RUNNING>PENDING @2 watchdog', claim(3), succeed(3)],
    ])
  })

  test('died, was replayed, and succeeded tells both runs', async () => {
    const second = await retryOnce(await startLife(node, { maxRetries: 1 }))
    await say(node, second, words.retry)
    await node.tasks.replay(second.id, null, api)
    const died = [submit, claim(1), retry(1), promoteRetry, claim(2), 'exhaust RUNNING>DEAD @2 worker']
    const replayed = [...died, 'replay DEAD>PENDING @- api']
    expect(await trail(second.id)).toEqual(replayed)
    const third = await claimLife(node, second)
    expect(await trail(second.id)).toEqual([...replayed, claim(3)])
    await say(node, third, words.succeed)
    expect(await trail(second.id)).toEqual([...replayed, claim(3), succeed(3)])
  })

  test('was cancelled before it started, and replayed twice, begins each run anew', async () => {
    const queue = 'replayed'
    const { id } = await node.intake.submit(newTask({ queue, delayMs: 60_000 }))
    await node.tasks.cancel(id, null, api)
    await node.tasks.replay(id, null, api)
    await say(node, await claimLife(node, { id, queue }), words.fail)
    await node.tasks.replay(id, null, api)
    expect(await trail(id)).toEqual([
      ...['submit >SCHEDULED @- api', 'cancel SCHEDULED>CANCELLED @- api', 'replay CANCELLED>PENDING @- api'],
      ...[claim(1), 'fail RUNNING>FAILED @1 worker', 'replay FAILED>PENDING @- api'],
    ])
  })
})

test('a mark that waited for the claim stands after it, though its time is the earlier one', async () => {
  const life = await startLife(node)
  await mark(node, life.id)
  await node.query(`update task_events set at = at - interval '1 min' where task_id = $1`, [life.id])
  expect(await wholeTrailOf(node, life.id)).toEqual([submit, claim(1), 'request_cancel RUNNING>RUNNING @1 api'])
  await say(node, life, words.release)
})
