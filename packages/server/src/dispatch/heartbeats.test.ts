import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../queue/testing/store-bench.js'
import { enough, type HttpNode, openStore, startHttpNode, timed, until, type WireGrant } from './testing/http-node.js'
import { untilItTells } from './testing/known-states.js'

let sql: Sql
let one: HttpNode
let two: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  one = await startHttpNode(store.url, { graceSeconds: 30 })
  two = await startHttpNode(store.url, { graceSeconds: 30 })
  for (const node of [one, two]) await untilItTells(store.url, node)
})

let queues = 0
const newQueue = (): string => `q${queues++}`

async function running(queue: string) {
  const worker = await one.api.worker({ queues: [queue], slots: 10 })
  const { task_id } = await one.api.submit({ queue })
  const [grant] = await worker.poll(1, { wait: 30 })
  expect(grant?.task_id).toBe(task_id)
  return { worker, id: task_id, grant: grant as WireGrant }
}

describe('a heartbeat', () => {
  it('is held open while there is nothing to say', async () => {
    const { worker, grant } = await running(newQueue())
    const { value, ms } = await timed(() => worker.beat({ leases: [grant.lease], wait: 0.6 }))
    expect(value).toEqual({ cancel: [], lost: [], drain: false })
    expect(ms).toBeGreaterThan(580)
  })

  it.each([
    ['the same node', () => one],
    ['another node', () => two],
  ])('tells at once of a cancellation at %s', async (_, nodeOf) => {
    const { worker, id, grant } = await running(newQueue())
    const beat = timed(() => worker.beat({ leases: [grant.lease], wait: 60 }))
    await enough(200)
    const cancelling = await timed(() => nodeOf().api.call('POST', `/tasks/${id}/cancel`))
    expect(cancelling.value).toMatchObject({ status: 202, body: { cancel_requested: true } })
    const { value, ms } = await beat
    expect(value.cancel).toEqual([{ lease: grant.lease, reason: 'cancel_requested' }])
    console.info(`cancellation told after ${(ms - 200 - cancelling.ms).toFixed(0)} ms`)
    // of the 60 s for which the beat may be held
    expect(ms - 200 - cancelling.ms).toBeLessThan(50_000)
    expect(await worker.report([grant], { outcome: 'cancelled' })).toMatchObject([
      { accepted: true, status: 'CANCELLED' },
    ])
  })

  it('is told of a cancellation that it missed, and then held again while that stays pending', async () => {
    const { worker, id, grant } = await running(newQueue())
    await one.api.call('POST', `/tasks/${id}/cancel`)
    const first = await timed(() => worker.beat({ leases: [grant.lease], wait: 60 }))
    expect(first.value.cancel).toHaveLength(1)
    expect(first.ms).toBeLessThan(50_000)
    // no hot loop, and still in every answer, should the first have been lost
    const second = await timed(() => worker.beat({ leases: [grant.lease], wait: 0.5 }))
    expect(second.value.cancel).toHaveLength(1)
    expect(second.ms).toBeGreaterThan(480)
  })

  it('tells of leases that the worker holds no more', async () => {
    const { worker, id, grant } = await running(newQueue())
    await sql("update open_tasks set wake_at = now() - interval '1 second', deadline_at = now() where id = $1", [
      decodeId('task', id),
    ])
    await until('the end of the attempt', async () => (await one.api.get(id)).status === 'RETRYING')
    const { value, ms } = await timed(() => worker.beat({ leases: [grant.lease, '7-00000000000000ff'], wait: 60 }))
    expect(value.lost).toEqual([grant.lease, '7-00000000000000ff'])
    expect(ms).toBeLessThan(50_000)
    expect(await worker.report([grant])).toMatchObject([{ accepted: false, code: 'lease_lost' }])
  })

  it('tells a worker to drain once, and is then held', async () => {
    const { worker, grant } = await running(newQueue())
    await sql('update worker_sessions set draining = true where id = $1', [decodeId('worker', worker.id)])
    expect(await worker.beat({ leases: [grant.lease], wait: 60 })).toMatchObject({ drain: true })
    const { value, ms } = await timed(() => worker.beat({ leases: [grant.lease], wait: 0.5 }))
    expect(value.drain).toBe(true)
    expect(ms).toBeGreaterThan(480)
  })

  it('keeps a session alive over either node, however long it is held', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue], heartbeatSeconds: 1.5 })
    for (let n = 0; n < 5; n++) {
      worker.moveTo(n % 2 === 0 ? two.api : one.api)
      await worker.beat({ wait: 1.5 })
    }
    const { task_id } = await one.api.submit({ queue })
    expect(await worker.poll(1, { wait: 30 })).toMatchObject([{ task_id }])
  })

  it('keeps progress and checkpoints of leases that are held, and of no others', async () => {
    const { worker, id, grant } = await running(newQueue())
    const beat = {
      received: 1,
      leases: [grant.lease],
      progress: [
        { lease: grant.lease, percent: 40, note: 'half way' },
        { lease: '1-00000000000000ff', percent: 99 },
      ],
      checkpoints: [{ lease: grant.lease, value: { page: 7 } }],
    }
    const answer = await one.api.call('POST', `/workers/${worker.id}/heartbeat`, beat)
    expect(answer.status).toBe(200)
    expect(await one.api.get(id)).toMatchObject({ progress: { percent: 40, note: 'half way' } })
    await worker.report([grant], { outcome: 'released' })
    const [again] = await worker.poll(1, { wait: 30 })
    expect(again).toMatchObject({ task_id: id, attempt: 2, checkpoint: { page: 7 } })
  })
})

