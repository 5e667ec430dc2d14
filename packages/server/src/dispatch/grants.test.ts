import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../queue/testing/store-bench.js'
import { enough, type HttpNode, openStore, type RawWorker, startHttpNode, timed, until } from './testing/http-node.js'
import { untilItWaits } from './testing/known-states.js'

let sql: Sql
let one: HttpNode
let two: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  one = await startHttpNode(store.url)
  two = await startHttpNode(store.url)
})

/** Tests share the nodes, so each has a queue of its own. */
let queues = 0
const newQueue = (): string => `q${queues++}`

const standing = async (
  id: string,
): Promise<{ status: string; session: string; grant: number; undelivered: number } | undefined> => {
  const rows = await sql<{ status: string; session: string; grant: number; undelivered: number }>(
    'select status, session, grant_no as "grant", undelivered from open_tasks where id = $1',
    [decodeId('task', id)],
  )
  return rows[0]
}

/** Lets the server grant tasks to the worker in an answer that never arrives. */
async function loseAnswer(worker: RawWorker, submit: () => Promise<string>): Promise<string> {
  const gone = new AbortController()
  const lost = worker.poll(1, { wait: 30, signal: gone.signal }).catch(() => [])
  await enough()
  const id = await submit()
  await until('the grant', async () => (await standing(id))?.status === 'RUNNING')
  gone.abort()
  await lost
  worker.received = 0
  return id
}

describe('a grant that was not acknowledged', () => {
  it('is repeated with the same lease and a fresh deadline until it is', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue] })
    const { task_id } = await one.api.submit({ queue, timeout_seconds: 60 })
    const [first] = await worker.poll(1, { wait: 30 })
    expect(first).toMatchObject({ task_id, grant: 1, attempt: 1 })
    await enough(20)
    const [again] = await worker.poll(1, { wait: 30, received: 0 })
    expect(again).toMatchObject({ task_id, grant: 1, attempt: 1, lease: first?.lease })
    expect(Date.parse(again?.deadline_at ?? '')).toBeGreaterThan(Date.parse(first?.deadline_at ?? ''))
    // acknowledged now: nothing comes, and nothing is waited for less
    const { value, ms } = await timed(() => worker.poll(1, { wait: 0.3 }))
    expect(value).toEqual([])
    expect(ms).toBeGreaterThan(280)
    expect(await worker.report([again as NonNullable<typeof again>])).toMatchObject([{ accepted: true }])
  })

  it('comes back after its answer was lost, when the client went away', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue] })
    const id = await loseAnswer(worker, async () => (await one.api.submit({ queue })).task_id)
    const [task] = await worker.poll(1, { wait: 30 })
    expect(task).toMatchObject({ task_id: id, attempt: 1 })
  })

  it('is not forgotten when a claim lands while it is looked for', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue] })
    const ids: string[] = []
    const seen = new Set<string>()
    // polls abandoned at random instants while tasks are handed off: each must arrive at last
    for (let round = 0; round < 40; round++) {
      const gone = new AbortController()
      const poll = worker.poll(4, { wait: 30, signal: gone.signal }).catch(() => [])
      const submitted = Promise.all([one.api.submit({ queue }), one.api.submit({ queue })])
      setTimeout(() => gone.abort(), Math.random() * 12)
      ids.push(...(await submitted).map((task) => task.task_id))
      for (const { task_id } of await poll) seen.add(task_id)
    }
    await until('all of them', async () => {
      for (const { task_id } of await worker.poll(100, { wait: 0.2 })) seen.add(task_id)
      return ids.every((id) => seen.has(id))
    })
  })

  it('is heard of without the worker asking again: acknowledging alone suffices', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue] })
    await one.api.submit({ queue })
    const [task] = await worker.poll(1, { wait: 30 })
    expect(task?.grant).toBe(1)
    const { value, ms } = await timed(() => worker.poll(0, { wait: 60 }))
    expect(value).toEqual([])
    // it has no slot to wait for
    expect(ms).toBeLessThan(45_000)
    await until('the acknowledgement in the store', async () => {
      const [row] = await sql<{ received: number }>('select received from session_grants where session = $1', [
        decodeId('worker', worker.id),
      ])
      return row?.received === 1
    })
  })
})

