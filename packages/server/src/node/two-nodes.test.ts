import { type Clock, decodeId, systemClock } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import { enough, type HttpNode, openStore, startHttpNode, timed, until } from '../dispatch/testing/http-node.js'
import { untilItTells, untilItWaits } from '../dispatch/testing/known-states.js'
import { expectPace } from '../dispatch/testing/pace.js'
import type { Sql } from '../queue/testing/store-bench.js'

let url: string
let sql: Sql
let one: HttpNode
let two: HttpNode
beforeAll(async () => {
  const store = await openStore()
  url = store.url
  sql = store.sql
  one = await startHttpNode(url, { graceSeconds: 30 })
  two = await startHttpNode(url, { graceSeconds: 30 })
  for (const node of [one, two]) await untilItTells(url, node)
})

let queues = 0
const newQueue = (): string => `two${queues++}`

/** A worker at one node that runs a task, with its beat held there. */
async function runningAt(node: HttpNode, heartbeatSeconds = 30) {
  const queue = newQueue()
  const worker = await node.api.worker({ queues: [queue], heartbeatSeconds })
  const { task_id: id } = await node.api.submit({ queue })
  const [grant] = await worker.poll(1, { wait: 30 })
  if (!grant) throw new Error('nothing was granted')
  const beat = worker.beat({ leases: [grant.lease], wait: 30 }).then((answer) => ({ answer, at: performance.now() }))
  await enough()
  return { worker, id, grant, beat }
}

const cutListeners = () =>
  sql(`select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'duly listener'`)

describe('a cancellation at one node of a task whose worker is at the other', () => {
  it('is told to the worker within 200 ms, by the held beat', async () => {
    await expectPace('cancelled at one, told at the other', { limitMs: 200, count: 10, node: one }, async () => {
      const { worker, id, grant, beat } = await runningAt(two)
      const cancelledAt = performance.now()
      expect(await one.api.call('POST', `/tasks/${id}/cancel`)).toMatchObject({ status: 202 })
      const told = await beat
      // a beat that is not woken is answered after its 30 s, with what there was to tell at its beginning: nothing
      expect(told.answer.cancel).toEqual([{ lease: grant.lease, reason: 'cancel_requested' }])
      await worker.report([grant], { outcome: 'cancelled' })
      return told.at - cancelledAt
    })
  })

  it('is told with the next beat when the word was lost, and as soon as the nodes listen again', async () => {
    const [soon, late] = [await runningAt(two, 5), await runningAt(two)]
    await cutListeners()
    for (const { id } of [soon, late]) await one.api.call('POST', `/tasks/${id}/cancel`)
    const cancelledAt = performance.now()
    for (const { beat, grant, worker } of [soon, late]) {
      const told = await beat
      // the short beat may have been answered empty before
      const answer = told.answer.cancel.length > 0 ? told.answer : await worker.beat({ leases: [grant.lease], wait: 1 })
      expect(answer.cancel).toHaveLength(1)
    }
    // of the 30 s for which the late one may be held
    expect(performance.now() - cancelledAt).toBeLessThan(25_000)
  })
})

describe('what happens at one node is known at the other', () => {
  it('an end there answers who waits here', async () => {
    await expectPace('reported at one, answered at the other', { limitMs: 250, count: 12, node: one }, async (n) => {
      const [here, there] = n % 2 === 0 ? [one, two] : [two, one]
      const queue = newQueue()
      const worker = await there.api.worker({ queues: [queue] })
      const { task_id } = await there.api.submit({ queue })
      const grants = await worker.poll(1, { wait: 30 })
      const waiting = here.api.get(task_id, 30).then((record) => ({ record, at: performance.now() }))
      await enough(50)
      await worker.report(grants)
      const reportedAt = performance.now()
      const { record, at } = await waiting
      // who waits for 30 s in vain is told how the task stands
      expect(record.status).toBe('SUCCEEDED')
      return Math.max(0, at - reportedAt)
    })
  })

  it('a submission here starts at once on a worker that waits there', async () => {
    // the slow look alone would take half a second
    await expectPace('submitted at one, started at the other', { limitMs: 250, count: 20, node: one }, async (n) => {
      const [here, there] = n % 2 === 0 ? [one, two] : [two, one]
      const queue = newQueue()
      const worker = await there.api.worker({ queues: [queue] })
      const polling = worker.poll(1, { wait: 30 }).then((grants) => ({ grants, at: performance.now() }))
      await untilItWaits(worker)
      const sentAt = performance.now()
      const { task_id } = await here.api.submit({ queue })
      const { grants, at } = await polling
      expect(grants).toMatchObject([{ task_id }])
      return at - sentAt
    })
  })

  it('a timer that was set at a node which stops is promoted in time by the other', async () => {
    await expectPace('late, its node having stopped', { limitMs: 500, count: 3, node: one }, async () => {
      const leaving = await startHttpNode(url)
      const queue = newQueue()
      const worker = await two.api.worker({ queues: [queue] })
      const polling = worker.poll(1, { wait: 30 })
      const { task_id } = await leaving.api.submit({ queue, delay_seconds: 0.9 })
      await leaving.stop()
      expect(await polling).toMatchObject([{ task_id }])
      const [row] = await sql<{ ms: number }>(
        `select date_part('epoch', o.started_at - t.scheduled_at) * 1000 as ms
         from open_tasks o join tasks t on t.id = o.id where o.id = $1`,
        [decodeId('task', task_id)],
      )
      return row?.ms ?? Number.NaN
    })
  })
})

