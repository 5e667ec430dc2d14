import { IdMinter, type TaskStatus, type Uuid } from '@duly/domain'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Random, randomOf } from '../../../../tests/chaos/load/random.js'
import type { TaskFilters, TaskRecord, TaskSummary } from '../model.js'
import { claimLife, mark, passDue, say, words } from '../testing/lives.js'
import { newTask, openTestStore, partitions } from '../testing/test-node.js'

const { node } = await openTestStore()
let random: Random
const workflow = '01a22499-f800-7000-8000-000000000001'
const cron = '01a22499-f800-7000-8000-000000000002'

const none: TaskFilters = {
  ...{ status: null, taskType: null, queue: null, tenant: null, tag: null, workflowId: null, cronId: null },
  ...{ createdAfterMs: null, createdBeforeMs: null, correlationId: null },
}

/** Every item of a list, page by page. */
async function crawl(
  filters: Partial<TaskFilters>,
  limit = 1_000,
  scope: string | null = null,
): Promise<TaskSummary[]> {
  const all: TaskSummary[] = []
  for (let after: string | null = null, pages = 0; ; pages++) {
    const page = await node.tasks.list({ ...none, ...filters }, scope, { limit, after })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    all.push(...page.items)
    if (page.next === null) return all
    expect(pages).toBeLessThan(1_000)
    after = page.next
  }
}

const ids = (items: readonly { readonly id: Uuid }[]): Uuid[] => items.map(({ id }) => id)

/** Leads a task on, to a drawn end or to none. */
async function live(id: Uuid, queue: string): Promise<void> {
  const end = random.pick([
    'wait',
    'run',
    'mark',
    'succeed',
    'fail',
    'retry',
    'snooze',
    'cancel',
    'replay',
    'die',
  ] as const)
  if (end === 'wait') return
  if (end === 'cancel' || end === 'replay') await mark(node, id)
  if (end === 'replay') await node.tasks.replay(id, null, { kind: 'api' })
  if (end === 'cancel' || end === 'replay') return
  await passDue(node, id)
  await node.stores.timers.promote([{ id, handoff: null, epoch: 1 }])
  if (end === 'die') await node.query('update tasks set max_retries = 0 where id = $1', [id])
  const life = await claimLife(node, { id, queue })
  if (end === 'mark') await mark(node, id)
  if (end === 'run' || end === 'mark') return
  await say(node, life, end === 'die' ? words.retry : words[end])
}

let records: TaskRecord[]
beforeAll(async () => {
  random = randomOf('lists')
  for (let n = 0; n < 120; n++) {
    const queue = `q${n % 2}-${n}`
    const correlation = random.pick(['"c1"', '"c\\u0031"', '"other"'])
    const { id } = await node.intake.submit(
      newTask({
        queue,
        tenant: random.pick(['acme', 'acme', 'other', 'third']),
        metadata: random.next() < 0.5 ? `{"n":${n},"correlation_id":${correlation}}` : null,
        tags: random.pick([[], ['red'], ['red', 'blue'], ['with "quotes"']]),
        delayMs: random.next() < 0.3 ? 3_600_000 : null,
        payload: '"never listed"',
      }),
    )
    // claims are by lane, so each task has one of its own until it has lived
    await node.query(`update open_tasks set tenant = 'acme' where id = $1`, [id])
    await live(id, queue)
    await node.query(`update open_tasks o set tenant = t.tenant from tasks t where t.id = o.id and o.id = $1`, [id])
    const [wf, cr] = [random.next() < 0.2 ? workflow : null, random.next() < 0.2 ? cron : null]
    await node.query('update tasks set queue = $2, task_type = $3, workflow_id = $4, cron_id = $5 where id = $1', [
      ...[id, queue.slice(0, 2), random.pick(['work', 'play']), wf, cr],
    ])
    await node.query(
      'update open_tasks o set queue = t.queue, task_type = t.task_type from tasks t where t.id = o.id and o.id = $1',
      [id],
    )
  }
  const rows = await node.query<{ id: Uuid }>('select id from tasks order by id desc')
  records = await Promise.all(rows.map(({ id }) => node.tasks.get(id, null)))
})

