import type { Uuid } from '@duly/domain'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { expectSound, statusOf } from '../../testing/facts.js'
import { claimLife, reportOf, say, startLife, words } from '../../testing/lives.js'
import { keyed, newTask, type TestNode } from '../../testing/test-node.js'
import { dayMs, openVirtualStore, type VirtualStore } from '../../testing/virtual-store.js'
import { endedIn } from './testing/ended.js'
import { addOldTasks } from './testing/old-tasks.js'

// seconds, but for a machine that is busy with much else
vi.setConfig({ testTimeout: 180_000 })

let store: VirtualStore
let node: TestNode
beforeAll(async () => {
  store = await openVirtualStore()
  node = store.node
})
afterAll(() => store.close())

const actor = { kind: 'api', name: 'tester' } as const
/** The key of `keyed`, for a task on any queue. */
const withKey = (key: string) => ({ idempotencyKey: key, requestHash: Buffer.alloc(32, 'a') })
const gone = { code: 'not_found' }
const keysOf = (key: string) =>
  node.query<{ id: Uuid }>('select task_id as id from idempotency_keys where key = $1', [key])

const ended = endedIn(() => node)

test('a finished task goes when its retention has passed; asked for, it is not there', async () => {
  const done = await ended(words.succeed)
  const failed = await ended(words.fail)
  const dead = await ended(words.retry)
  const open = await node.intake.submit(newTask({ delayMs: 100 * dayMs }))
  await store.advance(29)
  await store.retain()
  expect(await statusOf(node, done)).toBe('SUCCEEDED')
  await store.advance(2)
  await store.retain()
  for (const id of [done, failed]) {
    await expect(node.tasks.get(id, null)).rejects.toMatchObject(gone)
    await expect(node.tasks.replay(id, null, actor)).rejects.toMatchObject(gone)
    await expect(node.tasks.cancel(id, null, actor)).rejects.toMatchObject(gone)
    await expect(node.tasks.events(id, null)).rejects.toMatchObject(gone)
  }
  expect(await statusOf(node, dead)).toBe('DEAD')
  expect((await node.tasks.attempts(dead, null)).length).toBe(1)
  expect(await statusOf(node, open.id)).toBe('SCHEDULED')
  await expectSound(node)
})

test('retention counts from the end, not from the submission', async () => {
  const late = await node.intake.submit(newTask({ queue: 'late', delayMs: 40 * dayMs }))
  await store.advance(40)
  await store.retain()
  await node.stores.timers.promote([{ id: late.id, handoff: null, epoch: 1 }])
  const life = await claimLife(node, { id: late.id, queue: 'late' })
  await say(node, life, words.succeed)
  await store.advance(29)
  await store.retain()
  expect((await node.tasks.get(late.id, null)).result).toBe('{"ok":true}')
  await store.advance(2)
  await store.retain()
  await expect(node.tasks.get(late.id, null)).rejects.toMatchObject(gone)
})

test('a result goes when its time to live has passed, the record stays', async () => {
  const kept = await ended(words.succeed)
  const first = await startLife(node, { resultTtlMs: 2 * dayMs })
  const other = await claimLife(node, await second(first.queue))
  // by the statement for one kind of end, and by the one for several
  await say(node, first, words.succeed)
  await node.reports.report(other.worker, [reportOf(other, words.succeed)])
  const resultOf = async (id: Uuid) => (await node.query('select result from outcomes where id = $1', [id]))[0]?.result
  await store.advance(1)
  await store.retain()
  for (const { id } of [first, other]) expect(await resultOf(id)).toBe('{"ok":true}')
  await store.advance(1.1)
  await store.retain()
  for (const { id } of [first, other]) {
    expect(await resultOf(id)).toBeNull()
    expect((await node.tasks.get(id, null)).status).toBe('SUCCEEDED')
  }
  expect(await resultOf(kept)).toBe('{"ok":true}')

  async function second(queue: string) {
    const { id } = await node.intake.submit(newTask({ queue, resultTtlMs: 2 * dayMs }))
    return { id, queue }
  }
})

