import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../queue/testing/store-bench.js'
import { countBySession, spread } from './slots.js'
import { enough, type HttpNode, openStore, startHttpNode, type WireGrant } from './testing/http-node.js'

const free = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 12 })
const states = (slots: readonly number[]) => slots.map((count, index) => ({ row: { id: `s${index}` }, free: count }))

describe('slots are spread', () => {
  it('so that all are used up to the limit, and none twice', () => {
    fc.assert(
      fc.property(free, fc.integer({ min: 0, max: 300 }), (slots, limit) => {
        const counts = countBySession([{ sessions: spread(states(slots), limit) }])
        const sum = [...counts.values()].reduce((a, b) => a + b, 0)
        expect(sum).toBe(
          Math.min(
            limit,
            slots.reduce((a, b) => a + b, 0),
          ),
        )
        for (const [index, count] of slots.entries()) expect(counts.get(`s${index}`) ?? 0).toBeLessThanOrEqual(count)
      }),
    )
  })

  it('so that no worker has two more than another that has slots left', () => {
    fc.assert(
      fc.property(free, fc.integer({ min: 0, max: 300 }), (slots, limit) => {
        const counts = countBySession([{ sessions: spread(states(slots), limit) }])
        const given = slots.map((_, index) => counts.get(`s${index}`) ?? 0)
        for (const [index, count] of given.entries()) {
          if (count < (slots[index] ?? 0)) expect(Math.max(...given)).toBeLessThanOrEqual(count + 1)
        }
      }),
    )
  })
})

describe('on the real stack', () => {
  let sql: Sql
  let node: HttpNode
  beforeAll(async () => {
    const store = await openStore()
    sql = store.sql
    node = await startHttpNode(store.url)
  })

  /** What the store says that the session holds. */
  const held = async (queue: string): Promise<number> => {
    const [row] = await sql<{ n: number }>(
      "select count(*)::integer as n from open_tasks where queue = $1 and status = 'RUNNING'",
      [queue],
    )
    return row?.n ?? 0
  }

  it.each([0, 0.5])(
    'a poll that asks for more than its session registered gets no more, waiting %d s',
    async (wait) => {
      const queue = `more${wait}`
      for (let count = 0; count < 6; count++) await node.api.submit({ queue })
      const worker = await node.api.worker({ queues: [queue], slots: 2 })
      const tasks = await worker.poll(500, { wait })
      expect(tasks).toHaveLength(2)
      expect(await held(queue)).toBe(2)
    },
  )

  const step = fc.record({
    /** Part of the free slots that the poll asks for. */
    ask: fc.double({ min: 0, max: 1, noNaN: true }),
    submit: fc.integer({ min: 0, max: 12 }),
    delayed: fc.boolean(),
    /** The client goes away in the middle. */
    goes: fc.boolean(),
    /** Part of what it holds that it reports afterwards. */
    report: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  let queues = 0

  it('a worker never holds more than it offered, whatever is submitted, promoted, lost and reported', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { minLength: 4, maxLength: 12 }),
        async (slots, steps) => {
          const queue = `slots${queues++}`
          const worker = await node.api.worker({ queues: [queue], slots })
          const holding = new Map<string, WireGrant>()
          for (const { ask, submit, delayed, goes, report } of steps) {
            const asked = Math.floor(ask * (slots - holding.size))
            const gone = new AbortController()
            const poll = worker.poll(asked, { wait: 0.1, signal: gone.signal }).catch(() => [])
            const submitting = Array.from({ length: submit }, () =>
              node.api.submit(delayed ? { queue, delay_seconds: 0.03 } : { queue }),
            )
            if (goes) setTimeout(() => gone.abort(), 8)
            for (const task of await poll) holding.set(task.lease, task)
            await Promise.all(submitting)
            expect(holding.size).toBeLessThanOrEqual(slots)
            // with what is granted and on its way, too
            expect(await held(queue)).toBeLessThanOrEqual(slots)
            const done = [...holding.values()].slice(0, Math.ceil(report * holding.size))
            for (const result of await worker.report(done)) expect(result.accepted).toBe(true)
            for (const task of done) holding.delete(task.lease)
          }
          await worker.leave()
          await enough(5)
        },
      ),
      { numRuns: 12, endOnFailure: true },
    )
  })
})
