import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import { enough, type HttpNode, openStore, startHttpNode, timed, until } from '../dispatch/testing/http-node.js'
import { untilItTells, untilItWaits } from '../dispatch/testing/known-states.js'
import type { Sql } from '../queue/testing/store-bench.js'

let url: string
let sql: Sql
let node: HttpNode
beforeAll(async () => {
  const store = await openStore()
  url = store.url
  sql = store.sql
  node = await startHttpNode(url)
})

let queues = 0
const newQueue = (): string => `q${queues++}`

/** How late each start was, ms by the store's clock, from its due time. */
async function latenessOf(ids: readonly string[]): Promise<number[]> {
  const rows = await sql<{ ms: number }>(
    `select date_part('epoch', coalesce(u.started_at, o.started_at) - t.scheduled_at) * 1000 as ms
     from tasks t left join outcomes u on u.id = t.id left join open_tasks o on o.id = t.id
     where t.id = any ($1) and coalesce(u.started_at, o.started_at) is not null order by 1`,
    [ids.map((id) => decodeId('task', id))],
  )
  return rows.map((row) => row.ms)
}

describe('a delayed task', () => {
  it('never starts early and hardly late: 300 of them at random within 3 s', async () => {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue], slots: 500 })
    const ids = await Promise.all(
      Array.from({ length: 300 }, async () => {
        return (await node.api.submit({ queue, delay_seconds: Math.random() * 3 })).task_id
      }),
    )
    const seen = new Set<string>()
    await until('all of them', async () => {
      for (const task of await worker.poll(500, { wait: 1 })) seen.add(task.task_id)
      return seen.size === ids.length
    })
    const lateness = await latenessOf(ids)
    expect(lateness).toHaveLength(300)
    expect(lateness[0]).toBeGreaterThanOrEqual(0)
    const [p50 = 0, p99 = 0] = [lateness[150], lateness[297]]
    console.info(`promotion to start: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
  })

  it('is handed to a waiting worker: promotion and start are one', async () => {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    await worker.poll(1)
    const poll = worker.poll(1, { wait: 30 })
    await untilItWaits(worker)
    const { task_id, status } = await node.api.submit({ queue, delay_seconds: 0.5 })
    expect(status).toBe('SCHEDULED')
    expect(await poll).toMatchObject([{ task_id, attempt: 1 }])
    const [row] = await sql<{ isOne: boolean; events: number }>(
      `select o.lane_version = 1 as "isOne", (select count(*)::integer from task_events e where e.task_id = o.id) as events
       from open_tasks o where o.id = $1`,
      [decodeId('task', task_id)],
    )
    expect(row).toEqual({ isOne: true, events: 0 })
  })

  it('waits in a lane when nobody waits for it, by its due time and not by its submission', async () => {
    const queue = newQueue()
    const at = (ms: number) => ({ queue, scheduled_at: new Date(ms).toISOString() })
    const late = await node.api.submit(at(Date.now() + 3_600_000))
    const early = await node.api.submit(at(Date.now() + 1_800_000))
    // both are due when their node looks the next time, the one that came first behind the other
    await sql(
      `update open_tasks set due_at = now() - case id when $1 then 1 else 2 end * interval '1 s', wake_at = now() where queue = $2`,
      [decodeId('task', late.task_id), queue],
    )
    for (const { task_id } of [late, early])
      await until('promotion', async () => (await node.api.get(task_id)).status === 'PENDING')
    const worker = await node.api.worker({ queues: [queue] })
    const [first] = await worker.poll(1, { wait: 30 })
    const [second] = await worker.poll(1, { wait: 30 })
    expect([first?.task_id, second?.task_id]).toEqual([early.task_id, late.task_id])
  })

  it('of the far future does not fire: no timer of the process overflows', async () => {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    const days = [25, 50, 3_650]
    const ids = []
    for (const day of days) ids.push((await node.api.submit({ queue, delay_seconds: day * 86_400 })).task_id)
    ids.push((await node.api.submit({ queue, scheduled_at: '9999-01-01T00:00:00Z' })).task_id)
    expect(await worker.poll(10, { wait: 1.2 })).toEqual([])
    for (const id of ids) expect((await node.api.get(id)).status).toBe('SCHEDULED')
  })

  it('with an instant in the past is due now, and gains no place before older tasks', async () => {
    const queue = newQueue()
    const older = await node.api.submit({ queue })
    const { task_id, status } = await node.api.submit({ queue, scheduled_at: '2001-01-01T00:00:00Z' })
    expect(status).toBe('PENDING')
    const worker = await node.api.worker({ queues: [queue] })
    const tasks = await worker.poll(1, { wait: 30 })
    expect(tasks[0]?.task_id).toBe(older.task_id)
    expect((await worker.poll(1, { wait: 30 }))[0]?.task_id).toBe(task_id)
  })
})

describe('a retry', () => {
  it('is promoted after its delay, with its failure counted', async () => {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    const { task_id } = await node.api.submit({
      queue,
      retry_backoff: 'fixed',
      retry_jitter: 'none',
      retry_delay_seconds: 0.4,
    })
    const tasks = await worker.poll(1, { wait: 30 })
    const failed = { outcome: 'failed', error: { class: 'Oops', message: 'no' } }
    expect(await worker.report(tasks, failed)).toMatchObject([{ accepted: true, status: 'RETRYING' }])
    expect(await worker.poll(1, { wait: 30 })).toMatchObject([{ task_id, attempt: 2, failures: 1 }])
    const [row] = await sql<{ ms: number }>(
      `select date_part('epoch', o.started_at - f.ended_at) * 1000 as ms
       from open_tasks o join failed_attempts f on f.task_id = o.id where o.id = $1`,
      [decodeId('task', task_id)],
    )
    expect(row?.ms).toBeGreaterThanOrEqual(400)
  })
})

describe('expiry', () => {
  it('ends what waits, delayed or ready, at its instant', async () => {
    const queue = newQueue()
    const expires_at = new Date(Date.now() + 1_000).toISOString()
    const ready = await node.api.submit({ queue, expires_at })
    const delayed = await node.api.submit({ queue, expires_at, delay_seconds: 3_600 })
    const { value } = await timed(() => node.api.get(ready.task_id, 30))
    for (const record of [value, await node.api.get(delayed.task_id, 30)]) {
      expect(record).toMatchObject({ status: 'CANCELLED', reason: 'expired', attempts: 0 })
    }
    const queuesNow = await node.api.call<{ items: { name: string; depth: number }[] }>('GET', '/queues')
    expect(queuesNow.body.items.find((item) => item.name === queue)?.depth ?? 0).toBe(0)
  })

  it('spares what has started before', async () => {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    /** Started before it expired; on a machine that is short of time that takes a longer time to live. */
    const start = async (liveMs: number) => {
      const expires_at = new Date(Date.now() + liveMs).toISOString()
      const { task_id } = await node.api.submit({ queue, expires_at })
      const tasks = await worker.poll(1, { wait: 1 })
      return { task_id, tasks, expires_at, liveMs }
    }
    let started = await start(3_000)
    while (started.tasks.length === 0) started = await start(started.liveMs * 2)
    const { task_id, tasks, expires_at } = started
    await worker.report(tasks, { outcome: 'released' })
    await until('its expiry', async () => (await sql('select where now() > $1', [expires_at])).length > 0)
    // and its node has looked at it
    await enough(500)
    expect(await worker.poll(1, { wait: 30 })).toMatchObject([{ task_id, attempt: 2 }])
  })
})

describe('timers', () => {
  it('outlive the node that took them', async () => {
    const first = await startHttpNode(url, { roles: 'api' })
    const queue = newQueue()
    const { task_id } = await first.api.submit({ queue, delay_seconds: 2 })
    await first.stop()
    const worker = await node.api.worker({ queues: [queue] })
    const tasks = await worker.poll(1, { wait: 30 })
    expect(tasks).toMatchObject([{ task_id }])
    expect((await latenessOf([task_id]))[0]).toBeGreaterThanOrEqual(0)
  })

  it('are promoted once by two schedulers, and given out once', async () => {
    const other = await startHttpNode(url)
    await untilItTells(url, node)
    const queue = newQueue()
    const delays = Array.from({ length: 200 }, (_, n) => ({ queue, delay_seconds: 1 + n / 200 }))
    const ids = (await node.api.submitBatch(delays)).map((task) => task.task_id)
    const worker = await other.api.worker({ queues: [queue], slots: 500 })
    const seen: string[] = []
    await until('all of them', async () => {
      seen.push(...(await worker.poll(500, { wait: 1 })).map((task) => task.task_id))
      return seen.length >= ids.length
    })
    expect([...seen].sort()).toEqual([...ids].sort())
    const [row] = await sql<{ most: number }>('select max(attempt) as most from open_tasks where queue = $1', [queue])
    expect(row?.most).toBe(1)
    await other.stop()
  })

  it('are promoted beside one whose row the store refuses', async () => {
    const queue = newQueue()
    const [bad, ...good] = await node.api.submitBatch(
      Array.from({ length: 40 }, () => ({ queue, delay_seconds: 3_600 })),
    )
    // nothing above it is a number of that column
    await sql('update open_tasks set lane_version = 2147483647 where id = $1', [decodeId('task', bad?.task_id ?? '')])
    await sql('update open_tasks set due_at = now(), wake_at = now() where queue = $1', [queue])
    const statusOf = async (status: string) => {
      const found = await sql('select from open_tasks where queue = $1 and status = $2', [queue, status])
      return found.length
    }
    await until('the promotion of all the others', async () => (await statusOf('PENDING')) === good.length)
    expect(await statusOf('SCHEDULED')).toBe(1)
  })
})
