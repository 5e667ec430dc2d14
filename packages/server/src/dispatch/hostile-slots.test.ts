import { decodeId } from '@duly/domain'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../queue/testing/store-bench.js'
import {
  enough,
  type HttpNode,
  openStore,
  type RawWorker,
  startHttpNode,
  until,
  type WireGrant,
} from './testing/http-node.js'

let sql: Sql
let nodes: readonly [HttpNode, HttpNode]
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  nodes = [await startHttpNode(store.url), await startHttpNode(store.url)]
})

/** What the store says that the session holds. */
const held = async (worker: RawWorker): Promise<number> =>
  (await sql('select from open_tasks where session = $1', [decodeId('worker', worker.id)])).length

let queues = 0

/** A worker of so many slots, and a queue with more than it can take. */
async function setUp(slots: number, tasks = 60): Promise<{ worker: RawWorker; queue: string }> {
  const queue = `hostile${queues++}`
  const [{ api }] = nodes
  if (tasks > 0) await api.submitBatch(Array.from({ length: tasks }, () => ({ queue })))
  return { worker: await api.worker({ queues: [queue], slots }), queue }
}

const first = (grants: readonly WireGrant[]): WireGrant => grants[0] as WireGrant

describe('a worker that polls again without reporting', () => {
  it.each([
    ['acknowledging', undefined],
    ['acknowledging nothing', 0],
  ])('holds no more than its slots, %s', async (_, received) => {
    const { worker } = await setUp(4)
    const leases = new Set<string>()
    for (let round = 0; round < 10; round++) {
      const options = { wait: round % 2 === 0 ? 0 : 0.05, ...(received === undefined ? {} : { received }) }
      for (const { lease } of await worker.poll(4, options)) leases.add(lease)
    }
    expect(leases.size).toBe(4)
    expect(await held(worker)).toBe(4)
  })

  it('holds no more over two nodes, whichever it polls and whichever hears its reports', async () => {
    const [one, two] = nodes
    const { worker } = await setUp(4)
    const grants = await worker.poll(4)
    worker.moveTo(two.api)
    expect(await worker.poll(4)).toEqual([])
    worker.moveTo(one.api)
    await worker.report(grants)
    // the second node takes the session over; the first one believes that the session is its own, and holds nothing
    worker.moveTo(two.api)
    expect(await worker.poll(4)).toHaveLength(4)
    worker.moveTo(one.api)
    expect(await worker.poll(4)).toEqual([])
    expect(await held(worker)).toBe(4)
  })

  it('and has polls open at two nodes holds no more', async () => {
    const [one, two] = nodes
    const { worker, queue } = await setUp(4, 0)
    const polls = [worker.poll(4, { wait: 2 })]
    await enough()
    worker.moveTo(two.api)
    polls.push(worker.poll(4, { wait: 2 }))
    await enough()
    await Promise.all(Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? one : two).api.submit({ queue })))
    // what the one poll was given and nobody acknowledged may come with the other one as well
    const leases = new Set((await Promise.all(polls)).flat().map(({ lease }) => lease))
    expect(leases.size).toBeLessThanOrEqual(4)
    expect(await held(worker)).toBeLessThanOrEqual(4)
    for (const { api } of [one, two]) {
      worker.moveTo(api)
      await until('all that it has room for', async () => {
        await worker.poll(4)
        expect(await held(worker)).toBeLessThanOrEqual(4)
        return (await held(worker)) === 4
      })
    }
  })

  it('whose reports name other tasks holds no more', async () => {
    const { worker } = await setUp(2)
    const grants = await worker.poll(2)
    const [one, two] = grants as [WireGrant, WireGrant]
    const crossed = [
      { task_id: one.task_id, lease: two.lease },
      { task_id: two.task_id, lease: one.lease },
    ]
    expect(await worker.report(crossed)).toMatchObject([{ accepted: false }, { accepted: false }])
    expect(await worker.poll(2)).toEqual([])
    expect(await held(worker)).toBe(2)
    expect(await worker.report(grants)).toMatchObject([{ accepted: true }, { accepted: true }])
    expect(await worker.poll(2)).toHaveLength(2)
  })

  const step = fc.record({
    node: fc.constantFrom(0, 1),
    kind: fc.constantFrom('poll', 'wait', 'go', 'report'),
    slots: fc.integer({ min: 0, max: 8 }),
  })

  it('does not, whatever it asks for at whichever node, and gets all that it has room for', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(step, { minLength: 6, maxLength: 24 }),
        async (slots, steps) => {
          const { worker } = await setUp(slots, 200)
          const holding: WireGrant[] = []
          for (const { node, kind, slots: asked } of steps) {
            worker.moveTo((nodes[node] as HttpNode).api)
            if (kind === 'report') {
              await worker.report(holding.splice(0, asked))
            } else {
              const gone = new AbortController()
              if (kind === 'go') setTimeout(() => gone.abort(), 2)
              const poll = worker.poll(asked, { wait: kind === 'poll' ? 0 : 0.03, signal: gone.signal })
              const known = new Set(holding.map(({ lease }) => lease))
              holding.push(...(await poll.catch(() => [])).filter(({ lease }) => !known.has(lease)))
            }
            expect(await held(worker)).toBeLessThanOrEqual(slots)
          }
          // a node that does not know what another one ended asks the store first, so the first poll may bring less
          await until('all that it has room for', async () => {
            await worker.poll(slots, { wait: 0.05 })
            expect(await held(worker)).toBeLessThanOrEqual(slots)
            return (await held(worker)) === slots
          })
          await worker.leave()
        },
      ),
      { numRuns: 12, endOnFailure: true },
    )
  })
})

describe('a poll that asks for more than there is room for', () => {
  it('gets the rest as soon as the worker has reported', async () => {
    const { worker } = await setUp(3)
    const grants = await worker.poll(3)
    const poll = worker.poll(2, { wait: 30 })
    await enough()
    const reporting = worker.report([first(grants)])
    expect(await poll).toHaveLength(1)
    expect(await reporting).toMatchObject([{ accepted: true }])
    expect(await held(worker)).toBe(3)
  })

  it('gets what another node took a report for', async () => {
    const [, two] = nodes
    const { worker } = await setUp(1)
    const grants = await worker.poll(1)
    worker.moveTo(two.api)
    const reporting = worker.report(grants)
    worker.moveTo(nodes[0].api)
    const [next] = await worker.poll(1, { wait: 30 })
    expect(await reporting).toMatchObject([{ accepted: true }])
    expect(next?.lease).not.toBe(first(grants).lease)
  })

  it('leaves what it has no room for to others, at once', async () => {
    const { worker, queue } = await setUp(2, 6)
    await worker.poll(2)
    const poll = worker.poll(2, { wait: 1 })
    const other = await nodes[1].api.worker({ queues: [queue], slots: 4 })
    let got = 0
    await until('the rest', async () => {
      got += (await other.poll(4 - got)).length
      return got === 4
    })
    expect(await poll).toEqual([])
  })
})
