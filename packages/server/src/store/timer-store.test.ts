import { partitionOf } from '@duly/domain'
import { afterEach, describe, expect, test } from 'vitest'
import { randomToken } from '../base/random.js'
import { expectSound, openRow, statusOf, trailOf, wholeStateOf } from '../testing/facts.js'
import { claimLife, passDue, say, silence, startLife, watch, words } from '../testing/lives.js'
import { openStillStore } from '../testing/still-store.js'
import { newTask, openTestNode, openTestStore, partitions } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store
afterEach(() => expectSound(node))

const promote = (id: string, by = node) => by.stores.timers.promote([{ id, handoff: null, epoch: 1 }])
const nowMs = async (): Promise<number> => {
  const [row] = await node.query<{ ms: number }>('select extract(epoch from clock_timestamp())::float8 * 1000 as ms')
  return row?.ms ?? Number.NaN
}

describe('promotion', () => {
  test('never comes early by the clock of the store, and at once when due', async () => {
    /** Asks until it comes; how often that was too early. */
    const ask = async (delayMs: number) => {
      const { id, scheduledAtMs } = await node.intake.submit(newTask({ queue: 'early', delayMs }))
      let early = 0
      let result = await promote(id)
      for (; result.ready.length === 0; early++) result = await promote(id)
      return { id, early, result, dueMs: Number(scheduledAtMs), delayMs }
    }
    let asked = await ask(150)
    // on a machine that is short of time the first look may come when it is due
    while (asked.early === 0) asked = await ask(asked.delayMs * 4)
    const { id, result, dueMs, delayMs } = asked
    expect(await nowMs()).toBeGreaterThanOrEqual(dueMs)
    expect(result.ready).toMatchObject([{ id, queue: 'early', tenant: 'acme', priority: 2, gate: '' }])
    const [row] = await node.query(
      `select ready_at = created_at + $2 * interval '1 ms' as "isExact", wake_at from open_tasks join tasks using (id) where id = $1`,
      [id, delayMs],
    )
    expect(row).toEqual({ isExact: true, wake_at: null })
  })

  test('keeps the order of the due times, not of the promotions', async () => {
    const queue = 'order'
    const ids: string[] = []
    for (const delayMs of [1, 3, 2]) ids.push((await node.intake.submit(newTask({ queue, delayMs }))).id)
    await node.query(`update open_tasks set due_at = to_timestamp(array_position($1::uuid[], id)) where queue = $2`, [
      ids,
      queue,
    ])
    for (const id of [...ids].reverse()) await promote(id)
    const worker = await node.worker({ queues: [queue] })
    for (const id of ids) expect(await node.claim(worker, 1, { queue })).toMatchObject([{ id }])
  })

  test('brings a retry back with its gate, and its wake only while it may expire', async () => {
    const suspect = await startLife(node)
    await silence(node, suspect.worker)
    await watch(node)
    const again = await claimLife(node, { ...suspect, gate: '!suspect' })
    await say(node, again, words.retry)
    await passDue(node, suspect.id)
    expect((await promote(suspect.id)).ready).toMatchObject([{ gate: '!suspect' }])
    const { id } = await node.intake.submit(newTask({ delayMs: 60_000, expiresAtMs: Date.now() + 3_600_000 }))
    await passDue(node, id)
    await promote(id)
    const [row] = await node.query(`select wake_at = expires_at as "wakesToExpire" from open_tasks where id = $1`, [id])
    expect(row).toEqual({ wakesToExpire: true })
  })

  test('happens once, however many ask for it', async () => {
    const other = await openTestNode(store.url, { number: 1 })
    const ids = await Promise.all(
      Array.from(
        { length: 30 },
        async () => (await node.intake.submit(newTask({ queue: 'once', delayMs: 60_000 }))).id,
      ),
    )
    for (const id of ids) await passDue(node, id)
    const all = ids.map((id) => ({ id, handoff: null, epoch: 1 }))
    const results = await Promise.all([node, other, node, other].map((each) => each.stores.timers.promote(all)))
    const ready = results.flatMap((result) => result.ready.map(({ id }) => id))
    expect(ready.sort()).toEqual([...ids].sort())
    await other.close()
  })

  test('of what expired meanwhile is left to expiry; a task that ran cannot expire', async () => {
    const { id } = await node.intake.submit(newTask({ delayMs: 60_000, expiresAtMs: Date.now() + 30_000 }))
    await node.query(
      `update open_tasks set due_at = now() - interval '1 s', expires_at = now() - interval '1 ms' where id = $1`,
      [id],
    )
    expect(await promote(id)).toEqual({ ready: [], handedOff: [] })
    expect(await node.stores.timers.expire([{ id, epoch: 1 }])).toMatchObject({ ended: [{ id }] })
    const life = await startLife(node, { expiresAtMs: Date.now() + 60_000 })
    await say(node, life, words.retry)
    await node.query(`update open_tasks set expires_at = now() - interval '1 s' where id = $1`, [life.id])
    await passDue(node, life.id)
    expect(await node.stores.timers.expire([{ id: life.id, epoch: 1 }])).toEqual({ ended: [], nodes: [] })
    expect((await promote(life.id)).ready).toHaveLength(1)
    expect(await node.stores.timers.expire([{ id: life.id, epoch: 1 }])).toEqual({ ended: [], nodes: [] })
    expect(await node.claim(await node.worker(), 1, { queue: life.queue })).toMatchObject([{ id: life.id, attempt: 2 }])
  })
})