describe('both nodes at once', () => {
  it('make one task of a key that is raced, and refuse another request under it', async () => {
    for (let n = 0; n < 15; n += 1) {
      const key = `raced ${n}`
      const body = { task_type: 'work', queue: 'raced', idempotency_key: key }
      const submit = (node: HttpNode, more: object = {}) =>
        node.api.call<{ task_id: string; code?: string }>('POST', '/tasks', { ...body, ...more })
      const answers = await Promise.all([one, two, one, two].map((node) => submit(node)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 202])
      expect(new Set(answers.map((answer) => answer.body.task_id)).size).toBe(1)
      for (const node of [one, two]) {
        expect(await submit(node, { payload: 1 })).toMatchObject({
          status: 409,
          body: { code: 'idempotency_conflict' },
        })
      }
    }
    expect(await sql(`select count(*)::integer as n from tasks where queue = 'raced'`)).toEqual([{ n: 15 }])
  })

  it('count exactly, and agree on new names', async () => {
    const queue = newQueue()
    const nodes = [one, two]
    await Promise.all(nodes.map((node) => node.api.submitBatch(Array.from({ length: 60 }, () => ({ queue })))))
    const depthOf = async (node: HttpNode): Promise<number> => {
      type Row = { name: string; depth: number }
      const { body } = await node.api.call<{ items: readonly Row[] }>('GET', `/queues?limit=200`)
      return body.items.find(({ name }) => name === queue)?.depth ?? Number.NaN
    }
    const work = nodes.map(async (node, index) => {
      const worker = await node.api.worker({ queues: [queue], slots: 7 })
      for (let round = 0; round < 4; round += 1) {
        const grants = await worker.poll(7)
        await worker.report(grants.slice(2))
        worker.moveTo((nodes[(index + 1) % 2] as HttpNode).api)
        await worker.report(grants.slice(0, 2), { outcome: 'released' })
        const { task_id } = await node.api.submit({ queue })
        await worker.tryPoll(0)
        await (nodes[(index + 1) % 2] as HttpNode).api.call('POST', `/tasks/${task_id}/cancel`)
      }
    })
    await Promise.all(work)
    const [row] = await sql<{ n: number }>(
      `select count(*)::integer as n from open_tasks where status = 'PENDING' and queue = $1`,
      [queue],
    )
    expect(row?.n).toBeGreaterThan(0)
    for (const node of nodes) await until('the right depth', async () => (await depthOf(node)) === row?.n)
    expect(await sql('select count(*)::integer as n from queues where name = $1', [queue])).toEqual([{ n: 1 }])
  })

  it('serve one session that goes from one to the other with every call', async () => {
    const queue = newQueue()
    const worker = await one.api.worker({ queues: [queue], slots: 5, heartbeatSeconds: 10 })
    const ids = new Set<string>()
    const submitting = (async () => {
      for (let n = 0; n < 40; n += 1) ids.add((await (n % 2 === 0 ? one : two).api.submit({ queue })).task_id)
    })()
    const started = new Map<string, string>()
    let held: { readonly task_id: string; readonly lease: string }[] = []
    let calls = 0
    const move = (): void => worker.moveTo(calls++ % 2 === 0 ? two.api : one.api)
    const take = (grants: readonly { readonly task_id: string; readonly lease: string }[]): void => {
      for (const grant of grants) {
        if (started.get(grant.task_id) === grant.lease) continue
        expect(started.has(grant.task_id)).toBe(false)
        started.set(grant.task_id, grant.lease)
        held.push(grant)
      }
    }
    const success = { outcome: 'succeeded', result: null }
    await until('all to be done', async () => {
      move()
      take(await worker.poll(Math.max(0, 5 - held.length), { wait: 0.2 }))
      move()
      const beat = await worker.beat({ leases: held.map(({ lease }) => lease) })
      expect(beat.lost).toEqual([])
      move()
      const reports = held.map(({ task_id, lease }) => ({ task_id, lease, ...success }))
      held = []
      const { results, tasks } = await worker.exchange(reports, 5)
      expect(results.filter(({ accepted }) => !accepted)).toEqual([])
      take(tasks)
      return ids.size === 40 && started.size === 40 && held.length === 0
    })
    await submitting
    expect(
      await sql(
        `select count(*)::integer as n from outcomes o join tasks t on t.id = o.id
      where t.queue = $1 and o.status = 'SUCCEEDED' and o.attempt = 1 and o.crashes + o.undelivered = 0`,
        [queue],
      ),
    ).toEqual([{ n: 40 }])
  })
})

