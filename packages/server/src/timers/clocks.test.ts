import { type Clock, decodeId, systemClock } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import { openStore, startHttpNode } from '../dispatch/testing/http-node.js'
import type { Sql } from '../queue/testing/store-bench.js'

const hourMs = 3_600_000

/** A wall clock that is off, by more and more perhaps; durations are right, as the monotonic clock of any machine. */
const off = (byMs: () => number): Clock => ({ ...systemClock, nowMs: () => Date.now() + byMs() })
let steps = 0
let queues = 0
const clocks: Readonly<Record<string, Clock>> = {
  'two minutes ahead': off(() => 120_000),
  'two minutes behind': off(() => -120_000),
  'a month behind, and stepping by hours at each look': off(() => ++steps * hourMs - 30 * 24 * hourMs),
}

describe('timers of a node whose wall clock is', () => {
  let url: string
  let sql: Sql
  beforeAll(async () => {
    const store = await openStore()
    url = store.url
    sql = store.sql
  })

  it.each(Object.entries(clocks))(
    '%s: due times, ids and leases are by the clock of the store (I8)',
    async (_, clock) => {
      const node = await startHttpNode(url, {}, clock)
      const queue = `skewed-${queues++}`
      const served = await node.api.worker({ queues: [queue] })
      const waiting = served.poll(1, { wait: 30 })
      const task = await node.api.submit({ queue, delay_seconds: 0.7 })
      expect(await waiting).toMatchObject([{ task_id: task.task_id, attempt: 1 }])
      const id = decodeId('task', task.task_id)
      const [row] = await sql<Record<string, number>>(
        `select date_part('epoch', t.scheduled_at - t.created_at) * 1000 as delay,
         date_part('epoch', o.started_at - t.scheduled_at) * 1000 as late,
         date_part('epoch', o.deadline_at - o.started_at) * 1000 - o.timeout_ms as lease,
         abs(date_part('epoch', t.created_at) * 1000 - ('x' || left(replace(t.id::text, '-', ''), 12))::bit(48)::bigint) as minted
       from tasks t join open_tasks o using (id) where t.id = $1`,
        [id],
      )
      expect(row?.delay).toBe(700)
      expect(row?.late).toBeGreaterThanOrEqual(0)
      expect(row?.lease).toBe(0)
      // half a round trip and the wait for the commit before: an hour or two minutes would show
      expect(row?.minted).toBeLessThan(30_000)
      await node.stop()
    },
  )
})