describe('promotion straight to a waiting worker', () => {
  async function dueTask(queue: string, over = {}): Promise<string> {
    const { id } = await node.intake.submit(newTask({ queue, delayMs: 60_000, ...over }))
    await passDue(node, id)
    return id
  }
  const handTo = async (id: string, session: string, queue: string) =>
    node.stores.timers.promote([{ id, handoff: { session, token: randomToken(), queue }, epoch: 1 }])

  test.each(['SCHEDULED', 'RETRYING'])('from %s is a claim: attempt, lease, deadline and grant', async (from) => {
    const life = await startLife(node)
    await say(node, life, from === 'RETRYING' ? words.retry : words.snooze)
    await passDue(node, life.id)
    const worker = await node.worker()
    const { handedOff, ready } = await handTo(life.id, worker.row.id, life.queue)
    expect(ready).toEqual([])
    expect(handedOff).toMatchObject([{ id: life.id, attempt: 2, session: worker.row.id, grant: 1, payload: '{"n":1}' }])
    const [task] = handedOff
    expect(Number(task?.deadlineAtMs) - Number(task?.startedAtMs)).toBeCloseTo(60_000, 1)
    expect(await openRow(node, life.id)).toMatchObject({ status: 'RUNNING', attempt: 2, session: worker.row.id })
  })

  const refusals: Record<string, (session: string, queue: string) => Promise<unknown>> = {
    'a dead session': (session) =>
      node.query(`update worker_sessions set live_until = 'epoch' where id = $1`, [session]),
    'a session that left': (session) =>
      node.query('update worker_sessions set ended_at = now() where id = $1', [session]),
    'a draining session': (session) =>
      node.query('update worker_sessions set draining = true where id = $1', [session]),
    'a task that was moved to another queue': (_, queue) =>
      node.query(
        `with moved as (update tasks set queue = queue || '-2' where queue = $1)
         update open_tasks set queue = queue || '-2' where queue = $1`,
        [queue],
      ),
    'a paused queue': (_, queue) => node.query('update queues set paused = true where name = $1', [queue]),
  }
  test.each(Object.keys(refusals))('is refused for %s: the task is ready for others', async (what) => {
    const queue = `hand-${what.replaceAll(' ', '-')}`
    const id = await dueTask(queue)
    const worker = await node.worker()
    await refusals[what]?.(worker.row.id, queue)
    expect(await handTo(id, worker.row.id, queue)).toMatchObject({ ready: [{ id }], handedOff: [] })
    expect(await openRow(node, id)).toMatchObject({ status: 'PENDING', attempt: 0, session: null })
  })

  test('gives several tasks to several workers in one statement, each its own', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => dueTask('several')))
    const workers = await Promise.all([1, 2].map(() => node.worker()))
    const wanted = ids.map((id, n) => ({
      id,
      handoff: n < 4 ? { session: workers[n % 2]?.row.id ?? '', token: BigInt(n + 1), queue: 'several' } : null,
      epoch: 1,
    }))
    const { handedOff, ready } = await node.stores.timers.promote(wanted)
    const got = new Map(handedOff.map(({ id, session, token }) => [id, `${session} ${token}`]))
    expect(got).toEqual(
      new Map(wanted.slice(0, 4).map(({ id, handoff }) => [id, `${handoff?.session} ${handoff?.token}`])),
    )
    expect(ready.map(({ id }) => id).sort()).toEqual(ids.slice(4).sort())
  })
})

describe('expiry', () => {
  test('ends what never started, whether it is due or not, with its trail', async () => {
    const soon = Date.now() + 3_600_000
    const later = await node.intake.submit(newTask({ delayMs: 60_000, expiresAtMs: soon }))
    const now = await node.intake.submit(newTask({ queue: 'expires', expiresAtMs: soon }))
    expect(await node.stores.timers.expire([later, now].map(({ id }) => ({ id, epoch: 1 })))).toEqual({
      ended: [],
      nodes: [],
    })
    const before = await wholeStateOf(node, later.id)
    expect(before).toMatchObject({ outcomes: null })
    await node.query(`update open_tasks set expires_at = now() where id = any ($1)`, [[later.id, now.id]])
    const { ended: expired } = await node.stores.timers.expire([later, now].map(({ id }) => ({ id, epoch: 1 })))
    expect(expired.map(({ id }) => id).sort()).toEqual([later.id, now.id].sort())
    expect(await trailOf(node, later.id)).toEqual(['expire SCHEDULED>CANCELLED @- timer'])
    expect(await trailOf(node, now.id)).toEqual(['expire PENDING>CANCELLED @- timer'])
    expect(await statusOf(node, now.id)).toBe('CANCELLED')
  })

  test('leaves a waiting task that expired to no worker', async () => {
    await node.intake.submit(newTask({ queue: 'stale', expiresAtMs: 1 }))
    const { id } = await node.intake.submit(newTask({ queue: 'stale' }))
    expect(await node.claim(await node.worker(), 5, { queue: 'stale' })).toMatchObject([{ id }])
  })
})

