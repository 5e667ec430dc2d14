import { systemClock, type Uuid } from '@duly/domain'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { RetentionSession } from '../../store/retention/retention-session.js'
import { openVirtualStore, type VirtualStore } from '../../testing/virtual-store.js'
import { Pace } from './pace.js'
import { Sweeps } from './sweeps.js'

let store: VirtualStore
beforeAll(async () => {
  store = await openVirtualStore()
})
beforeEach(() => store.node.query('truncate cron_tasks, cron_firings, retention_marks'))
afterAll(() => store.close())

const idOf = (n: number): Uuid => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`

/** A definition that lives. */
const define = (n: number) =>
  store.node.query(
    `insert into cron_tasks (id, tenant, name, expression, anchor_at, timezone, overlap, misfire, grace_ms, jitter_ms, enabled,
       task_type, queue, task, payload, created_at, updated_at)
     values ($1, 'acme', $2, '@yearly', now(), 'UTC', 'skip', 'skip', 0, 0, true, 'x', 'x', '{}', 'null', now(), now())`,
    [idOf(n), `cron-${n}`],
  )

/** Firings of a definition, so many days ago, judged an hour after their times. */
const fire = (n: number, outcome: 'triggered' | 'skipped_overlap', daysAgo: readonly number[]) =>
  store.node.query(
    `insert into cron_firings (cron_id, fire_time, tenant, fired_at, outcome, task_id)
     select $1, now() - d.ago * interval '24 hours', 'acme', now() - d.ago * interval '24 hours' + interval '1 hour', $2,
       case when $2 = 'triggered' then gen_random_uuid() end
     from unnest($3::integer[]) as d (ago)`,
    [idOf(n), outcome, daysAgo],
  )

/** What is left, as `definition: days ago`. */
async function left(): Promise<string[]> {
  const rows = await store.node.query<{ told: string }>(
    `select concat(right(cron_id::text, 1), ': ', round(extract(epoch from now() - fire_time) / 86400)) as told
     from cron_firings order by cron_id, fire_time`,
  )
  return rows.map(({ told }) => told)
}

test('firings go as finished tasks do, after as many days as are set, and with a definition that is gone', async () => {
  for (const n of [1, 2]) await define(n)
  for (const n of [1, 2, 3]) await fire(n, 'skipped_overlap', [40, 29, 2])
  expect((await store.retain({ days: 30 })).removed.cron_firings).toBe(3)
  expect(await left()).toEqual(['1: 29', '1: 2', '2: 29', '2: 2', '3: 29', '3: 2'])
  await store.node.query('truncate retention_marks')
  await store.retain({ days: 1 })
  expect(await left()).toEqual(['1: 2', '2: 2'])
})

test('of a definition that lives stays the last one, and the last one of its schedule if it was triggered since', async () => {
  for (const n of [1, 2, 3]) await define(n)
  await fire(1, 'skipped_overlap', [400, 365])
  await fire(2, 'skipped_overlap', [400, 300])
  await fire(2, 'triggered', [350, 200, 100])
  await fire(3, 'triggered', [90, 80])
  await store.retain()
  expect(await left()).toEqual(['1: 365', '2: 300', '2: 100', '3: 80'])
})

test('they go in steps of a bounded size, also behind many that stay', async () => {
  const kept = [1, 2, 3, 4, 5, 6, 7]
  for (const n of kept) {
    await define(n)
    await fire(n, 'skipped_overlap', [500])
  }
  await fire(
    9,
    'skipped_overlap',
    Array.from({ length: 12 }, (_, n) => 100 + n),
  )
  const session = await RetentionSession.open(store.url, new AbortController().signal)
  if (session === null) throw new Error('another node does the retention')
  const steps: number[] = []
  const pace = new Pace({ clock: systemClock, share: 1, signal: new AbortController().signal })
  const sweeps = new Sweeps({ sweeps: session.sweeps, pace, batch: 5, onSwept: (_kind, rows) => void steps.push(rows) })
  await sweeps.firings(await session.marks.frame(30))
  await session.close()
  // seven that stay, then twelve that go
  expect(steps).toEqual([0, 3, 5, 4])
  expect(await left()).toEqual(kept.map((n) => `${n}: 500`))
})
