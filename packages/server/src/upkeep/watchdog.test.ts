import { afterEach, describe, expect, test } from 'vitest'
import { attemptsOf, expectSound, openRow, statusOf, trailOf, wholeStateOf } from '../testing/facts.js'
import { claimLife, mark, passDeadline, passDue, silence, startLife, watch } from '../testing/lives.js'
import { newTask, openTestStore, quietBeat } from '../testing/test-node.js'

const { node } = await openTestStore()
afterEach(() => expectSound(node))

/** Claims without acknowledging the grant. */
async function claimUnseen({ queue, gate = '' }: { queue: string; gate?: string }) {
  const worker = await node.worker({ queues: [queue] })
  const lane = { queue, priority: 2, tenant: 'acme', gate } as const
  const {
    tasks: [task],
  } = await node.stores.queue.take({
    takes: [{ lane, sessions: [worker.row.id], fromMs: 0 }],
    taskTypes: null,
    token: 1n,
  })
  return { worker, task }
}

describe('a worker that fell silent', () => {
  test('loses its tasks at once, each a crash nearer to its end, alone in a gate for suspects', async () => {
    const first = await startLife(node)
    await silence(node, first.worker)
    await watch(node)
    expect(await openRow(node, first.id)).toMatchObject({
      status: 'PENDING',
      attempt: 1,
      crashes: 1,
      failures: 0,
      gate: '!suspect',
    })
    const second = await claimLife(node, { ...first, gate: '!suspect' })
    await silence(node, second.worker)
    await watch(node)
    expect(await openRow(node, first.id)).toMatchObject({ status: 'PENDING', attempt: 2, crashes: 2, gate: '!suspect' })
    const third = await claimLife(node, { ...first, gate: '!suspect' })
    await silence(node, third.worker)
    await watch(node)
    expect(await node.tasks.get(first.id, null)).toMatchObject({
      ...{ status: 'DEAD', reason: 'worker_lost', crashes: 3, failures: 0, attempts: 3 },
      error: { class: 'WorkerLost' },
    })
    expect(await attemptsOf(node, first.id)).toEqual(['1 lost', '2 lost', '3 lost'])
    expect(await trailOf(node, first.id)).toEqual([
      ...['lose RUNNING>PENDING @1 watchdog', 'lose RUNNING>PENDING @2 watchdog'],
      'exhaust RUNNING>DEAD @3 watchdog',
    ])
    expect(await node.query('select from dead_letters where task_id = $1', [first.id])).toHaveLength(1)
  })

  test('is dead although another one of its name beats: leases belong to a session', async () => {
    const { id, queue, worker } = await startLife(node)
    const namesake = await node.worker({ name: worker.row.name, queues: [queue] })
    await silence(node, worker)
    await node.sessions.heartbeat({ id: namesake.row.id, tenant: null }, quietBeat, new AbortController().signal)
    await watch(node)
    expect(await openRow(node, id)).toMatchObject({ status: 'PENDING', session: null, crashes: 1 })
  })

  test('costs no crash when the grant was never acknowledged, and the attempt is not shown', async () => {
    const queue = 'unseen'
    const { id } = await node.intake.submit(newTask({ queue }))
    const { worker, task } = await claimUnseen({ queue })
    expect(task?.id).toBe(id)
    await silence(node, worker)
    await watch(node)
    expect(await openRow(node, id)).toMatchObject({
      status: 'PENDING',
      attempt: 1,
      crashes: 0,
      undelivered: 1,
      gate: '!suspect',
    })
    expect(await attemptsOf(node, id)).toEqual([])
    expect(await node.tasks.get(id, null)).toMatchObject({ attempts: 0, crashes: 0 })
  })

  test('is forgiven ten grants that were never acknowledged, not more', async () => {
    const queue = 'never-seen'
    const { id } = await node.intake.submit(newTask({ queue }))
    for (let n = 0; n < 13; n++) {
      const { worker } = await claimUnseen({ queue, gate: n === 0 ? '' : '!suspect' })
      await silence(node, worker)
      await watch(node)
    }
    const [end] = await node.query('select status, crashes, undelivered, attempt from outcomes where id = $1', [id])
    expect(end).toEqual({ status: 'DEAD', crashes: 3, undelivered: 10, attempt: 13 })
  })

  test('while draining costs its tasks nothing', async () => {
    const life = await startLife(node)
    await node.query('update worker_sessions set draining = true where id = $1', [life.worker.row.id])
    await silence(node, life.worker)
    await watch(node)
    expect(await openRow(node, life.id)).toMatchObject({
      status: 'PENDING',
      crashes: 0,
      undelivered: 0,
      failures: 0,
      gate: '',
    })
  })

  test('takes only its own tasks along, and marked ones end', async () => {
    const dead = await startLife(node)
    const marked = await startLife(node)
    await node.query('update open_tasks set session = $1 where id = $2', [dead.worker.row.id, marked.id])
    const bystander = await startLife(node)
    await mark(node, marked.id)
    await silence(node, dead.worker)
    const before = await wholeStateOf(node, bystander.id)
    await watch(node)
    const { depth: _, ...after } = await wholeStateOf(node, bystander.id)
    expect(before).toMatchObject(after)
    expect(await openRow(node, dead.id)).toMatchObject({ status: 'PENDING', crashes: 1 })
    expect(await statusOf(node, marked.id)).toBe('CANCELLED')
    expect(await trailOf(node, marked.id)).toEqual([
      'request_cancel RUNNING>RUNNING @1 api',
      'lose RUNNING>CANCELLED @1 watchdog',
    ])
  })

  test('whose death was judged before is looked for again: a grant can land after it', async () => {
    const life = await startLife(node)
    await silence(node, life.worker)
    await watch(node)
    const late = await startLife(node)
    await node.query('update open_tasks set session = $1 where id = $2', [life.worker.row.id, late.id])
    await watch(node)
    expect(await openRow(node, late.id)).toMatchObject({ status: 'PENDING' })
  })

  test('with more tasks than one statement takes loses them all over some passes', async () => {
    const queue = 'many'
    await node.intake.submitBatch(Array.from({ length: 1_200 }, () => newTask({ queue })))
    const worker = await node.worker({ queues: [queue], slots: 2_000 })
    for (let n = 0; n < 3; n++) await node.claim(worker, 400, { queue })
    await silence(node, worker)
    let passes = 1
    while (await watch(node)) passes += 1
    expect(passes).toBe(3)
    const rows = await node.query('select status, crashes from open_tasks where queue = $1', [queue])
    expect(rows).toEqual(Array(1_200).fill({ status: 'PENDING', crashes: 1 }))
  })
})