test('a key lives for 30 days after the end, then it is free; its old task takes nothing from the new one', async () => {
  const days = 60
  const first = await startLife(node, withKey('k'))
  await store.advance(40)
  await store.retain({ days })
  expect(await keysOf('k')).toEqual([{ id: first.id }])
  await say(node, await again(first.id), words.fail)
  await store.advance(29)
  await store.retain({ days })
  expect((await node.intake.submit(keyed('k'))).id).toBe(first.id)
  await store.advance(2)
  await store.retain({ days })
  const next = await node.intake.submit(keyed('k'))
  expect(next).toMatchObject({ replayed: false })
  // the old one still has its record, and can be run again beside the new one
  await node.tasks.replay(first.id, null, actor)
  await node.tasks.cancel(first.id, null, actor)
  await store.advance(61)
  await store.retain({ days })
  await expect(node.tasks.get(first.id, null)).rejects.toMatchObject(gone)
  expect(await keysOf('k')).toEqual([{ id: next.id }])
  await expectSound(node)

  /** Its worker was silent for 40 days: the task runs elsewhere. */
  async function again(id: Uuid) {
    await node.watchdog.runOnce()
    const [row] = await node.query<{ queue: string; gate: string }>(
      'select queue, gate from open_tasks where id = $1',
      [id],
    )
    return claimLife(node, { id, queue: '', gate: '', ...row })
  }
})

test('a key goes with a record that is kept for less, and one without a record goes, too', async () => {
  const id = await ended(words.succeed, withKey('short'))
  await node.query(
    `insert into idempotency_keys (tenant, key, task_id, request_hash, created_at)
     values ('acme', 'lost', gen_random_uuid(), '', now())`,
  )
  await store.advance(4)
  await store.retain({ days: 3 })
  await expect(node.tasks.get(id, null)).rejects.toMatchObject(gone)
  expect([...(await keysOf('short')), ...(await keysOf('lost'))]).toEqual([])
})

test('while nodes were told different times, the longest counts', async () => {
  const id = await ended(words.succeed)
  await store.advance(31)
  await node.query(
    `insert into nodes (id, number, roles, version, started_at, seen_at, retention_days)
     values (gen_random_uuid(), 77, '{api}', '', now(), now(), 90)`,
  )
  await store.retain({ days: 30 })
  expect(await statusOf(node, id)).toBe('SUCCEEDED')
  // that node has gone
  await store.advance(1)
  await store.retain({ days: 30 })
  await expect(node.tasks.get(id, null)).rejects.toMatchObject(gone)
})

test('a chore that fails stops no other one, and is made good by the next pass', async () => {
  const id = await ended(words.succeed)
  const { worker } = await startLife(node)
  await node.workers.leave({ id: worker.row.id, tenant: null })
  await store.advance(31)
  await node.query('alter table session_grants rename to elsewhere')
  await expect(store.retain()).rejects.toThrow('session_grants')
  await node.query('alter table elsewhere rename to session_grants')
  await expect(node.tasks.get(id, null)).rejects.toMatchObject(gone)
  await store.retain()
  expect(await node.query('select 1 from worker_sessions where id = $1', [worker.row.id])).toEqual([])
})

test('a pass reads no table as a whole, whether it removes rows or rewrites a day', async () => {
  const many = await addOldTasks(node, { succeeded: 2_000, open: 300 })
  await store.advance(1)
  const few = await addOldTasks(node, { succeeded: 300, open: 1_500 })
  await node.query(
    `insert into task_events (task_id, at, transition, to_status, actor)
     select id, now(), 'edit', 'SCHEDULED', 'api' from unnest($1::uuid[]) as i (id)`,
    [[...many, ...few].map(({ id }) => id)],
  )
  await store.advance(31)
  const rowsRead = async () => {
    const [row] = await node.query<{ rows: string }>(
      `select sum(seq_tup_read)::bigint as rows from pg_stat_user_tables
       where relname ~ '^(tasks|outcomes)_[0-9]' or relname in ('open_tasks', 'task_events', 'idempotency_keys', 'runs')`,
    )
    return Number(row?.rows)
  }
  const before = await rowsRead()
  const { removed, swapsMs } = await store.retain({ few: 10 })
  expect(removed.tasks).toBeGreaterThanOrEqual(2_300)
  expect(removed.task_events).toBe(2_300)
  expect(swapsMs.length).toBeGreaterThan(0)
  expect((await rowsRead()) - before).toBeLessThan(100)
})
