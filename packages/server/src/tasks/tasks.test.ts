import { afterEach, describe, expect, test } from 'vitest'
import { attemptsOf, expectSound, openRow, statusOf, trailOf, wholeStateOf } from '../testing/facts.js'
import { claimLife, error, type Life, mark, passDue, say, silence, startLife, watch, words } from '../testing/lives.js'
import { keyed, newTask, openTestNode, openTestStore } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store
afterEach(() => expectSound(node))

const api = { kind: 'api', name: 'tester' } as const
const unknown = '01a22897-5adc-700f-9efd-267978275482'
const never = new AbortController().signal

describe('cancel', () => {
  test('ends a waiting task at once, and says so again when asked again', async () => {
    const { id } = await node.intake.submit(newTask({ delayMs: 60_000 }))
    const first = await node.tasks.cancel(id, null, api)
    expect(first).toMatchObject({ id, status: 'CANCELLED', cancelRequested: false, cancelledAtMs: expect.any(Number) })
    expect(await node.tasks.cancel(id, null, api)).toEqual(first)
    expect(await node.tasks.get(id, null)).toMatchObject({
      status: 'CANCELLED',
      reason: 'cancelled',
      completedAtMs: first.cancelledAtMs,
    })
    expect(await trailOf(node, id)).toEqual(['cancel SCHEDULED>CANCELLED @- api'])
  })

  test('marks a running task, tells its session once, and is shown', async () => {
    const life = await startLife(node)
    const marked = { id: life.id, status: 'RUNNING', cancelRequested: true, cancelledAtMs: null }
    expect(await node.tasks.cancel(life.id, null, api)).toEqual(marked)
    expect(await node.tasks.cancel(life.id, null, api)).toEqual(marked)
    expect(node.toldToCancel.filter((session) => session === life.worker.row.id)).toHaveLength(1)
    expect(await node.tasks.get(life.id, null)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    const [held] = await node.stores.sessions.held([life.worker.row.id])
    expect(held).toMatchObject({ id: life.id, cancelReason: 'cancel_requested' })
    expect(await say(node, life, words.stop)).toMatchObject({ status: 'CANCELLED' })
    expect(await node.tasks.get(life.id, null)).toMatchObject({
      status: 'CANCELLED',
      reason: 'cancel_requested',
      cancelRequested: false,
    })
  })

  test.each(['succeed', 'fail'] as const)('of a task that ended (%s) is refused by its state', async (verb) => {
    const life = await startLife(node)
    await say(node, life, words[verb])
    const before = await wholeStateOf(node, life.id)
    await expect(node.tasks.cancel(life.id, null, api)).rejects.toMatchObject({ code: 'wrong_state' })
    expect(await wholeStateOf(node, life.id)).toEqual(before)
  })

  test('a worker that gives up a task nobody cancelled has failed', async () => {
    const life = await startLife(node)
    expect(await say(node, life, words.stop)).toMatchObject({ accepted: true, status: 'FAILED' })
    expect(await node.tasks.get(life.id, null)).toMatchObject({ error: { class: 'CancelledByWorker' } })
  })
})

describe('replay', () => {
  const dead = async (): Promise<Life> => {
    const first = await startLife(node, { maxRetries: 0 })
    await silence(node, first.worker)
    await watch(node)
    const second = await claimLife(node, { ...first, gate: '!suspect' })
    await say(node, second, words.retry)
    expect(await node.tasks.get(first.id, null)).toMatchObject({ status: 'DEAD', failures: 1, crashes: 1, error })
    return second
  }

  test('runs a dead task again: attempts go on, retries are restored, the run is archived', async () => {
    const life = await dead()
    const before = await node.tasks.get(life.id, null)
    const record = await node.tasks.replay(life.id, null, api)
    expect(record).toMatchObject({
      status: 'PENDING',
      attempts: 2,
      failures: 0,
      crashes: 0,
      error: null,
      completedAtMs: null,
    })
    expect(await openRow(node, life.id)).toMatchObject({ attempt: 2, run: 2, gate: '', undelivered: 0, snoozes: 0 })
    expect(await node.query('select from dead_letters where task_id = $1', [life.id])).toEqual([])
    const [run] = await node.query('select * from runs where task_id = $1', [life.id])
    expect(run).toMatchObject({
      run: 1,
      status: 'DEAD',
      attempt: 2,
      failures: 1,
      crashes: 1,
      error_class: 'Boom',
      session: before.workerId,
    })
    const third = await claimLife(node, life)
    expect(third.lease).toMatch(/^3-/)
    await say(node, third, words.succeed)
    expect(await attemptsOf(node, life.id)).toEqual(['1 lost', '2 failed', '3 succeeded'])
    expect((await node.tasks.attempts(life.id, null)).map(({ run }) => run)).toEqual([1, 1, 2])
    expect(await node.tasks.get(life.id, null)).toMatchObject({
      status: 'SUCCEEDED',
      result: '{"ok":true}',
      error: null,
    })
  })

  test('can be done again and again, each run with the retries that it was given', async () => {
    const first = await startLife(node, { maxRetries: 0 })
    await say(node, first, words.retry)
    for (let run = 2; run <= 4; run++) {
      await node.tasks.replay(first.id, null, api)
      const life = await claimLife(node, first)
      expect(await say(node, life, words.retry)).toMatchObject({ status: 'DEAD' })
      expect(await node.query('select from runs where task_id = $1', [first.id])).toHaveLength(run - 1)
    }
    expect(await trailOf(node, first.id)).toHaveLength(4 + 3)
  })

  test('of what expired or was cancelled does not expire again', async () => {
    const { id } = await node.intake.submit(newTask({ queue: 'expired', expiresAtMs: 1 }))
    expect(await node.stores.timers.expire([{ id, epoch: 1 }])).toMatchObject({ ended: [{ id }] })
    expect(await node.tasks.get(id, null)).toMatchObject({ status: 'CANCELLED', reason: 'expired' })
    await node.tasks.replay(id, null, api)
    expect(await node.stores.timers.expire([{ id, epoch: 1 }])).toEqual({ ended: [], nodes: [] })
    expect(await node.claim(await node.worker(), 1, { queue: 'expired' })).toMatchObject([{ id, attempt: 1 }])
  })

  test('keeps the key: it still finds the task', async () => {
    const task = keyed('replayed', 'a', { queue: 'keyed' })
    const { id } = await node.intake.submit(task)
    await node.tasks.cancel(id, null, api)
    await node.tasks.replay(id, null, api)
    expect(await node.intake.submit(task)).toMatchObject({ id, replayed: true, status: 'PENDING' })
  })

  test('of what waits, runs or succeeded, or was discarded, is refused', async () => {
    const life = await startLife(node)
    await expect(node.tasks.replay(life.id, null, api)).rejects.toMatchObject({ code: 'wrong_state' })
    await say(node, life, words.succeed)
    await expect(node.tasks.replay(life.id, null, api)).rejects.toMatchObject({ code: 'wrong_state' })
    const { id } = await dead()
    await node.stores.deadLetters.discard([id], null, { actor: 'api:tester', reason: null })
    await expect(node.tasks.replay(id, null, api)).rejects.toMatchObject({ code: 'wrong_state' })
  })
})

describe('what cannot be found', () => {
  test.each(['get', 'cancel', 'replay', 'attempts', 'events'] as const)('is said by %s', async (method) => {
    await expect(node.tasks[method](unknown, null, api)).rejects.toMatchObject({ code: 'not_found' })
  })
  test('is said at once also by a caller who would wait', async () => {
    await expect(node.tasks.getFinished(unknown, null, { waitMs: 60_000, signal: never })).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(node.waiters.ids).toEqual([])
  })
})

describe('waiting for the end', () => {
  test('ends with the task, whichever way it ends, and holds nothing after it', async () => {
    const lives = await Promise.all(Array.from({ length: 4 }, () => startLife(node)))
    const [a, b, c, d] = lives as [Life, Life, Life, Life]
    const waits = lives.map(({ id }) => node.tasks.getFinished(id, null, { waitMs: 60_000, signal: never }))
    await mark(node, c.id)
    await silence(node, d.worker)
    await node.query('update open_tasks set crashes = 2 where id = $1', [d.id])
    await node.query(
      `insert into failed_attempts (task_id, attempt, run, outcome, ended_at) values ($1, 100, 1, 'lost', now()), ($1, 101, 1, 'lost', now())`,
      [d.id],
    )
    await Promise.all([say(node, a, words.succeed), say(node, b, words.fail), say(node, c, words.release), watch(node)])
    expect((await Promise.all(waits)).map(({ status }) => status)).toEqual(['SUCCEEDED', 'FAILED', 'CANCELLED', 'DEAD'])
    expect(node.waiters.ids).toEqual([])
    await node.query('update outcomes set attempt = 3 where id = $1', [d.id])
  })

  test('answers as it stands when the time is up or the client went away', async () => {
    const life = await startLife(node)
    expect(await node.tasks.getFinished(life.id, null, { waitMs: 1, signal: never })).toMatchObject({
      status: 'RUNNING',
    })
    expect(await node.tasks.getFinished(life.id, null, { waitMs: 0, signal: never })).toMatchObject({
      status: 'RUNNING',
    })
    const leaving = new AbortController()
    const wait = node.tasks.getFinished(life.id, null, { waitMs: 60_000, signal: leaving.signal })
    while (node.waiters.ids.length === 0) await node.query('select 1')
    leaving.abort()
    expect(await wait).toMatchObject({ status: 'RUNNING' })
    expect(await node.tasks.getFinished(life.id, null, { waitMs: 60_000, signal: AbortSignal.abort() })).toMatchObject({
      status: 'RUNNING',
    })
    expect(node.waiters.ids).toEqual([])
  })

  test('is not missed when the end comes between the look and the wait', async () => {
    for (let round = 0; round < 20; round++) {
      const life = await startLife(node)
      const [record] = await Promise.all([
        node.tasks.getFinished(life.id, null, { waitMs: 60_000, signal: never }),
        say(node, life, words.succeed),
      ])
      expect(record.status).toBe('SUCCEEDED')
    }
  })

  test('an end at another node is found by asking the store for the tasks that are waited for', async () => {
    const other = await openTestNode(store.url, { number: 1 })
    const life = await startLife(node)
    const wait = other.tasks.getFinished(life.id, null, { waitMs: 60_000, signal: never })
    while (other.waiters.ids.length === 0) await node.query('select 1')
    await say(node, life, words.succeed)
    other.waiters.finished(await other.stores.tasks.finishedOf(other.waiters.ids))
    expect(await wait).toMatchObject({ status: 'SUCCEEDED' })
    await other.close()
  })
})

describe('the record', () => {
  test('shows the last error while it retries, and the worker while it runs', async () => {
    const life = await startLife(node)
    expect(await node.tasks.get(life.id, null)).toMatchObject({
      workerId: life.worker.row.id,
      workerName: 'w',
      attempts: 1,
      error: null,
    })
    await say(node, life, words.retry)
    const record = await node.tasks.get(life.id, null)
    expect(record).toMatchObject({ status: 'RETRYING', error, workerId: null, failures: 1 })
    expect(Number(record.dueAtMs) - record.createdAtMs).toBeGreaterThan(10_000)
    const [attempt] = await node.tasks.attempts(life.id, null)
    expect(attempt).toMatchObject({
      attempt: 1,
      run: 1,
      outcome: 'failed',
      retryDelayMs: 10_000,
      error,
      workerName: 'w',
    })
  })

  test('hides a result whose time is over', async () => {
    const life = await startLife(node, { resultTtlMs: 1_000 })
    await say(node, life, words.succeed)
    expect(await node.tasks.get(life.id, null)).toMatchObject({ result: '{"ok":true}' })
    await node.query(`update outcomes set completed_at = completed_at - interval '2 s' where id = $1`, [life.id])
    expect(await node.tasks.get(life.id, null)).toMatchObject({ status: 'SUCCEEDED', result: null })
    await node.query(`update outcomes set completed_at = completed_at + interval '2 s' where id = $1`, [life.id])
  })

  test('a snooze too many ends in the dead letters', async () => {
    const life = await startLife(node)
    await node.query('update open_tasks set snoozes = 999 where id = $1', [life.id])
    expect(await say(node, life, words.snooze)).toMatchObject({ status: 'SCHEDULED' })
    await passDue(node, life.id)
    await node.stores.timers.promote([{ id: life.id, handoff: null, epoch: 1 }])
    expect(await say(node, await claimLife(node, life), words.snooze)).toMatchObject({ status: 'DEAD' })
    expect(await node.tasks.get(life.id, null)).toMatchObject({ failures: 0, error: { class: 'TooManySnoozes' } })
    expect(await trailOf(node, life.id)).toEqual([
      ...['snooze RUNNING>SCHEDULED @1 worker', 'exhaust RUNNING>DEAD @2 worker'],
    ])
  })

  test('the handler that asked for its own delay gets it', async () => {
    const life = await startLife(node)
    expect(await say(node, life, { ...words.retry, retryAfterMs: 3_600_000 } as never)).toMatchObject({
      status: 'RETRYING',
    })
    const row = await openRow(node, life.id)
    expect(row?.dueInMs).toBeGreaterThan(3_000_000)
    expect(await statusOf(node, life.id)).toBe('RETRYING')
  })
})
