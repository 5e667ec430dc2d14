import { decodeId } from '@duly/domain'
import { beforeAll, expect, it } from 'vitest'
import { type HttpNode, openStore, startHttpNode } from '../dispatch/testing/http-node.js'
import type { Sql } from '../queue/testing/store-bench.js'

let sql: Sql
/** Answers clients and promotes nothing. */
let clerk: HttpNode
/** Promotes, and has the workers. */
let other: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  clerk = await startHttpNode(store.url, { roles: 'api' })
  other = await startHttpNode(store.url)
})

const edit = (id: string, scheduledAtMs: number) =>
  clerk.api.call('PATCH', `/tasks/${id}`, { scheduled_at: new Date(scheduledAtMs).toISOString() })

it.each([
  ['an instant that passed', -1_000],
  ['an instant of the next second', 700],
  ['an instant beyond the next look', 2_500],
])('a timer that is edited at one node to %s fires at the other', async (_, inMs) => {
  const queue = `edited:${inMs}`
  const worker = await other.api.worker({ queues: [queue] })
  const polling = worker.poll(1, { wait: 30 })
  const { task_id } = await clerk.api.submit({ queue, delay_seconds: 3_600 })
  expect(await edit(task_id, Date.now() + inMs)).toMatchObject({ status: 200 })
  expect(await polling).toMatchObject([{ task_id, attempt: 1 }])
  expect(
    await sql(
      `select o.started_at >= t.scheduled_at as "notEarly" from open_tasks o join tasks t on t.id = o.id where o.id = $1`,
      [decodeId('task', task_id)],
    ),
  ).toEqual([{ notEarly: true }])
})

// the other looks 5 s ahead
it('a timer that the other holds already does not fire when it was put off', async () => {
  const queue = 'put-off'
  const worker = await other.api.worker({ queues: [queue] })
  const polling = worker.poll(2, { wait: 30 })
  const { task_id: putOff } = await other.api.submit({ queue, delay_seconds: 4 })
  const { task_id: behind } = await other.api.submit({ queue, delay_seconds: 4.3 })
  expect(await edit(putOff, Date.now() + 3_600_000)).toMatchObject({ status: 200 })
  expect(await polling).toMatchObject([{ task_id: behind }])
  expect(await clerk.api.get(putOff)).toMatchObject({ status: 'SCHEDULED', attempts: 0 })
})