describe('a worker out of its mind', () => {
  it('that acknowledges grants that nobody gave harms no other', async () => {
    const queue = newQueue()
    const [mad, sane] = [await one.api.worker({ queues: [queue] }), await one.api.worker({ queues: [queue] })]
    const { task_id } = await one.api.submit({ queue })
    const tasks = await sane.poll(1, { wait: 30 })
    expect(tasks).toMatchObject([{ task_id }])
    await mad.tryPoll(0, { received: Number.MAX_SAFE_INTEGER })
    // together they share one write
    const [strange, beat] = await Promise.all([
      mad.tryBeat({ received: Number.MAX_SAFE_INTEGER }),
      sane.tryBeat({ leases: tasks.map((task) => task.lease) }),
    ])
    expect(strange.status).toBeLessThan(500)
    expect(beat).toMatchObject({ status: 200, body: { lost: [] } })
    await until('the acknowledgement of the other', async () => {
      const rows = await sql<{ received: number }>('select received from session_grants where session = $1', [
        decodeId('worker', sane.id),
      ])
      return rows[0]?.received === 1
    })
  })
})

describe('figures of a heartbeat', () => {
  it.each([{ rss_bytes: 1.5 }, { rss_bytes: 1e30 }, { lag_ms: 1e300 }])(
    'that no machine has (%o) harm no other worker',
    async (figures) => {
      const [mad, sane] = [await one.api.worker(), await one.api.worker()]
      const path = `/workers/${mad.id}/heartbeat`
      const [strange, beat] = await Promise.all([one.api.call('POST', path, figures), sane.tryBeat()])
      expect(strange.status).toBeLessThan(500)
      expect(beat.status).toBe(200)
    },
  )
})

describe('a registration', () => {
  it('with a heartbeat of odd length is taken', async () => {
    const worker = await one.api.worker({ heartbeatSeconds: 0.50049 })
    expect((await worker.tryBeat()).status).toBe(200)
  })
})

describe('a worker that leaves', () => {
  it('gives back what it holds, and it costs no attempt of the limits', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue], slots: 20 })
    const ids = (await one.api.submitBatch(Array.from({ length: 20 }, () => ({ queue })))).map((task) => task.task_id)
    const held: string[] = []
    while (held.length < 20) held.push(...(await worker.poll(20, { wait: 30 })).map((task) => task.task_id))
    expect(await worker.leave()).toBe(204)
    for (const id of ids) {
      expect(await one.api.get(id)).toMatchObject({ status: 'PENDING', failures: 0 })
    }
    expect(await worker.tryPoll(1)).toMatchObject({ status: 409, body: { code: 'session_lost' } })
    const next = await two.api.worker({ queues: [queue], slots: 20 })
    const again: WireGrant[] = []
    while (again.length < 20) again.push(...(await next.poll(20, { wait: 30 })))
    expect(again.every((task) => task.attempt === 2 && !task.suspect && task.failures === 0)).toBe(true)
  })

  it('in the middle of hand-offs leaves no task a suspect', async () => {
    const queue = newQueue()
    const ids: string[] = []
    for (let round = 0; round < 8; round++) {
      const worker = await one.api.worker({ queues: [queue], slots: 50 })
      const poll = worker.poll(50, { wait: 30 }).catch(() => [])
      await enough(60)
      const submitting = Promise.all(Array.from({ length: 10 }, () => one.api.submit({ queue })))
      const leaving = worker.leave()
      ids.push(...(await submitting).map((task) => task.task_id))
      expect(await leaving).toBe(204)
      await poll
    }
    const last = await one.api.worker({ queues: [queue], slots: 100 })
    const seen = new Map<string, WireGrant>()
    await until('every task', async () => {
      for (const task of await last.poll(100, { wait: 0.5 })) seen.set(task.task_id, task)
      return seen.size === ids.length
    })
    expect([...seen.values()].filter((task) => task.suspect)).toEqual([])
  })
})
