import { describe, expect, it } from 'vitest'
import { defineTask, PermanentError, type StandardSchema, type TaskStatus } from '../index.js'
import { runHandler } from './index.js'

/** Takes numbers as text, gives them as numbers. */
const numeric: StandardSchema<string, number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      /^\d+$/.test(String(value)) ? { value: Number(value) } : { issues: [{ message: 'must be digits' }] },
  },
}
const double = defineTask('double', { payload: numeric, result: numeric, timeout: '10s', queue: 'sums' })

describe('the end of a handler is a value', () => {
  it('a result, through both schemas and JSON', async () => {
    const run = await runHandler(double, (n) => String(n * 2), '21')
    expect(run.outcome).toEqual({ kind: 'succeeded', result: '"42"' })
    expect(run.result).toBe('42')
    expect(run.isStuck).toBe(false)
    const dated = await runHandler('dated', () => ({ at: new Date(0), none: undefined }), null)
    expect(dated.result).toEqual({ at: '1970-01-01T00:00:00.000Z' })
  })

  it('a payload or a result that does not fit its schema fails for good', async () => {
    const called: unknown[] = []
    const refused = await runHandler(double, (n) => String(called.push(n)), 'x')
    expect(called).toEqual([])
    expect(refused.outcome).toMatchObject({
      kind: 'failed',
      isRetryable: false,
      error: { class: 'InvalidPayloadError' },
    })
    const unfit = await runHandler(double, () => 'y', '1')
    expect(unfit.outcome).toMatchObject({ kind: 'failed', isRetryable: false, error: { class: 'InvalidResultError' } })
  })

  it('an error is tried again, a permanent one is not; what was thrown is there', async () => {
    const boom = new Error('boom')
    const failed = await runHandler('work', () => Promise.reject(boom), null)
    expect(failed.outcome).toMatchObject({ kind: 'failed', isRetryable: true, retryAfterMs: null, isTimedOut: false })
    expect(failed.error).toBe(boom)
    expect(failed.result).toBeUndefined()
    const permanent = await runHandler(
      'work',
      () => {
        throw new PermanentError('no such card')
      },
      null,
    )
    expect(permanent.outcome).toMatchObject({ kind: 'failed', isRetryable: false, error: { message: 'no such card' } })
  })

  it('a delay that was asked for, and a snooze', async () => {
    const later = await runHandler('work', (_, context) => context.retryAfter('2h'), null)
    expect(later.outcome).toMatchObject({ kind: 'failed', isRetryable: true, retryAfterMs: 7_200_000 })
    const snoozed = await runHandler(
      'work',
      (_, context) => {
        throw context.snooze('1d')
      },
      null,
    )
    expect(snoozed.outcome).toEqual({ kind: 'snoozed', delayMs: 86_400_000 })
  })

  it('a classifier decides as in the worker', async () => {
    const run = await runHandler(
      'work',
      () => {
        throw new Error('404')
      },
      null,
      { classifyError: () => 'permanent' },
    )
    expect(run.outcome).toMatchObject({ kind: 'failed', isRetryable: false })
  })
})

describe('its signal', () => {
  const untilAborted = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

  it('aborts at the time limit', async () => {
    const run = await runHandler('work', (_, { signal }) => untilAborted(signal), null, { timeout: '20ms' })
    expect(run.outcome).toMatchObject({ kind: 'failed', isTimedOut: true, isRetryable: true })
  })

  it('aborts when the task is cancelled, also before it began', async () => {
    const controller = new AbortController()
    const running = runHandler(
      'work',
      (_, { signal }) => {
        queueMicrotask(() => controller.abort())
        return untilAborted(signal)
      },
      null,
      { signal: controller.signal },
    )
    expect((await running).outcome).toEqual({ kind: 'cancelled' })
    const never = () => expect.unreachable('it must not start')
    const late = await runHandler('work', never, null, { signal: AbortSignal.abort() })
    expect(late.outcome).toEqual({ kind: 'cancelled' })
  })

  it('a handler that ignores it is told from one that obeys', async () => {
    const run = await runHandler('work', () => new Promise(() => {}), null, { timeout: '10ms', abortGrace: '10ms' })
    expect(run).toMatchObject({ isStuck: true, outcome: { kind: 'failed', isTimedOut: true } })
  })
})