function fits(record: TaskRecord, filters: TaskFilters): boolean {
  const { status, taskType, queue, tenant, tag, workflowId, cronId, createdAfterMs, createdBeforeMs } = filters
  const metadata = JSON.parse(record.metadata ?? '{}') as { correlation_id?: string }
  const is = <T>(wanted: T | null, value: T) => wanted === null || wanted === value
  return (
    is(status, record.status) &&
    is(taskType, record.taskType) &&
    is(queue, record.queue) &&
    is(tenant, record.tenant) &&
    is(workflowId, record.workflowId) &&
    is(cronId, record.cronId) &&
    is(filters.correlationId, metadata.correlation_id ?? null) &&
    (tag === null || record.tags.includes(tag)) &&
    (createdAfterMs === null || record.createdAtMs >= createdAfterMs) &&
    (createdBeforeMs === null || record.createdAtMs < createdBeforeMs)
  )
}

function drawFilters(): TaskFilters {
  const maybe = <T>(value: () => T, chance: number): T | null => (random.next() < chance ? value() : null)
  const statuses = [...new Set(records.map(({ status }) => status)), 'BLOCKED' as TaskStatus]
  const instant = () => Math.floor(random.pick(records).createdAtMs) + random.integer(0, 1)
  return {
    status: maybe(() => random.pick(statuses), 0.5),
    taskType: maybe(() => random.pick(['work', 'play', 'none']), 0.2),
    queue: maybe(() => random.pick(['q0', 'q1']), 0.2),
    tenant: maybe(() => random.pick(['acme', 'other', 'nobody']), 0.4),
    tag: maybe(() => random.pick(['red', 'blue', 'with "quotes"']), 0.2),
    workflowId: maybe(() => workflow, 0.2),
    cronId: maybe(() => cron, 0.2),
    createdAfterMs: maybe(instant, 0.2),
    createdBeforeMs: maybe(instant, 0.2),
    correlationId: maybe(() => 'c1', 0.2),
  }
}

describe('a list', () => {
  test('holds what fits all filters, newest first, whatever the pages', async () => {
    expect(new Set(records.map(({ status }) => status)).size).toBeGreaterThanOrEqual(8)
    for (let round = 0; round < 150; round++) {
      const filters = drawFilters()
      const wanted = records.filter((record) => fits(record, filters))
      const found = await crawl(filters, random.pick([1, 2, 7, 50, 1_000]))
      expect(ids(found), JSON.stringify(filters)).toEqual(ids(wanted))
    }
  })

  test('tells of a task what its record tells, but no payload, no result and no stack', async () => {
    for (const item of await crawl({})) {
      const { payload, result: _, ...record } = records.find(({ id }) => id === item.id) as TaskRecord
      expect(payload).toBe('"never listed"')
      expect(item).toEqual({ ...record, error: record.error && { ...record.error, stack: null } })
    }
  })

  test("is that of the caller's tenant, who is refused another's", async () => {
    const own = records.filter(({ tenant }) => tenant === 'other')
    expect(ids(await crawl({}, 5, 'other'))).toEqual(ids(own))
    expect(ids(await crawl({ tenant: 'other' }, 5, 'other'))).toEqual(ids(own))
    expect(ids(await crawl({ status: 'FAILED' }, 5, 'other'))).toEqual(
      ids(own.filter(({ status }) => status === 'FAILED')),
    )
    await expect(crawl({ tenant: 'acme' }, 5, 'other')).rejects.toMatchObject({ code: 'forbidden' })
  })
})

