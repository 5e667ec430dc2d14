import type { Uuid } from '@duly/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomOf } from '../../../../../tests/chaos/load/random.js'
import { relatedTables } from '../../store/retention/sweep-sql.js'
import { expectSound } from '../../testing/facts.js'
import { newTask } from '../../testing/test-node.js'
import { VirtualLife } from '../../testing/virtual-life.js'
import { dayMs, openVirtualStore, type VirtualStore } from '../../testing/virtual-store.js'

const isLong = process.env.DULY_LONG === '1'
const days = 90
/** Every day in the long run; else each pass has some days behind it, as after a stop of that length. */
const longestStep = isLong ? 1 : 7
const scale = isLong ? 10 : 1
const retentionDays = 30
const timeoutMs = isLong ? 1_800_000 : 180_000

let store: VirtualStore
beforeAll(async () => {
  store = await openVirtualStore()
})
afterAll(() => store.close())

test(
  '90 days of life: what should live is there with all its parts, what should be gone is gone from every table',
  async () => {
    const random = randomOf('90 days')
    const life = new VirtualLife(store, random)
    const seen = { partitions: 0, swapMs: 0, removed: {} as Record<string, number> }
    for (let day = 0; day < days; ) {
      const step = random.integer(1, longestStep)
      day += step
      await life.submitDay(scale)
      await life.work()
      await life.replaySome(2 * scale)
      await life.cancelSome(scale)
      await life.discardSome(random.integer(0, 3) * scale)
      await life.work()
      await store.advance(step)
      await store.node.watchdog.runOnce()
      const facts = await passWhileWorkGoesOn(life)
      for (const [kind, rows] of Object.entries(facts.removed)) seen.removed[kind] = (seen.removed[kind] ?? 0) + rows
      seen.swapMs = Math.max(seen.swapMs, ...facts.swapsMs)
      await life.work()
      seen.partitions = Math.max(seen.partitions, (await store.partitions()).length)
      await expectRight(life)
      if (random.integer(1, 5) === 1) await expectSound(store.node)
    }
    await expectSound(store.node)
    console.info(JSON.stringify({ tasks: life.known.size, ...seen, finally: await store.partitions() }))
    // 30 days of retention, 3 ahead, today, and 60 days with survivors that are not a month yet
    expect(seen.partitions).toBeLessThanOrEqual(retentionDays + 4 + 60)
    for (const table of [
      'tasks',
      'idempotency_keys',
      'failed_attempts',
      'task_events',
      'runs',
      'worker_sessions',
      'results',
    ])
      expect(seen.removed[table], table).toBeGreaterThan(0)
  },
  timeoutMs,
)

/** A pass, beside submissions, claims and reports that do not wait for it. */
async function passWhileWorkGoesOn(life: VirtualLife) {
  let isOver = false
  const work = (async () => {
    do {
      await Promise.all([life.submit(newTask({ taskType: 'succeed' })), life.submit(newTask({ taskType: 'fail' }))])
      await life.work()
      await life.replaySome(1)
    } while (!isOver)
  })()
  const facts = await store.retain({ days: retentionDays }).finally(() => {
    isOver = true
  })
  await work
  return facts
}

/** The rule, told anew: a day that is past as a whole keeps what is open, what ended within the retention, and undiscarded dead letters. */
async function expectRight(life: VirtualLife): Promise<void> {
  const [clock] = await store.node.query<{ now: number }>(`select date_part('epoch', now()) * 1000 as now`)
  const pastMs = (clock?.now ?? 0) - retentionDays * dayMs
  const rows = await store.node.query<{
    id: Uuid
    completed: number | null
    dead: boolean
    result: boolean
    key: string | null
  }>(
    `select t.id, date_part('epoch', u.completed_at) * 1000 as completed, u.result is not null as result,
       u.status = 'DEAD' and u.discarded_at is null as dead, k.key
     from tasks t left join outcomes u on u.id = t.id left join idempotency_keys k on k.task_id = t.id`,
  )
  const living = new Map(rows.map((row) => [row.id, row]))
  for (const { id, createdAtMs } of life.known.values()) {
    const row = living.get(id)
    const isPastDay = Math.floor(createdAtMs / dayMs + 1) * dayMs <= pastMs
    if (!row) {
      expect(isPastDay, `${id} is gone too early`).toBe(true)
      life.known.delete(id)
    } else if (isPastDay) {
      const stays = row.completed === null || row.completed >= pastMs - 60_000 || row.dead
      expect(stays, `${id} of ${new Date(createdAtMs)} is still there`).toBe(true)
    }
  }
  for (const row of rows) expect(life.known.has(row.id), `${row.id} is unknown`).toBe(true)
  const orphans = await Promise.all(
    relatedTables.map((table) =>
      store.node.query(
        `select '${table}' as t, task_id from ${table} r where not exists (select from tasks t where t.id = r.task_id)`,
      ),
    ),
  )
  expect(orphans.flat()).toEqual([])
}