describe('a node whose clock is two minutes off', () => {
  it.each([
    ['ahead', 120_000],
    ['behind', -120_000],
  ])('%s ends no session, no attempt and no wait before its time, and none late', async (_, offMs) => {
    const clock: Clock = {
      nowMs: () => systemClock.nowMs() + offMs,
      monotonicMs: () => systemClock.monotonicMs() + offMs,
      sleep: (ms, signal) => systemClock.sleep(ms, signal),
    }
    const store = await openStore()
    const right = await startHttpNode(store.url)
    const wrong = await startHttpNode(store.url, {}, clock)
    const queue = newQueue()
    const worker = await right.api.worker({ queues: [queue], heartbeatSeconds: 4 })
    const task = await wrong.api.submit({ queue, timeout_seconds: 60 })
    const grants = [...(await worker.poll(1, { wait: 30 }))]
    expect(grants).toMatchObject([{ task_id: task.task_id }])
    const began = Date.now()
    const delayed = await wrong.api.submit({ queue, delay_seconds: 1 })
    for (const until = began + 2_500; Date.now() < until; ) {
      worker.moveTo(Date.now() % 2 === 0 ? right.api : wrong.api)
      await worker.beat({ wait: 0.2 })
    }
    grants.push(...(await worker.poll(1, { wait: 30 })))
    expect(await worker.report(grants)).toMatchObject([{ accepted: true }, { accepted: true }])
    const record = await wrong.api.get(delayed.task_id)
    expect(record).toMatchObject({ status: 'SUCCEEDED', attempts: 1 })
    expect(Date.parse(record.started_at ?? '')).toBeGreaterThanOrEqual(Date.parse(record.scheduled_at ?? ''))
    expect(Math.abs(Date.parse(record.scheduled_at ?? '') - (began + 1_000))).toBeLessThan(20_000)
    await right.stop()
    // alone, the one with the wrong clock still finds out who is dead
    worker.moveTo(wrong.api)
    const { task_id } = await wrong.api.submit({ queue })
    expect(await worker.poll(1, { wait: 30 })).toMatchObject([{ task_id }])
    const other = await wrong.api.worker({ queues: [queue] })
    expect(await other.poll(1, { wait: 30 })).toMatchObject([{ task_id, attempt: 2 }])
  })
})

describe('20 nodes', () => {
  it('that start at once on an empty database all serve', async () => {
    const { url: empty } = await createDatabase({ empty: true })
    const few = { hotConnections: 4, generalConnections: 2 }
    const { value: nodes, ms } = await timed(() =>
      Promise.all(Array.from({ length: 20 }, () => startHttpNode(empty, few))),
    )
    console.info(`20 nodes were ready after ${(ms / 1_000).toFixed(1)} s`)
    const [first] = nodes as [HttpNode]
    const worker = await first.api.worker({ slots: 20 })
    const ids = await Promise.all(nodes.map(async (node) => (await node.api.submit()).task_id))
    const seen = new Set<string>()
    await until('all tasks', async () => {
      for (const { task_id } of await worker.poll(20, { wait: 1 })) seen.add(task_id)
      return ids.every((id) => seen.has(id))
    })
    for (const node of nodes) expect((await fetch(`${node.url}/readyz`)).status).toBe(200)
    await Promise.all(nodes.map((node) => node.stop()))
  })
})
