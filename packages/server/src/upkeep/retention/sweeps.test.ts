import type { Uuid } from '@duly/domain'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { expectSound, statusOf } from '../../testing/facts.js'
import { say, startLife, words } from '../../testing/lives.js'
import { newTask, type TestNode } from '../../testing/test-node.js'
import { dayMs, openVirtualStore, type VirtualStore } from '../../testing/virtual-store.js'
import { endedIn } from './testing/ended.js'

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
const ended = endedIn(() => node)

test('sessions that ended a day ago go, with their grants; one that still holds a task stays', async () => {
  const [over, holding] = [await node.worker(), await startLife(node, { timeoutMs: 600 * dayMs })]
  await node.workers.leave({ id: over.row.id, tenant: null })
  await node.query('update worker_sessions set ended_at = now() where id = $1', [holding.worker.row.id])
  await store.advance(1.1)
  await store.retain()
  const left = await node.query<{ id: Uuid }>(
    'select s.id from worker_sessions s join session_grants g on g.session = s.id where s.id = any ($1)',
    [[over.row.id, holding.worker.row.id]],
  )
  expect(left).toEqual([{ id: holding.worker.row.id }])
  expect(await node.query('select 1 from session_grants where session = $1', [over.row.id])).toEqual([])
})

test('API keys go when they were revoked longer ago than tasks are kept, and no others', async () => {
  await node.query(
    `insert into api_keys (id, name, secret_hash, scopes, created_at, expires_at, revoked_at)
     select gen_random_uuid(), k.name, sha256(k.name::bytea), '{read}', now() - interval '90 days',
       now() + k.expires * interval '1 day', now() - k.revoked * interval '1 day'
     from (values ('live', null, null), ('expired', -80, null), ('lately', null, 29), ('long ago', null, 31)) k (name, expires, revoked)`,
  )
  await node.query('delete from retention_marks')
  const { removed } = await store.retain()
  expect(removed.api_keys).toBe(1)
  const left = await node.query<{ name: string }>('select name from api_keys order by name')
  expect(left.map(({ name }) => name)).toEqual(['expired', 'lately', 'live'])
})

test('counters of lanes in which nothing waits go, also while others write them, and the sums stay right', async () => {
  const waiting = await node.intake.submit(newTask({ queue: 'kept' }))
  let isOver = false
  const work = (async () => {
    while (!isOver) await ended(words.succeed)
  })()
  for (let n = 0; n < 5; n++) {
    await node.query(`delete from retention_marks`)
    await store.retain()
  }
  isOver = true
  await work
  await store.advance(1)
  await store.retain()
  const rows = await node.query<{ queue: string; depth: string }>(
    'select queue, sum(depth) as depth from counters group by 1 having sum(depth) = 0 or queue = $1',
    ['kept'],
  )
  expect(rows).toEqual([{ queue: 'kept', depth: '1' }])
  await node.tasks.cancel(waiting.id, null, actor)
  await expectSound(node, /counters/)
})

test('operations on many tasks go by the age of their end, and counts of dead letters when their groups are gone', async () => {
  const life = await startLife(node, { maxRetries: 0 })
  await say(node, life, words.retry)
  const stay = await ended(words.retry)
  await node.stores.deadLetters.discard([life.id], null, { actor: 'api:tester', reason: null })
  for (const [n, status] of ['SUCCEEDED', 'RUNNING'].entries()) {
    await node.query(
      `insert into bulk_operations (id, action, source, filter, actor, status, runnable_at, completed_at)
       values (gen_random_uuid(), 'cancel', 'tasks', '{}', 'api:tester', $1, case $2::integer when 1 then now() end,
         case $2::integer when 0 then now() end)`,
      [status, n],
    )
  }
  const operations = async () =>
    (await node.query('select status from bulk_operations order by 1')).map(({ status }) => status)
  const counted = () =>
    node.query('select sum(letters)::integer as letters from dead_letter_counts where queue = $1 group by queue', [
      life.queue,
    ])
  expect(await counted()).toEqual([{ letters: 0 }])
  await store.advance(29)
  await store.retain()
  expect(await operations()).toEqual(['RUNNING', 'SUCCEEDED'])
  expect(await counted()).toEqual([])
  await store.advance(2)
  await store.retain()
  expect(await operations()).toEqual(['RUNNING'])
  expect(await statusOf(node, stay)).toBe('DEAD')
  await expectSound(node, /dead letters/)
})

test('past runs go by their age while their task lives', async () => {
  const id = await ended(words.fail)
  await node.tasks.replay(id, null, actor)
  await store.advance(20)
  await node.tasks.cancel(id, null, actor)
  await node.tasks.replay(id, null, actor)
  const runs = () => node.query('select run from runs where task_id = $1 order by run', [id])
  await store.retain()
  expect(await runs()).toEqual([{ run: 1 }, { run: 2 }])
  await store.advance(11)
  await store.retain()
  expect(await runs()).toEqual([{ run: 2 }])
  expect(await statusOf(node, id)).toBe('PENDING')
  await expectSound(node)
})

test('what is written for a task after it went is found later', async () => {
  const id = await ended(words.succeed)
  await store.advance(31)
  await store.retain()
  await node.query(
    `insert into task_events (task_id, at, transition, to_status, actor) values ($1, now(), 'cancel', 'CANCELLED', 'late')`,
    [id],
  )
  await node.query(
    `insert into task_logs (task_id, line, attempt, at, level, message) values ($1, 1, 1, now(), 'info', '')`,
    [id],
  )
  await store.advance(1)
  await store.retain()
  expect(await node.query('select 1 from task_events where task_id = $1', [id])).toEqual([])
  expect(await node.query('select 1 from task_logs where task_id = $1', [id])).toEqual([])
})
