import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Random, randomOf } from '../../../../tests/chaos/load/random.js'
import type { TaskRecord } from '../model.js'
import { expectSound, trailOf } from '../testing/facts.js'
import { claimLife, type Life, mark, passDeadline, say, silence, startLife, watch, words } from '../testing/lives.js'
import { newTask, openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store
let other: TestNode
let random: Random
beforeAll(async () => {
  other = await openTestNode(store.url, { number: 1 })
})
beforeEach(({ task }) => {
  random = randomOf(task.name)
})
afterAll(async () => {
  await other.close()
})

const api = { kind: 'api' } as const
/** Rounds under way at once: enough to keep both cores busy, and to let the rounds themselves meet. */
const atOnce = 20
const rounds = 200

/** Runs the round that often, many at once, then asks for the invariants. */
async function race(round: (n: number) => Promise<unknown>): Promise<void> {
  for (let first = 0; first < rounds; first += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_, n) => round(first + n)))
  }
  await expectSound(node)
}

/** Does all of it at once, in a drawn order and some of it a drawn number of turns later. */
async function meet<T>(...deeds: readonly (() => Promise<T>)[]): Promise<PromiseSettledResult<T>[]> {
  const order = deeds.map((deed, place) => ({ deed, place, lag: random.integer(0, 3), draw: random.next() }))
  order.sort((a, b) => a.draw - b.draw)
  const results: PromiseSettledResult<T>[] = []
  await Promise.all(
    order.map(async ({ deed, place, lag }) => {
      for (let turn = 0; turn < lag; turn++) await new Promise((resolve) => setImmediate(resolve))
      ;[results[place]] = (await Promise.allSettled([deed()])) as [PromiseSettledResult<T>]
    }),
  )
  return results
}

const fulfilled = <T>(result: PromiseSettledResult<T> | undefined): T | undefined =>
  result?.status === 'fulfilled' ? result.value : undefined
const anyNode = (): TestNode => (random.next() < 0.5 ? node : other)

describe('races', () => {
  test('cancel and claim: cancelled and never started, or started and marked', () =>
    race(async (n) => {
      const queue = `claim-${n}`
      const { id } = await node.intake.submit(newTask({ queue }))
      const worker = await node.worker({ queues: [queue] })
      const [cancelled, claimed] = await meet<unknown>(
        () => anyNode().tasks.cancel(id, null, api),
        () => node.claim(worker, 1, { queue }),
      )
      const taken = (fulfilled(claimed) as readonly unknown[]).length
      expect(fulfilled(cancelled)).toMatchObject(
        taken ? { status: 'RUNNING', cancelRequested: true } : { status: 'CANCELLED' },
      )
      const record = await node.tasks.get(id, null)
      expect(record).toMatchObject(taken ? { status: 'RUNNING', attempts: 1 } : { status: 'CANCELLED', attempts: 0 })
    }))

  test('cancel and a report: the report stands, or the mark came first and only an end of its own stands', () =>
    race(async () => {
      const life = await startLife(node)
      const verb = random.pick(['succeed', 'fail', 'retry', 'snooze', 'release'] as const)
      const [cancelled, reported] = await meet<unknown>(
        () => anyNode().tasks.cancel(life.id, null, api),
        () => say(node, life, words[verb]),
      )
      const { status } = await node.tasks.get(life.id, null)
      expect(fulfilled(reported)).toMatchObject({ accepted: true })
      if (verb === 'succeed') expect(status).toBe('SUCCEEDED')
      else if (verb === 'fail') expect(status).toBe('FAILED')
      else expect(status).toBe('CANCELLED')
      // refused only because it had ended already
      if (cancelled?.status === 'rejected') {
        expect(cancelled.reason).toMatchObject({ code: 'wrong_state' })
        expect(['SUCCEEDED', 'FAILED']).toContain(status)
      }
    }))

  test('cancel, loss and time-out of one attempt: it ends once, and stays cancelled', () =>
    race(async () => {
      const life = await startLife(node)
      await silence(node, life.worker)
      await passDeadline(node, life.id)
      await meet<unknown>(
        () => anyNode().tasks.cancel(life.id, null, api),
        () => watch(node),
        () => watch(other),
        () => say(node, life, words.retry),
      )
      const record = await node.tasks.get(life.id, null)
      expect(record.status).toBe('CANCELLED')
      expect(record.attempts).toBe(1)
      const ends = (await trailOf(node, life.id)).filter((step) => !step.startsWith('request_cancel'))
      // an end of the attempt, and, if the task went on, the cancellation of what waited
      expect(ends.length).toBeLessThanOrEqual(2)
      expect(ends.filter((step) => step.includes('>CANCELLED'))).toHaveLength(1)
    }))

  test('replay and replay: one run each, the other is refused', () =>
    race(async () => {
      const { id } = await node.intake.submit(newTask({ queue: 'replays', delayMs: 60_000 }))
      await node.tasks.cancel(id, null, api)
      const results = await meet<TaskRecord>(
        () => node.tasks.replay(id, null, api),
        () => other.tasks.replay(id, null, api),
        () => other.tasks.replay(id, null, api),
      )
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []))
      expect(refused).toEqual(['wrong_state', 'wrong_state'])
      expect(await node.query('select from runs where task_id = $1', [id])).toHaveLength(1)
    }))

  test('replay and cancel: in some order, both or one of them', () =>
    race(async () => {
      const { id } = await node.intake.submit(newTask({ queue: 'both', delayMs: 60_000 }))
      await node.tasks.cancel(id, null, api)
      const [replayed, cancelled] = await meet<unknown>(
        () => node.tasks.replay(id, null, api),
        () => other.tasks.cancel(id, null, api),
      )
      expect(replayed?.status).toBe('fulfilled')
      expect(fulfilled(cancelled)).toMatchObject({ status: 'CANCELLED' })
      const steps = (await trailOf(node, id)).map((step) => step.split(' ')[0])
      const { status } = await node.tasks.get(id, null)
      expect(steps).toEqual(status === 'PENDING' ? ['cancel', 'replay'] : ['cancel', 'replay', 'cancel'])
    }))

  test('two claims of one task, and its worker that gives it back: one holder at a time', () =>
    race(async (n) => {
      const queue = `claims-${n}`
      const { id } = await node.intake.submit(newTask({ queue }))
      const workers = await Promise.all([node, other].map((each) => each.worker({ queues: [queue] })))
      const results = await meet(
        ...workers.map((worker, place) => () => (place ? other : node).claim(worker, 1, { queue })),
      )
      const taken = results.flatMap((result) => fulfilled(result) ?? [])
      expect(taken).toHaveLength(1)
      const holder = workers.find((worker) => worker.row.id === taken[0]?.session)
      expect(holder).toBeDefined()
      const lease = `1-${taken[0]?.token.toString(16).padStart(16, '0')}`
      const life: Life = { id, queue, worker: holder as Life['worker'], lease }
      const [first, second] = await meet<unknown>(
        () => say(node, life, words.release),
        () => say(other, life, words.succeed),
      )
      const accepted = [fulfilled(first), fulfilled(second)].filter(
        (answer) => (answer as { accepted: boolean }).accepted,
      )
      expect(accepted).toHaveLength(1)
    }))
})

test('a mark that meets the next attempt marks that one', async () => {
  const life = await startLife(node)
  await say(node, life, words.release)
  const heir = await claimLife(node, life)
  await mark(node, heir.id)
  expect(await say(node, life, words.release)).toMatchObject({ accepted: true, status: 'RUNNING' })
  expect(await say(node, heir, words.snooze)).toMatchObject({ accepted: true, status: 'CANCELLED' })
})
