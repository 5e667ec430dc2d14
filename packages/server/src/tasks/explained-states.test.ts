import { encodeId, type Uuid } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import {
  claimLife,
  error,
  mark,
  passDeadline,
  passDue,
  say,
  silence,
  startLife,
  watch,
  words,
} from '../testing/lives.js'
import type { newTask } from '../testing/test-node.js'
import { Graph } from '../testing/workflows.js'
import { causeOf, codesOf, openExplainBench, otherCodes } from './testing/explain-bench.js'

const bench = await openExplainBench(otherCodes)
const { node } = bench

describe('a task that waits for its time', () => {
  test('says when it is due, and who will be missing then', async () => {
    const { id, queue } = await bench.submit({ delayMs: 3_600_000 })
    expect(codesOf(await bench.explain(id))).toEqual(['not_due', 'no_worker_for_queue'])
    await node.worker({ queues: [queue] })
    expect((await bench.explain(id)).summary).toMatch(/^It is due in (59 min|1 h)/)
    await passDue(node, id)
    expect(codesOf(await bench.explain(id))).toEqual(['due'])
  })

  test('needs a scheduler that lives', async () => {
    const { id, queue } = await bench.submit({ delayMs: 3_600_000 })
    await node.worker({ queues: [queue] })
    await bench.scheduler(false)
    expect(codesOf(await bench.explain(id))).toEqual(['not_due', 'no_scheduler'])
    await passDue(node, id)
    const dead = await bench.explain(id)
    expect(codesOf(dead)).toEqual(['no_scheduler'])
    expect(dead.summary).toMatch(/the last was seen 3\d s ago\.$/)
    await node.query(`update nodes set roles = '{api}', seen_at = now() + interval '1 hour'`)
    expect(codesOf(await bench.explain(id))).toEqual(['no_scheduler'])
    await node.query(`update nodes set roles = '{api,scheduler}'`)
  })

  test('put off by its handler says so', async () => {
    const life = await startLife(node)
    await say(node, life, words.snooze)
    const put = await bench.explain(life.id)
    expect(codesOf(put)).toEqual(['snoozed'])
    expect(put.summary).toMatch(/^Its handler put it off by 1 min, once so far; it is due again in (\d\d s|1 min)/)
  })

  test('tried again says why, how long, and who wanted the delay', async () => {
    const drawn = await startLife(node)
    await say(node, drawn, words.retry)
    const retrying = await bench.explain(drawn.id)
    expect(codesOf(retrying)).toEqual(['retrying'])
    expect(retrying.causes[0]).toMatchObject({
      ...{
        failures: 1,
        maxRetries: 3,
        attempt: 1,
        delayMs: 10_000,
        delayFrom: 'backoff',
        backoff: 'fixed',
        jitter: 'none',
      },
      error: { class: error.class, message: error.message },
    })
    const wished = await startLife(node)
    await say(node, wished, { ...words.retry, retryAfterMs: 30_000 } as unknown as typeof words.retry)
    expect((await bench.explain(wished.id)).causes[0]).toMatchObject({ delayMs: 30_000, delayFrom: 'handler' })
    const timedOut = await startLife(node)
    await passDeadline(node, timedOut.id)
    await watch(node)
    expect((await bench.explain(timedOut.id)).summary).toMatch(/^Attempt 1 ran out of time/)
    // written by a version that did not keep it
    await node.query('update failed_attempts set delay_wished = null where task_id = $1', [drawn.id])
    expect((await bench.explain(drawn.id)).causes[0]).toMatchObject({ delayFrom: null })
  })

  test('for the end of an earlier task of its definition names it', async () => {
    const earlier = await startLife(node)
    const { id } = await bench.submit({ delayMs: 3_600_000 })
    const cron = '01a22897-5adc-700f-9efd-267978275483'
    await mark(node, earlier.id)
    await node.query('update open_tasks set cron_id = $1 where id = any ($2)', [cron, [earlier.id, id]])
    await node.query('update tasks set cron_id = $1 where id = any ($2)', [cron, [earlier.id, id]])
    await node.query(
      `update open_tasks set status = 'BLOCKED', blockers = 1, due_at = null, wake_at = null where id = $1`,
      [id],
    )
    const blocked = await bench.explain(id)
    expect(blocked.causes[0]).toMatchObject({
      ...{ code: 'waits_for_earlier', blockerCount: 1, blockers: [{ id: earlier.id, node: null, status: 'RUNNING' }] },
    })
    await say(node, earlier, words.stop)
    expect((await bench.explain(id)).summary).toMatch(/becomes ready in an instant/)
    await node.query(`update open_tasks set status = 'PENDING', blockers = 0, ready_at = now() where id = $1`, [id])
  })
})

