import { decodeLease, encodeLease } from '@duly/domain'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { attemptsOf, expectSound, openRow, statusOf, wholeStateOf } from '../testing/facts.js'
import {
  claimLife,
  type Life,
  mark,
  passDeadline,
  passDue,
  reportOf,
  say,
  silence,
  startLife,
  watch,
  words,
} from '../testing/lives.js'
import { newTask, openTestNode, openTestStore, quietBeat, type TestNode } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store
/** Lets no task lose a second worker. */
let strict: TestNode
beforeAll(async () => {
  strict = await openTestNode(store.url, { number: 1, maxCrashes: 1 })
})
afterEach(() => expectSound(node))
afterAll(async () => {
  await strict.close()
})

const verbs = Object.keys(words) as (keyof typeof words)[]
const lost = { accepted: false, code: 'lease_lost' }

/** The life with another lease text. */
function withLease(
  life: Life,
  change: (lease: { attempt: number; token: bigint }) => { attempt: number; token: bigint },
): Life {
  const lease = decodeLease(life.lease)
  return { ...life, lease: lease === null ? '' : encodeLease(change(lease)) }
}

const forgeries: Record<string, (life: Life) => Promise<Life>> = {
  'of another session': async (life) => ({ ...life, worker: await node.worker() }),
  'of another attempt': async (life) => withLease(life, ({ attempt, token }) => ({ attempt: attempt + 1, token })),
  'with another token': async (life) => withLease(life, ({ attempt, token }) => ({ attempt, token: token ^ 1n })),
  'of another task': async (life) => ({ ...life, lease: (await startLife(node)).lease }),
  'that is no lease': async (life) => ({ ...life, lease: 'none' }),
}

describe.each(Object.keys(forgeries))('a lease %s', (what) => {
  test.each(verbs)('ends nothing by %s', async (verb) => {
    const life = await startLife(node)
    if (verb === 'stop') await mark(node, life.id)
    const forged = (await forgeries[what]?.(life)) ?? life
    const before = await wholeStateOf(node, life.id)
    expect(await say(node, forged, words[verb])).toEqual({ id: life.id, ...lost })
    expect(await wholeStateOf(node, life.id)).toEqual(before)
  })

  test.each(['succeed', 'retry', 'release'] as const)(
    'is refused also in one batch with the true one (%s)',
    async (verb) => {
      const life = await startLife(node)
      const forged = (await forgeries[what]?.(life)) ?? life
      const both = [forged, life, forged].map((each) => say(node, each, words[verb]))
      expect(await Promise.all(both)).toMatchObject([lost, { accepted: true }, lost])
      // and when the true one is repeated, and the forged one with it
      expect(await Promise.all([say(node, life, words[verb]), say(node, forged, words[verb])])).toMatchObject([
        { accepted: true },
        lost,
      ])
    },
  )
})

describe('a report whose answer was lost, repeated', () => {
  test.each(verbs)('%s is answered alike, and counts once', async (verb) => {
    const life = await startLife(node)
    if (verb === 'stop') await mark(node, life.id)
    const first = await say(node, life, words[verb])
    expect(first).toMatchObject({ accepted: true })
    const after = await wholeStateOf(node, life.id)
    expect(await Promise.all([1, 2, 3].map(() => say(node, life, words[verb])))).toEqual([first, first, first])
    expect(await wholeStateOf(node, life.id)).toEqual(after)
  })

  test.each(verbs)('%s five times in one batch counts once', async (verb) => {
    const life = await startLife(node)
    if (verb === 'stop') await mark(node, life.id)
    const five = await node.reports.report(life.worker, Array(5).fill(reportOf(life, words[verb])))
    expect(five).toEqual(Array(5).fill({ id: life.id, accepted: true, status: await statusOf(node, life.id) }))
    expect(await attemptsOf(node, life.id)).toHaveLength(1)
  })

  test('is not mistaken for another report of that attempt, which is refused', async () => {
    for (const verb of verbs) {
      const life = await startLife(node)
      if (verb === 'stop') await mark(node, life.id)
      const first = await say(node, life, words[verb])
      const before = await wholeStateOf(node, life.id)
      // the store does not keep whether a failure was permanent, nor that a worker gave up by itself
      const alike = verb === 'fail' || verb === 'retry' ? ['fail', 'retry', 'stop'] : [verb]
      for (const other of verbs) {
        const isAlike = alike.includes(other)
        expect(await say(node, life, words[other])).toEqual(isAlike ? first : { id: life.id, ...lost })
      }
      expect(await wholeStateOf(node, life.id)).toEqual(before)
    }
  })

  test('of an attempt that a mark turned into a cancellation is answered so', async () => {
    const life = await startLife(node)
    await mark(node, life.id)
    const cancelled = { id: life.id, accepted: true, status: 'CANCELLED' }
    expect(await say(node, life, words.retry)).toEqual(cancelled)
    expect(await say(node, life, words.retry)).toEqual(cancelled)
  })

  test('is accepted also when the task has moved on, and does not disturb it', async () => {
    const life = await startLife(node)
    await say(node, life, words.retry)
    await passDue(node, life.id)
    await node.stores.timers.promote([{ id: life.id, handoff: null, epoch: 1 }])
    const second = await claimLife(node, life)
    const before = await wholeStateOf(node, life.id)
    expect(await say(node, life, words.retry)).toMatchObject({ accepted: true })
    expect(await wholeStateOf(node, life.id)).toEqual(before)
    await say(node, second, words.succeed)
    expect(await say(node, life, words.retry)).toMatchObject({ accepted: true, status: 'SUCCEEDED' })
  })

  test('is accepted after a replay, too', async () => {
    const life = await startLife(node)
    await say(node, life, words.fail)
    await node.tasks.replay(life.id, null, { kind: 'api' })
    expect(await say(node, life, words.fail)).toMatchObject({ accepted: true })
    expect(await openRow(node, life.id)).toMatchObject({ status: 'PENDING', run: 2 })
  })
})

