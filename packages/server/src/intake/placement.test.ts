import { afterEach, describe, expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import type { Reservation } from '../dispatch/reservation.js'
import type { NewTask } from '../model.js'
import type { TakenTask } from '../queue/port.js'
import { expectSound, openRow } from '../testing/facts.js'
import { keyed, newTask, openTestNode, openTestStore } from '../testing/test-node.js'

const store = await openTestStore({
  reserve: () => {
    const reservation = nextReservation
    nextReservation = null
    return reservation
  },
})
const { node } = store
let nextReservation: Reservation | null = null
afterEach(() => expectSound(node))

describe('when a task is due', () => {
  test('a scheduled_at in the past means now, and gains no place in the lane', async () => {
    const lane = { queue: 'past' }
    const first = await node.intake.submit(newTask(lane))
    const late = await node.intake.submit(newTask({ ...lane, scheduledAtMs: 0 }))
    expect(late).toMatchObject({ status: 'PENDING', scheduledAtMs: 0 })
    expect(await openRow(node, late.id)).toMatchObject({ status: 'PENDING', dueInMs: null })
    const [taken] = await node.claim(await node.worker(), 1, lane)
    expect(taken?.id).toBe(first.id)
    const [next] = await node.claim(await node.worker(), 1, lane)
    expect(next).toMatchObject({ id: late.id, readyAtMs: late.createdAtMs })
  })

  test('a future instant or a delay makes it SCHEDULED, to the millisecond, up to the end of 9999', async () => {
    const instant = 253_402_300_799_999
    expect(await node.intake.submit(newTask({ scheduledAtMs: instant }))).toMatchObject({
      status: 'SCHEDULED',
      scheduledAtMs: instant,
    })
    const delayed = await node.intake.submit(newTask({ delayMs: 86_400_000 }))
    expect(delayed.status).toBe('SCHEDULED')
    expect(delayed.scheduledAtMs).toBeCloseTo(delayed.createdAtMs + 86_400_000, 1)
    const atOnce = keyed('no delay', 'a', { delayMs: 0 })
    const first = await node.intake.submit(atOnce)
    expect(first).toMatchObject({ status: 'PENDING', scheduledAtMs: null })
    expect(await node.intake.submit(atOnce)).toEqual({ ...first, replayed: true })
    expect(await node.tasks.get(first.id, null)).toMatchObject({ scheduledAtMs: null, dueAtMs: null })
  })

  test('a timer looks at whichever comes first, due or expiry', async () => {
    const wake = async (over: Partial<NewTask>): Promise<unknown> => {
      const { id } = await node.intake.submit(newTask(over))
      const [row] = await node.query(
        `select case wake_at when due_at then 'due' when expires_at then 'expiry' end as wake from open_tasks where id = $1`,
        [id],
      )
      return row?.wake
    }
    const soon = Date.now() + 3_600_000
    expect(await wake({ scheduledAtMs: soon, expiresAtMs: soon + 1 })).toBe('due')
    expect(await wake({ scheduledAtMs: soon + 1, expiresAtMs: soon })).toBe('expiry')
    expect(await wake({ expiresAtMs: soon })).toBe('expiry')
    expect(await wake({ scheduledAtMs: soon })).toBe('due')
    expect(await wake({})).toBeNull()
  })
})

test('everything that was asked for comes back exactly', async () => {
  const task: NewTask = keyed('exact', 'a', {
    ...{ payload: '{ "__proto__": 1e2, "ünï":"\\u0000💥" }', metadata: '{"a":true}', priority: 1, tenant: 'tënant' },
    tags: ['', 'NULL', 'a,b', '{}', '"quoted"', 'back\\slash', '💥', ' '],
    ...{ expiresAtMs: 253_402_300_799_999, maxRetries: 100, backoff: 'linear', jitter: 'decorrelated' },
    ...{ retryDelayMs: 1, retryMaxDelayMs: 315_619_200_000, timeoutMs: 604_800_000, resultTtlMs: 1 },
    ...{ concurrencyKey: "'; drop table tasks; --", traceparent: '00-1-2-01' },
  })
  const { id } = await node.intake.submit(task)
  const { requestHash, scheduledAtMs, delayMs, resultTtlMs, ...asked } = task
  expect(await node.tasks.get(id, null)).toMatchObject(asked)
})

describe('a day without a partition', () => {
  const dropToday = async (): Promise<void> => {
    const [row] = await node.query<{ day: string }>(`select to_char(now() at time zone 'UTC', 'YYYYMMDD') as day`)
    // the invariants of this file's other tasks go with them
    await node.query('truncate open_tasks, idempotency_keys, failed_attempts, counters')
    await node.query(`drop table if exists tasks_${row?.day}, outcomes_${row?.day}`)
  }

  test('is made, and the submissions go through', async () => {
    await dropToday()
    const singles = Array.from({ length: 20 }, (_, n) => node.intake.submit(n % 2 ? newTask() : keyed(`day ${n}`)))
    expect((await Promise.all(singles)).every(({ status }) => status === 'PENDING')).toBe(true)
    await dropToday()
    expect(await node.intake.submitBatch([newTask(), keyed('day')])).toMatchObject([
      { replayed: false },
      { replayed: false },
    ])
  })

  test('is made once by nodes that meet there', async () => {
    const other = await openTestNode(store.url, { number: 1 })
    await dropToday()
    const answers = await Promise.all([node, other, node, other].map((each) => each.intake.submit(newTask())))
    expect(new Set(answers.map(({ id }) => id)).size).toBe(4)
    await other.close()
  })
})

describe('names come into being up to a limit', () => {
  test('which no batch can jump over', async () => {
    const { url, drop } = await createDatabase()
    const few = await openTestNode(url, { maxNames: 3 })
    const named = (...queues: string[]) => queues.map((queue) => newTask({ queue }))
    await few.intake.submitBatch(named('a', 'b'))
    await expect(few.intake.submitBatch(named('c', 'd', 'e', 'f'))).rejects.toMatchObject({ code: 'unprocessable' })
    expect((await few.query('select from queues')).length).toBeLessThanOrEqual(3)
    expect((await few.query('select from tasks')).length).toBe(2)
    await few.intake.submit(newTask({ queue: 'c' }))
    await expect(few.intake.submit(newTask({ queue: 'g' }))).rejects.toMatchObject({ code: 'unprocessable' })
    await expect(few.intake.submit(newTask({ queue: 'a', taskType: 'work' }))).resolves.toBeDefined()
    // another node learns the names that exist
    const second = await openTestNode(url, { maxNames: 3, number: 1 })
    expect(await second.intake.submitBatch(named('c', 'b', 'a'))).toHaveLength(3)
    await Promise.all([few.close(), second.close()])
    await drop()
  })
})

describe('direct hand-off', () => {
  /** Promises a slot of the session to the next submission; answers what the promise comes to. */
  function promiseOf(session: string): Promise<TakenTask | null | 'unknown'> {
    return new Promise((settle) => {
      nextReservation = { session, token: 4711n, settle }
    })
  }

  /** Submits while that session's slot is promised; answers what the promise came to. */
  async function submitTo(session: string, task: NewTask) {
    const promise = promiseOf(session)
    const submitted = await node.intake.submit(task)
    return { submitted, settled: nextReservation === null ? await promise : 'never asked for' }
  }

  test('gives the task to the waiting worker in the commit, and says PENDING to its submitter', async () => {
    const worker = await node.worker()
    const { submitted, settled } = await submitTo(worker.row.id, newTask({ queue: 'direct' }))
    expect(submitted.status).toBe('PENDING')
    expect(settled).toMatchObject({ id: submitted.id, session: worker.row.id, attempt: 1, token: 4711n, grant: 1 })
    expect(await openRow(node, submitted.id)).toMatchObject({ status: 'RUNNING', attempt: 1, session: worker.row.id })
    const done = { id: submitted.id, lease: `1-${4711n.toString(16).padStart(16, '0')}` }
    expect(await node.reports.report(worker, [{ ...done, outcome: 'succeeded', result: null }])).toMatchObject([
      { accepted: true },
    ])
  })

  const refusals: Record<string, (session: string) => Promise<unknown>> = {
    'a dead session': (id) => node.query(`update worker_sessions set live_until = 'epoch' where id = $1`, [id]),
    'an ended session': (id) => node.query('update worker_sessions set ended_at = now() where id = $1', [id]),
    'a draining session': (id) => node.query('update worker_sessions set draining = true where id = $1', [id]),
    'a paused queue': () => node.query(`update queues set paused = true where name = 'refused'`),
  }
  for (const [what, prepare] of Object.entries(refusals)) {
    test(`${what} gets nothing: the task waits`, async () => {
      await node.intake.submit(newTask({ queue: 'refused' }))
      const worker = await node.worker()
      await prepare(worker.row.id)
      const { submitted, settled } = await submitTo(worker.row.id, newTask({ queue: 'refused' }))
      expect(settled).toBeNull()
      expect(await openRow(node, submitted.id)).toMatchObject({ status: 'PENDING', attempt: 0, session: null })
      await node.query('update queues set paused = false')
    })
  }

  test('is not even asked for by a task for later; one that expired already waits for its end', async () => {
    const worker = await node.worker()
    expect((await submitTo(worker.row.id, newTask({ delayMs: 1_000 }))).settled).toBe('never asked for')
    nextReservation = null
    const { submitted, settled } = await submitTo(worker.row.id, newTask({ expiresAtMs: 1 }))
    expect(settled).toBeNull()
    expect(await openRow(node, submitted.id)).toMatchObject({ status: 'PENDING' })
  })

  test('a promise is given back when the submission fails or only finds an earlier task', async () => {
    const worker = await node.worker()
    const refused = { ...newTask(), payload: '"\u0000"' }
    const promise = promiseOf(worker.row.id)
    await expect(node.intake.submit(refused)).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await promise).toBeNull()
    await node.intake.submit(newTask({ taskType: 'full' }))
    await node.query(`create function fill_up() returns trigger language plpgsql as $$
      begin raise exception 'disk full' using errcode = '53100'; end $$`)
    await node.query(`create trigger fill_up before insert on open_tasks for each row
      when (new.task_type = 'full') execute function fill_up()`)
    const whenFull = promiseOf(worker.row.id)
    await expect(node.intake.submit(newTask({ taskType: 'full' }))).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(await whenFull).toBeNull()
    await node.intake.submit(keyed('earlier'))
    expect((await submitTo(worker.row.id, keyed('earlier'))).settled).toBeNull()
  })
})