describe('what it does on its way', () => {
  it('is recorded: progress, log lines, checkpoints, submissions', async () => {
    const run = await runHandler(
      'work',
      async (_, context) => {
        context.progress(50, 'half')
        context.log('warn', 'slow')
        expect(context.checkpoint.value).toEqual({ page: 1 })
        await context.checkpoint.set({ page: 2 })
        const handle = await context.submit(double, '4', { delay: '1h' })
        await context.submit('plain')
        return handle.id
      },
      null,
      { checkpoint: { page: 1 }, metadata: { tenant_id: 'acme' }, traceparent: '00-1-2-01' },
    )
    const inherited = { tenant: 'acme', traceparent: '00-1-2-01' }
    expect(run).toMatchObject({
      result: 'task-submitted-1',
      progress: [{ percent: 50, note: 'half' }],
      logs: [{ level: 'warn', message: 'slow' }],
      checkpoints: [{ page: 2 }],
      submitted: [
        { taskType: 'double', payload: '4', options: { ...inherited, delay: '1h' } },
        { taskType: 'plain', payload: undefined, options: inherited },
      ],
    })
  })

  it('is checked as it would be: payloads, checkpoints', async () => {
    const wrong = await runHandler('work', (_, context) => context.submit(double, 'x'), null)
    expect(wrong.outcome).toMatchObject({ kind: 'failed', error: { class: 'InvalidPayloadError' } })
    expect(wrong.submitted).toEqual([])
    const large = await runHandler('work', (_, context) => context.checkpoint.set('x'.repeat(300_000)), null)
    expect(large.outcome).toMatchObject({ error: { class: 'RangeError' } })
    const asks = await runHandler('work', async (_, context) => (await context.submit('plain')).result(), null)
    expect(asks.outcome).toMatchObject({ error: { message: expect.stringContaining('has no server') } })
  })

  it('it is told what the attempt is', async () => {
    const fired = { scheduledAt: new Date('2026-05-01T09:00:00Z'), cronId: 'cron-1' }
    const options = { ...fired, attempt: 3, taskId: 'task-7', dependencyResults: { first: 1 }, metadata: { a: 1 } }
    const run = await runHandler(
      double,
      (n, context) => {
        const { attempt, failures, taskId, idempotencyKey, queue, taskType, dependencyResults, metadata } = context
        const { scheduledAt, cronId } = context
        expect({ scheduledAt, cronId }).toEqual(fired)
        expect({
          ...fired,
          attempt,
          failures,
          taskId,
          idempotencyKey,
          queue,
          taskType,
          dependencyResults,
          metadata,
        }).toEqual({
          ...options,
          ...{ failures: 2, idempotencyKey: 'task-7', queue: 'sums', taskType: 'double' },
        })
        expect(context.deadline.getTime() - Date.now()).toBeGreaterThan(5_000)
        return String(n)
      },
      '1',
      options,
    )
    expect(run.error).toBeUndefined()
    expect(run.outcome.kind).toBe('succeeded')
  })

  it('the fire time as text, and none unless given', async () => {
    const scheduledAt = '2026-05-01T11:00:00+02:00'
    const dated = await runHandler('work', (_, context) => context.scheduledAt, null, { scheduledAt })
    expect(dated.result).toBe('2026-05-01T09:00:00.000Z')
    const plain = await runHandler('work', (_, { scheduledAt: at, cronId }) => ({ at, cronId }), {})
    expect(plain.result).toEqual({ at: null, cronId: null })
  })

  it('no option that there is not', async () => {
    const misspelt = { scheduledat: '2026-05-01T09:00:00Z' } as object
    const called = runHandler('work', () => expect.unreachable('it must not start'), null, misspelt)
    await expect(called).rejects.toThrow('runHandler: there is no option scheduledat; did you mean scheduledAt?')
  })
})