describe('a deadline', () => {
  test('that passed with its grace makes the task retry; the last one kills it', async () => {
    const life = await startLife(node, { maxRetries: 1 })
    await passDeadline(node, life.id)
    await watch(node)
    const row = await openRow(node, life.id)
    expect(row).toMatchObject({ status: 'RETRYING', failures: 1, crashes: 0, gate: '' })
    const [delay] = await node.query<{ ms: number }>(
      `select extract(epoch from o.due_at - f.ended_at)::float8 * 1000 as ms
       from open_tasks o join failed_attempts f on f.task_id = o.id where o.id = $1`,
      [life.id],
    )
    expect(delay?.ms).toBe(10_000)
    await passDue(node, life.id)
    await node.stores.timers.promote([{ id: life.id, handoff: null, epoch: 1 }])
    await claimLife(node, life)
    await passDeadline(node, life.id)
    await watch(node)
    expect(await node.tasks.get(life.id, null)).toMatchObject({
      ...{ status: 'DEAD', failures: 2, reason: 'timed_out' },
      error: { class: 'TimeoutError', message: expect.stringContaining('60 s') },
    })
    expect(await attemptsOf(node, life.id)).toEqual(['1 timed_out', '2 timed_out'])
    expect(await trailOf(node, life.id)).toEqual([
      'time_out RUNNING>RETRYING @1 watchdog',
      'time_out RUNNING>DEAD @2 watchdog',
    ])
  })

  test('without its grace ends nothing', async () => {
    const life = await startLife(node)
    await node.query(`update open_tasks set deadline_at = now() - interval '5 s' where id = $1`, [life.id])
    await watch(node)
    expect(await openRow(node, life.id)).toMatchObject({ status: 'RUNNING' })
  })

  test('of a cancellation is its grace: the watchdog stops what ignores the signal', async () => {
    const life = await startLife(node)
    await mark(node, life.id)
    await watch(node)
    expect(await openRow(node, life.id)).toMatchObject({ status: 'RUNNING', marked: true })
    const [wake] = await node.query<{ inMs: number }>(
      `select extract(epoch from wake_at - cancel_requested_at)::float8 * 1000 as "inMs" from open_tasks where id = $1`,
      [life.id],
    )
    expect(wake?.inMs).toBe(6_000)
    await node.query(`update open_tasks set wake_at = now() where id = $1`, [life.id])
    await watch(node)
    expect(await node.tasks.get(life.id, null)).toMatchObject({
      status: 'CANCELLED',
      failures: 0,
      error: { class: 'Stopped' },
    })
    expect(await trailOf(node, life.id)).toEqual([
      'request_cancel RUNNING>RUNNING @1 api',
      'stop RUNNING>CANCELLED @1 watchdog',
    ])
  })

  test('keeps a suspect in its gate', async () => {
    const first = await startLife(node)
    await silence(node, first.worker)
    await watch(node)
    await claimLife(node, { ...first, gate: '!suspect' })
    await passDeadline(node, first.id)
    await watch(node)
    expect(await openRow(node, first.id)).toMatchObject({
      status: 'RETRYING',
      crashes: 1,
      failures: 1,
      gate: '!suspect',
    })
  })
})

test('two watchdogs at once count each loss and each deadline once', async () => {
  const lives = await Promise.all(Array.from({ length: 20 }, () => startLife(node)))
  for (const [n, life] of lives.entries()) await (n % 2 ? silence(node, life.worker) : passDeadline(node, life.id))
  await Promise.all([watch(node), watch(node), watch(node)])
  for (const [n, life] of lives.entries()) {
    const expected =
      n % 2 ? { status: 'PENDING', crashes: 1, failures: 0 } : { status: 'RETRYING', crashes: 0, failures: 1 }
    expect(await openRow(node, life.id)).toMatchObject(expected)
  }
})