describe('a report that comes too late', () => {
  const ends: Record<string, (life: Life) => Promise<unknown>> = {
    lost: async ({ worker }) => {
      await silence(node, worker)
      await watch(node)
    },
    'timed out': async ({ id }) => {
      await passDeadline(node, id)
      await watch(node)
    },
    'timed out for the last time': async ({ id }) => {
      await node.query('update tasks set max_retries = 0 where id = $1', [id])
      await passDeadline(node, id)
      await watch(node)
    },
    stopped: async ({ id }) => {
      await mark(node, id)
      await passDeadline(node, id)
      await watch(node)
    },
    'lost for the last time': async ({ worker }) => {
      await silence(node, worker)
      await watch(strict)
    },
  }
  test.each(Object.keys(ends))('after the attempt was %s, is refused whatever it says', async (what) => {
    const life = await startLife(node)
    await ends[what]?.(life)
    const before = await wholeStateOf(node, life.id)
    for (const verb of verbs) expect(await say(node, life, words[verb])).toEqual({ id: life.id, ...lost })
    expect(await wholeStateOf(node, life.id)).toEqual(before)
  })

  test('is refused also in one batch with the report of the attempt that stands', async () => {
    for (let round = 0; round < 6; round++) {
      const zombie = await startLife(node)
      await silence(node, zombie.worker)
      await watch(node)
      const heir = await claimLife(node, { ...zombie, gate: '!suspect' })
      const verb = (['succeed', 'retry', 'fail'] as const)[round % 3] ?? 'succeed'
      const order = round < 3 ? [zombie, heir] : [heir, zombie]
      const answers = await Promise.all(order.map((life) => say(node, life, words[verb])))
      expect(answers[order.indexOf(zombie)]).toMatchObject(lost)
      expect(answers[order.indexOf(heir)]).toMatchObject({ accepted: true })
    }
  })
})

describe('a session that is dead', () => {
  test('is told so at every call, once the store was asked', async () => {
    const life = await startLife(node)
    await silence(node, life.worker)
    await watch(node)
    node.sessions.doubt(life.worker)
    const poll = { slots: 1, waitMs: 0, received: 0 }
    const { signal } = new AbortController()
    const session = life.worker.row.id
    for (const call of [
      () => node.workers.report({ id: session, tenant: null }, [reportOf(life, words.succeed)]),
      () => node.workers.poll({ id: session, tenant: null }, poll, signal),
      () => node.workers.exchange({ id: session, tenant: null }, [], poll, signal),
      () => node.workers.heartbeat({ id: session, tenant: null }, quietBeat, signal),
      () => node.workers.leave({ id: session, tenant: null }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'session_lost' })
    }
    expect(await openRow(node, life.id)).toMatchObject({ status: 'PENDING', crashes: 1 })
  })

  test('is never revived by a beat, nor told that it lives', async () => {
    const worker = await node.worker()
    await silence(node, worker)
    await watch(node)
    expect(await node.stores.sessions.beat([{ session: worker.row.id, lagMs: null, rssBytes: null }])).toEqual([])
    expect(await node.stores.sessions.load(worker.row.id)).toBeNull()
  })

  test('gets no task by a claim', async () => {
    const { queue, id } = await node.intake
      .submit(newTask({ queue: 'nobody' }))
      .then(({ id }) => ({ id, queue: 'nobody' }))
    const worker = await node.worker({ queues: [queue] })
    await silence(node, worker)
    expect(await node.claim(worker, 1, { queue })).toEqual([])
    expect(await openRow(node, id)).toMatchObject({ status: 'PENDING', attempt: 0 })
  })
})

test('leaving gives back what is held, marked tasks end', async () => {
  const life = await startLife(node)
  const worker = life.worker
  const { id: second } = await node.intake.submit(newTask({ queue: life.queue }))
  await node.claim(worker, 1, { queue: life.queue })
  await mark(node, second)
  await node.workers.leave({ id: worker.row.id, tenant: null })
  expect(await openRow(node, life.id)).toMatchObject({ status: 'PENDING', releases: 1, crashes: 0, gate: '' })
  expect(await statusOf(node, second)).toBe('CANCELLED')
  expect(await say(node, life, words.release)).toMatchObject({ accepted: true, status: 'PENDING' })
  expect(await say(node, life, words.succeed)).toMatchObject(lost)
})