describe('a task of a workflow', () => {
  const account = defineTask('create_account', { result: numeric })
  const mail = defineTask('send_mail', { dependencies: { 'create-account': account } })

  it('reads the results of those that it waited for, through their schemas', async () => {
    const run = await runHandler(
      mail,
      async (_, { dependencies, nodeName, workflowId }) => ({
        account: await dependencies.result('create-account'),
        failed: await dependencies.result('other').catch((error: unknown) => String(error)),
        of: [workflowId, nodeName],
      }),
      null,
      {
        dependencyResults: { 'create-account': '42' },
        dependencyStatuses: { other: 'DEAD' },
        nodeName: 'mail',
      },
    )
    expect(run.result).toEqual({
      account: 42,
      failed: 'NoResultError: other has no result: it ended DEAD',
      of: ['wf-under-test', 'mail'],
    })
  })

  it('fails for good where it asks for the result of one that ended without, but not of one that may have it yet', async () => {
    const ask = (dependencyStatuses: Record<string, TaskStatus>) =>
      runHandler(mail, (_, { dependencies }) => dependencies.result('create-account'), null, { dependencyStatuses })
    expect((await ask({ 'create-account': 'FAILED' })).outcome).toMatchObject({ kind: 'failed', isRetryable: false })
    expect((await ask({ other: 'SUCCEEDED' })).outcome).toMatchObject({
      ...{ kind: 'failed', isRetryable: true },
      error: { message: 'create-account has no result: it has not ended' },
    })
  })

  it('submits children, which are kept with the names that were given', async () => {
    const options = { nodeName: 'split', metadata: { tenant_id: 'acme' }, traceparent: '00-1-2-01' }
    const run = await runHandler(
      'split',
      async (_, { submit }) => {
        await submit(double, '4', { name: 'first' })
        await submit('plain', null, { idempotencyKey: 'k' })
      },
      null,
      options,
    )
    const { traceparent } = options
    expect(run.error).toBeUndefined()
    expect(run.submitted).toEqual([
      { taskType: 'double', payload: '4', options: { name: 'first', traceparent } },
      { taskType: 'plain', payload: null, options: { idempotencyKey: 'k', tenant: 'acme', traceparent } },
    ])
  })

  it('adds tasks, which are kept', async () => {
    const run = await runHandler(
      'split',
      async (_, context) => {
        const added = await context.addTasks((graph) => {
          const part = graph.task('part-1', double, '21')
          graph.task('merge', 'merge', null, { after: [part, 'other'] })
        })
        return added.get('part-1')
      },
      null,
      { nodeName: 'split' },
    )
    expect(run.result).toEqual({ id: 'task-added-part-1', status: 'BLOCKED', isReplay: false })
    expect(run.added).toEqual([
      { name: 'part-1', taskType: 'double', payload: '21', after: [] },
      { name: 'merge', taskType: 'merge', payload: null, after: ['part-1', 'other'] },
    ])
  })

  it('submits others, which are told', async () => {
    const run = await runHandler(
      'nightly',
      async (_, context) => {
        const nightly = context.workflow('nightly')
        const part = nightly.task('part', double, '21')
        nightly.task('merge', 'merge', null, { after: [part] })
        const handle = await nightly.submit({ idempotencyKey: context.idempotencyKey })
        return [handle.id, handle.node(part).receipt.status, handle.node('merge').receipt.status]
      },
      null,
      { idempotencyKey: 'k', metadata: { tenant_id: 'acme' }, traceparent: '00-1-2-01' },
    )
    expect(run.result).toEqual(['wf-submitted-1', 'PENDING', 'BLOCKED'])
    expect(run.workflows).toEqual([
      {
        ...{ name: 'nightly', metadata: { tenant_id: 'acme' } },
        options: { idempotencyKey: 'k', traceparent: '00-1-2-01' },
        tasks: [
          { name: 'part', taskType: 'double', payload: '21', after: [] },
          { name: 'merge', taskType: 'merge', payload: null, after: ['part'] },
        ],
      },
    ])
  })

  it('is none unless it is told so', async () => {
    const run = await runHandler('split', (_, context) => context.addTasks(() => {}), null)
    expect(run.outcome).toMatchObject({
      kind: 'failed',
      error: { message: expect.stringContaining('none of a workflow') },
    })
  })
})