describe('a RUNNING task', () => {
  test('says who runs it, how its lease stands, and how far it is', async () => {
    const life = await startLife(node)
    await node.query(`insert into task_progress (task_id, percent, note, updated_at) values ($1, 40, 'half', now())`, [
      life.id,
    ])
    const running = await bench.explain(life.id)
    expect(codesOf(running)).toEqual(['running', 'progress'])
    expect(running.causes[0]).toMatchObject({
      workerId: life.worker.row.id,
      workerName: 'w',
      attempt: 1,
      isLeaseLive: true,
    })
    expect(running.summary).toContain(encodeId('worker', life.worker.row.id))
  })

  test('whose grant was not acknowledged, whose worker drains or is to stop it, says so', async () => {
    const life = await startLife(node)
    await node.query('update session_grants set received = 0 where session = $1', [life.worker.row.id])
    await node.stores.sessions.drain(life.worker.row.id)
    expect(codesOf(await bench.explain(life.id))).toEqual(['running', 'unacknowledged', 'worker_draining'])
    await mark(node, life.id)
    expect(causeOf(await bench.explain(life.id), 'cancel_requested')).toMatchObject({ reason: 'cancel_requested' })
  })

  test('whose worker is silent, or whose time is over, says what comes next', async () => {
    const life = await startLife(node)
    await silence(node, life.worker)
    expect((await bench.explain(life.id)).summary).toMatch(
      /its lease is over, and the task is about to be taken back\.$/,
    )
    const late = await startLife(node)
    await passDeadline(node, late.id)
    expect(codesOf(await bench.explain(late.id))).toEqual(['past_deadline', 'running'])
  })
})

describe('a task that has ended', () => {
  const ended = async (said: Parameters<typeof say>[2], over: Parameters<typeof newTask>[0] = {}): Promise<Uuid> => {
    const life = await startLife(node, over)
    await say(node, life, said)
    return life.id
  }

  test('by its worker says how', async () => {
    expect(codesOf(await bench.explain(await ended(words.succeed)))).toEqual(['succeeded'])
    const failed = await bench.explain(await ended(words.fail))
    expect(failed.causes[0]).toMatchObject({ code: 'failed', error: { class: 'Boom' }, workerName: 'w' })
    const dead = await ended(words.retry, { maxRetries: 0 })
    expect(codesOf(await bench.explain(dead))).toEqual(['retries_exhausted', 'dead_letter'])
    await node.query('delete from dead_letters where task_id = $1', [dead])
    await node.query('update outcomes set discarded_at = now() where id = $1', [dead])
    expect(codesOf(await bench.explain(dead))).toEqual(['retries_exhausted', 'discarded'])
  })

  test('by crashes or snoozes says so', async () => {
    const queue = bench.newQueue()
    const { id } = await bench.submit({ queue })
    for (const gate of ['', '!suspect', '!suspect']) {
      const life = await claimLife(node, { id, queue, gate })
      await silence(node, life.worker)
      await watch(node)
    }
    expect(codesOf(await bench.explain(id))).toEqual(['crashes_exhausted', 'dead_letter'])
    const sleepy = await startLife(node)
    await node.query('update open_tasks set snoozes = 1000 where id = $1', [sleepy.id])
    await say(node, sleepy, words.snooze)
    expect(codesOf(await bench.explain(sleepy.id))).toEqual(['snoozes_exhausted', 'dead_letter'])
  })

  test('by a cancellation names who asked for it, not the worker or the watchdog that obeyed', async () => {
    const life = await startLife(node)
    await mark(node, life.id)
    await say(node, life, words.stop)
    expect((await bench.explain(life.id)).causes).toMatchObject([{ code: 'cancelled', actor: 'api:tester' }])
    const deaf = await startLife(node)
    await mark(node, deaf.id)
    await node.query(`update open_tasks set wake_at = now() - interval '1 s' where id = $1`, [deaf.id])
    await watch(node)
    expect((await bench.explain(deaf.id)).causes).toMatchObject([{ code: 'cancelled', actor: 'api:tester' }])
    // an earlier run's request is not this one's
    await node.tasks.replay(deaf.id, null, { kind: 'api', name: 'tester' })
    await node.tasks.cancel(deaf.id, null, { kind: 'api', name: 'other' })
    expect((await bench.explain(deaf.id)).causes).toMatchObject([{ code: 'cancelled', actor: 'api:other' }])
  })

  test('DEAD and discarded names who did which', async () => {
    const dead = await ended(words.retry, { maxRetries: 0 })
    await node.stores.deadLetters.discard([dead], null, { actor: 'api:tester', reason: null })
    const [died, discarded] = (await bench.explain(dead)).causes
    expect(died).toMatchObject({ code: 'retries_exhausted', actor: expect.stringMatching(/^worker-/) })
    expect(discarded).toMatchObject({ code: 'discarded', actor: 'api:tester' })
  })

  test('without a worker says who ended it, and why', async () => {
    const cancelled = await bench.submit()
    await mark(node, cancelled.id)
    expect((await bench.explain(cancelled.id)).causes).toMatchObject([{ code: 'cancelled', actor: 'api:tester' }])
    const reasons = { expired: 'expired', skipped: 'skipped', purged: 'purged', overlap: 'overlapped' } as const
    for (const [reason, code] of Object.entries(reasons)) {
      await node.query('update outcomes set reason = $2 where id = $1', [cancelled.id, reason])
      expect(codesOf(await bench.explain(cancelled.id))).toEqual([code])
    }
    const upstream = await ended(words.fail)
    await node.query(`update outcomes set reason = 'dependency' where id = $1`, [upstream])
    expect(codesOf(await bench.explain(upstream))).toEqual(['dependency_failed'])
  })

  test('and was run again is explained anew', async () => {
    const id = await ended(words.retry, { maxRetries: 0 })
    await node.tasks.replay(id, null, { kind: 'api' })
    const again = await bench.explain(id)
    expect(again.status).toBe('PENDING')
    expect(codesOf(again)).not.toContain('retrying')
  })
})