describe('over many finished tasks', () => {
  const dayMs = 86_400_000
  beforeAll(async () => {
    const minter = new IdMinter({
      nowMs: () => node.storeClock.nowMs() - dayMs,
      random: (bytes) => bytes.fill(7),
      partitions,
    })
    const first = minter.mint()
    // 24,000 of yesterday, 5 ms apart; one in 8,000 carries the tag
    await node.query(
      `with made as materialized (
         select n, (lpad(to_hex(('x' || replace(left($1, 13), '-', ''))::bit(48)::bigint + n * 5), 12, '0') || '70058000'
           || lpad(to_hex(n), 12, '0'))::uuid as id, now() - interval '1 day' + n * interval '5 ms' as at
         from generate_series(1, 24000) n),
       ended as (insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run)
         select id, case when n % 100 = 0 then 'FAILED' else 'SUCCEEDED' end, at, 1, 0, 0, 0, 0, 0, 1 from made)
       insert into tasks (id, tenant, task_type, queue, priority, created_at, max_retries, retry_backoff, retry_jitter,
         retry_delay_ms, retry_max_delay_ms, timeout_ms, payload, tags, metadata)
       select id, case when n % 2 = 0 then 'even' else 'odd' end, 'old', 'old', 2, at, 0, 'fixed', 'none', 0, 0, 1000, 'null',
         case when n % 8000 = 1 then '{rare}'::text[] end, case when n > 23500 then format('{"x":"%s"}', repeat('x', 16000)) end
       from made`,
      [first],
    )
  })

  test('a page looks at 10,000 tasks at most, and says where to go on', async () => {
    const pages: number[] = []
    const found: TaskSummary[] = []
    for (let after: string | null = null; ; ) {
      const page = await node.tasks.list({ ...none, tag: 'rare' }, null, { limit: 50, after })
      pages.push(page.items.length)
      found.push(...page.items)
      if (page.next === null) break
      after = page.next
    }
    expect(pages).toEqual([1, 1, 1])
    expect(found).toHaveLength(3)
    const empty = await node.tasks.list({ ...none, tag: 'never' }, null, { limit: 50, after: null })
    expect(empty).toMatchObject({ items: [], next: expect.any(String) })
    expect(await crawl({ tag: 'never' })).toEqual([])
  })

  test('tenant and status together find the few, whichever is the rarer', async () => {
    expect(await crawl({ tenant: 'even', status: 'FAILED' }, 20)).toHaveLength(240)
    expect(await crawl({ tenant: 'odd', status: 'FAILED' }, 20)).toEqual([])
    expect(await crawl({ tenant: 'odd', status: 'SUCCEEDED', taskType: 'old' }, 1_000)).toHaveLength(12_000)
    expect(await crawl({ status: 'SUCCEEDED', queue: 'old' }, 1_000)).toHaveLength(23_760)
  })

  test('an interval of creation is met exactly, days ago too', async () => {
    const items = await crawl({ taskType: 'old' })
    const [from, to] = [Number(items[900]?.createdAtMs), Number(items[100]?.createdAtMs)]
    const within = await crawl({ createdAfterMs: from, createdBeforeMs: to, queue: 'old' }, 77)
    expect(ids(within)).toEqual(ids(items.filter(({ createdAtMs }) => createdAtMs >= from && createdAtMs < to)))
  })

  test('a page of large metadata ends early', async () => {
    const { items, next } = await node.tasks.list({ ...none, taskType: 'old' }, null, {
      limit: 1_000,
      after: null,
    })
    expect(items.length).toBeLessThan(300)
    expect(items.length).toBeGreaterThan(200)
    expect(next).not.toBeNull()
    expect(new Set(ids(await crawl({ taskType: 'old' })))).toHaveLength(24_000)
  })
})

test("a cursor of one tenant's list holds no task of another, though the page looked at thousands of those", async () => {
  const batch = (count: number, tenant: string) =>
    node.intake.submitBatch(Array.from({ length: count }, () => newTask({ tenant, queue: tenant })))
  const first = await batch(2, 'owner')
  const foreign = new Set(ids(await batch(6_000, 'crowd')))
  const second = await batch(1, 'owner')
  const ended = [...(await batch(1_100, 'owner'))]
  // some at a time: a thousand at once wait longer for a connection than the store lets anybody wait
  while (ended.length > 0) {
    await Promise.all(ended.splice(-50).map(({ id }) => node.tasks.cancel(id, 'owner', { kind: 'api' })))
  }
  const filters = { ...none, status: 'PENDING' } as const
  const found: Uuid[] = []
  const cursors: string[] = []
  for (let after: string | null = null; ; ) {
    const page = await node.tasks.list(filters, 'owner', { limit: 50, after })
    found.push(...ids(page.items))
    if (page.next === null) break
    after = page.next
    cursors.push(after)
  }
  expect(found).toEqual(ids([...second, ...[...first].reverse()]))
  expect(cursors.length).toBeGreaterThan(0)
  expect(cursors.filter((cursor) => foreign.has(cursor))).toEqual([])
})