describe('polls', () => {
  it('one at a time: a newer one lets the older one return empty, and gets the tasks', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue] })
    const older = timed(() => worker.poll(3, { wait: 60 }))
    await untilItWaits(worker)
    const newer = worker.poll(3, { wait: 30 })
    expect((await older).value).toEqual([])
    expect((await older).ms).toBeLessThan(45_000)
    const { task_id } = await one.api.submit({ queue })
    expect(await newer).toMatchObject([{ task_id }])
  })

  it('that were answered at once leave nothing behind that ends a later one', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue] })
    await one.api.submit({ queue })
    await worker.poll(1, { wait: 30 })
    // answered at once by the repeated grant, although it would have waited for 0.5 s
    expect(await worker.poll(1, { wait: 0.5, received: 0 })).toHaveLength(1)
    const { value, ms } = await timed(() => worker.poll(1, { wait: 1.5 }))
    expect(value).toEqual([])
    expect(ms).toBeGreaterThan(1_400)
  })

  it('that do not wait get what is there, also on a node that has just heard of the worker', async () => {
    const queue = newQueue()
    const { task_id } = await one.api.submit({ queue })
    const worker = await two.api.worker({ queues: [queue] })
    expect(await worker.poll(5)).toMatchObject([{ task_id }])
    const other = await one.api.submit({ queue })
    let found: readonly { task_id: string }[] = []
    await until('word from the other node', async () => {
      found = await worker.poll(5)
      return found.length > 0
    })
    expect(found).toMatchObject([{ task_id: other.task_id }])
  })

  it('of a dead or unknown session are told so', async () => {
    const worker = await one.api.worker()
    await sql("update worker_sessions set ended_at = now(), end_reason = 'lost' where id = $1", [
      decodeId('worker', worker.id),
    ])
    worker.moveTo(two.api)
    for (const answer of [await worker.tryPoll(1, { wait: 30 }), await worker.tryBeat({ wait: 30 })]) {
      expect(answer).toMatchObject({ status: 409, body: { code: 'session_lost' } })
    }
    // the node that opened it finds out by its next beat
    worker.moveTo(one.api)
    expect(await worker.tryBeat()).toMatchObject({ status: 409, body: { code: 'session_lost' } })
    expect(await worker.tryPoll(1)).toMatchObject({ status: 409, body: { code: 'session_lost' } })
    const stranger = 'worker-00000000000000000000000000'
    for (const call of ['poll', 'heartbeat', 'exchange', 'report']) {
      const body = call === 'poll' || call === 'exchange' ? { slots: 1 } : call === 'report' ? { reports: [] } : {}
      expect(await one.api.call('POST', `/workers/${stranger}/${call}`, body)).toMatchObject({
        status: 409,
        body: { code: 'session_lost' },
      })
    }
  })

  it('of a session that died are answered, and its slots hold up nobody', async () => {
    const queue = newQueue()
    const dead = await one.api.worker({ queues: [queue], heartbeatSeconds: 0.5 })
    const waiting = timed(() => dead.tryPoll(100, { wait: 60 }))
    const live = await one.api.worker({ queues: [queue] })
    await until('its death', async () => {
      await live.beat()
      const [row] = await sql<{ ended: boolean }>(
        'select ended_at is not null as ended from worker_sessions where id = $1',
        [decodeId('worker', dead.id)],
      )
      return row?.ended === true
    })
    // it is found dead as soon as its node asks the store, and at the end of its wait at the latest
    expect((await waiting).ms).toBeLessThan(60_000)
    await one.api.submitBatch(Array.from({ length: 300 }, () => ({ queue })))
    for (let got = 0; got < 300; ) {
      const tasks = await live.poll(10, { wait: 30 })
      // none was given to the dead one first
      expect(tasks.filter(({ attempt }) => attempt !== 1)).toEqual([])
      got += tasks.length
      await live.report(tasks)
    }
  })
})

/** A beat over the second node, whatever node the worker polls. */
async function fetchBeat(worker: RawWorker): Promise<void> {
  await two.api.call('POST', `/workers/${worker.id}/heartbeat`, { received: 1 })
}

describe('a session that moves between nodes', () => {
  it('gets what the other node granted it, by the poll that it has open', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue], heartbeatSeconds: 1 })
    await one.api.submit({ queue })
    expect(await worker.poll(1, { wait: 30 })).toMatchObject([{ grant: 1 }])
    worker.moveTo(two.api)
    await worker.beat()
    const id = await loseAnswer(worker, async () => (await two.api.submit({ queue })).task_id)
    worker.received = 1
    worker.moveTo(one.api)
    const beating = setInterval(() => void fetchBeat(worker), 500)
    // found while the poll is held, by the look at sessions of which this node was told nothing for half a lease
    expect(await worker.poll(1, { wait: 30 })).toMatchObject([{ task_id: id, grant: 2, attempt: 1 }])
    clearInterval(beating)
  })

  it('in the middle of a poll loses nothing', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue] })
    const ids = new Set<string>()
    const seen = new Map<string, string>()
    const submitting = (async () => {
      for (let n = 0; n < 60; n++) {
        ids.add((await (n % 2 === 0 ? one : two).api.submit({ queue })).task_id)
      }
    })()
    const nodes = [one, two]
    for (let turn = 0; ids.size < 60 || [...ids].some((id) => !seen.has(id)); turn++) {
      if (turn > 300) break
      worker.moveTo((nodes[turn % 2] as HttpNode).api)
      const gone = new AbortController()
      setTimeout(() => gone.abort(), 30 + Math.random() * 60)
      const tasks = await worker.poll(50, { wait: 30, signal: gone.signal }).catch(() => [])
      for (const { task_id, lease } of tasks) {
        expect(seen.get(task_id) ?? lease).toBe(lease)
        seen.set(task_id, lease)
      }
    }
    await submitting
    expect([...ids].filter((id) => !seen.has(id))).toEqual([])
  })
})