describe('the epoch', async () => {
  // how late something is decides
  const { node } = await openStillStore()
  afterEach(() => expectSound(node))
  const due = async (lateMs: number, over = {}): Promise<string> => {
    const { id } = await node.intake.submit(newTask({ queue: 'led', delayMs: 3_600_000, ...over }))
    const late = `now() - $2 * interval '1 millisecond'`
    await node.query(
      `update open_tasks set due_at = ${late}, wake_at = ${late},
         expires_at = case when expires_at is not null then ${late} end where id = $1`,
      [id, lateMs],
    )
    return id
  }
  const stale = { handoff: null, epoch: 0 }

  test('of a leader that was replaced promotes nothing, nor does none, until the task is 5 s late', async () => {
    const id = await due(100)
    const { timers } = node.stores
    expect((await timers.promote([{ id, ...stale }])).ready).toEqual([])
    expect((await timers.promote([{ id, handoff: null, epoch: null }])).ready).toEqual([])
    expect((await timers.promote([{ id, handoff: null, epoch: 1 }])).ready).toMatchObject([{ id }])
    const late = await due(5_100)
    expect((await timers.promote([{ id: late, ...stale }])).ready).toMatchObject([{ id: late }])
    const later = await due(5_100)
    expect((await timers.promote([{ id: later, handoff: null, epoch: null }])).ready).toMatchObject([{ id: later }])
  })

  test('is judged for each row by its partition', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => due(100)))
    const first = partitionOf(ids[0] ?? '')
    await node.query('update partitions set epoch = 2 where partition = $1', [first])
    const { ready } = await node.stores.timers.promote(ids.map((id) => ({ id, handoff: null, epoch: 1 })))
    const rows = await node.query<{ id: string }>(
      'select id from open_tasks where id = any ($1) and partition <> $2 order by id',
      [ids, first],
    )
    expect(ready.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id))
    await node.query('update partitions set epoch = 1')
  })

  test('stands before an expiry as before a promotion', async () => {
    const expiring = { expiresAtMs: node.storeClock.nowMs() + 7_200_000 }
    const [soon, late] = [await due(100, expiring), await due(5_100, expiring)]
    expect(await node.stores.timers.expire([{ id: soon, epoch: 0 }])).toEqual({ ended: [], nodes: [] })
    expect(await node.stores.timers.expire([{ id: late, epoch: null }])).toMatchObject({ ended: [{ id: late }] })
    expect(await node.stores.timers.expire([{ id: soon, epoch: 1 }])).toMatchObject({ ended: [{ id: soon }] })
  })
})

describe('the look ahead', () => {
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const look = (over = {}) => node.stores.timers.peek(all, { horizonMs: 1_000, perPartition: 100, limit: 100, ...over })

  test('sees what is due within the horizon, earliest first, and nothing that runs', async () => {
    await node.query(
      'truncate open_tasks, counters, failed_attempts, idempotency_keys, tasks, outcomes, runs, dead_letters, task_events',
    )
    const delays = [900, 5_000_000, 100, 500]
    const ids = await Promise.all(delays.map(async (delayMs) => (await node.intake.submit(newTask({ delayMs }))).id))
    await startLife(node)
    const seen = await look()
    expect(seen.map(({ id }) => id)).toEqual([ids[2], ids[3], ids[0]])
    expect(seen[0]).toMatchObject({
      status: 'SCHEDULED',
      suspect: false,
      mayExpire: false,
      queue: 'default',
      tenant: 'acme',
    })
    expect((await look({ horizonMs: 10_000_000 })).map(({ id }) => id)).toEqual([ids[2], ids[3], ids[0], ids[1]])
    expect(await look({ limit: 1 })).toHaveLength(1)
  })

  test('takes turns: one partition with a burst does not hide the others', async () => {
    const burst = Array.from({ length: 200 }, () => newTask({ queue: 'burst', delayMs: 1 }))
    const [first] = await node.intake.submitBatch(burst)
    const single = () => node.intake.submit(newTask({ queue: 'single', delayMs: 50 }))
    let { id } = await single()
    // partitions are drawn: the same one would hide it
    while (partitionOf(id) === partitionOf(first?.id ?? '')) ({ id } = await single())
    expect((await look({ perPartition: 10 })).some((timer) => timer.id === id)).toBe(true)
  })
})