describe('a node of a workflow', () => {
  test('that was skipped names its rule', async () => {
    const graph = await Graph.submit(node, { a: {}, mend: { after: ['a'], rule: 'one_failed' } })
    await graph.claim()
    expect((await bench.explain(graph.idOf('mend'))).summary).toBe(
      'It waits for 1 dependency: a RUNNING. By its trigger rule one_failed it runs as soon as one has failed or was cancelled.',
    )
    await graph.say('a')
    const { summary, causes } = await bench.explain(graph.idOf('mend'))
    expect(summary).toMatch(
      /^It was skipped .+ ago: by its trigger rule one_failed it runs as soon as one has failed or was cancelled, which can not be any more\.$/,
    )
    expect(causes[0]).toMatchObject({ code: 'skipped', triggerRule: 'one_failed', blockerCount: 0 })
  })

  test('names what it waits for, and what ended otherwise than it must', async () => {
    const graph = await Graph.submit(node, { a: {}, b: {}, join: { after: ['a', 'b'] }, last: { after: ['join'] } })
    const id = (name: string): Uuid => graph.idOf(name)
    await graph.claim()
    const both = await bench.explain(id('join'))
    expect(both.summary).toBe('It waits for 2 dependencies: a RUNNING, b RUNNING.')
    expect(both.causes[0]).toMatchObject({
      code: 'waits_for_dependencies',
      blockerCount: 2,
      triggerRule: 'all_succeeded',
    })
    await graph.say('a')
    expect((await bench.explain(id('join'))).causes[0]?.blockers).toEqual([
      { id: id('b'), node: 'b', status: 'RUNNING' },
    ])
    await graph.say('b', words.fail)
    const failed = await bench.explain(id('join'))
    expect(failed.causes[0]).toMatchObject({
      ...{ code: 'dependency_failed', blockers: [{ id: id('b'), node: 'b', status: 'FAILED' }] },
    })
    expect(failed.summary).toMatch(/since b \(FAILED\) ended otherwise than it must\.$/)
    expect((await bench.explain(id('last'))).summary).toMatch(/since join \(FAILED\)/)
  })
})

test('what does not exist is not explained', async () => {
  await expect(bench.explainer.explain('01a22897-5adc-700f-9efd-267978275482', null)).rejects.toMatchObject({
    code: 'not_found',
  })
})
