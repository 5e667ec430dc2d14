import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { problem, type Reply } from '../testing/scripted-server.js'
import { gate, WorkerBench } from '../testing/worker-bench.js'
import type { TaskContext } from './task-context.js'

let bench: WorkerBench
beforeEach(async () => {
  bench = await WorkerBench.open()
})
afterEach(() => bench.close())

const pushed = (key: string) =>
  bench.broker.server.callsTo('/heartbeat').flatMap(({ body }) => (body[key] ?? []) as Record<string, unknown>[])

/** Runs one handler that does `work` with its context. */
async function run(work: (context: TaskContext) => unknown, more = {}): Promise<Record<string, unknown>> {
  await bench
    .worker()
    .handle('work', (_, context) => work(context))
    .start()
  return bench.broker.outcome(bench.broker.push('work', null, more))
}

it('sends the latest progress', async () => {
  const context = gate<TaskContext>()
  const release = gate()
  await bench
    .worker()
    .handle('more', async (_, given) => {
      context.open(given)
      await release.promise
    })
    .start()
  bench.broker.push('more')
  const given = await context.promise
  given.progress(10)
  given.progress(140, 'nearly there')
  await bench.broker.server.until(() => pushed('progress').length > 0)
  expect(pushed('progress')).toEqual([{ lease: given.fence, percent: 100, note: 'nearly there' }])
  release.open()
})

it('saves a checkpoint before set resolves, through a server that fails first', async () => {
  let failures = 2
  bench.broker.intercept = ({ body }) => {
    if (body.checkpoints === undefined || failures === 0) return undefined
    failures -= 1
    return problem(503, 'store_unavailable')
  }
  const report = await run(async ({ checkpoint, fence }) => {
    await checkpoint.set({ page: 2 })
    return { saved: pushed('checkpoints').at(-1), fence, value: checkpoint.value }
  })
  expect(report.result).toEqual({
    saved: { lease: 'lease-1', value: { page: 2 } },
    fence: 'lease-1',
    value: { page: 2 },
  })
  expect(failures).toBe(0)
})

it('refuses a checkpoint that is too large', async () => {
  const report = await run(({ checkpoint }) => checkpoint.set('x'.repeat(262_145)))
  expect(report).toMatchObject({ outcome: 'failed', error: { class: 'RangeError' } })
})

it('sends log lines apart, and no more once the server refuses them', async () => {
  bench.broker.intercept = ({ body }) => (body.logs === undefined ? undefined : problem(400, 'invalid_request'))
  const release = gate()
  const context = gate<TaskContext>()
  await bench
    .worker()
    .handle('work', async (_, given) => {
      context.open(given)
      await release.promise
    })
    .start()
  bench.broker.push('work')
  const given = await context.promise
  given.log('info', 'first')
  given.progress(5)
  await bench.broker.server.until(() => pushed('logs').length > 0)
  expect(pushed('logs')).toMatchObject([{ lease: 'lease-1', level: 'info', message: 'first' }])
  expect(pushed('progress')).toHaveLength(1)
  given.log('info', 'second')
  given.progress(6)
  await bench.broker.server.until(() => pushed('progress').length > 1)
  expect(pushed('logs')).toHaveLength(1)
  release.open()
})

describe('log lines that are sent again', () => {
  /** Writes one line, then another when the first one's beat was answered so. */
  async function logTwice(first: Reply): Promise<readonly (readonly [unknown, string[]])[]> {
    let isFirst = true
    bench.broker.intercept = ({ body }) => {
      if (body.logs === undefined || !isFirst) return undefined
      isFirst = false
      return first
    }
    await run(async (context) => {
      context.log('info', 'first')
      await bench.broker.server.until(() => pushed('logs').length > 0)
      context.log('info', 'second')
    })
    await bench.broker.server.until(() => pushed('logs').some(({ message }) => message === 'second'))
    return bench.broker.server
      .callsTo('/heartbeat')
      .filter(({ body }) => body.logs !== undefined)
      .map(({ body }) => [body.logs_after, (body.logs as { message: string }[]).map(({ message }) => message)])
  }

  it('have the numbers that they had', async () => {
    const beats = await logTwice({ cut: true })
    expect(beats[0]).toEqual([0, ['first']])
    expect(beats[1]).toEqual([0, expect.arrayContaining(['first'])])
    // in whichever beats they went
    const [, last] = beats.slice(1).flatMap(([after, texts]) => texts.map((text, n) => [Number(after) + n, text]))
    expect(last).toEqual([1, 'second'])
  })

  it('go without them to a server that does not know what that is', async () => {
    const refusal = problem(400, 'invalid_request')
    const errors = [{ path: 'logs_after', message: 'is not a known field' }]
    const beats = await logTwice({ ...refusal, body: { ...(refusal.body as object), errors } })
    expect(beats[0]).toEqual([0, ['first']])
    expect(beats.slice(1).every(([after]) => after === undefined)).toBe(true)
    expect(beats.slice(1).flatMap(([, texts]) => texts)).toEqual(['first', 'second'])
  })
})

it('submits workflows in the same trace and tenant', async () => {
  const accepted = { workflow_id: 'wf-1', status: 'RUNNING', tasks: { a: 'PENDING' }, task_ids: { a: 'task-a' } }
  bench.broker.intercept = ({ path }) => (path === '/api/v1/workflows' ? { status: 202, body: accepted } : undefined)
  const report = await run(
    async (context) => {
      const workflow = context.workflow('nightly', { metadata: { source: 'cron' } })
      workflow.task('a', 'child', { n: 1 })
      return (await workflow.submit({ idempotencyKey: context.idempotencyKey })).id
    },
    { idempotency_key: 'fired', traceparent: '00-abc-def-01', metadata: { tenant_id: 'acme' } },
  )
  expect(report.result).toBe('wf-1')
  const [call] = bench.broker.server.callsTo('/workflows')
  expect(call?.body).toEqual({
    ...{ workflow_name: 'nightly', metadata: { source: 'cron', tenant_id: 'acme' }, idempotency_key: 'fired' },
    tasks: [{ task_id: 'a', task_type: 'child', payload: { n: 1 } }],
  })
  expect(call?.headers.traceparent).toBe('00-abc-def-01')
})

it('submits children in the same trace and tenant', async () => {
  bench.broker.intercept = ({ path }) =>
    path === '/api/v1/tasks' ? { status: 202, body: { task_id: 'task-child', status: 'PENDING' } } : undefined
  const report = await run(async (context) => (await context.submit('child', { n: 1 }, { queue: 'q' })).id, {
    traceparent: '00-abc-def-01',
    metadata: { tenant_id: 'acme', correlation_id: 'c' },
  })
  expect(report.result).toBe('task-child')
  const [call] = bench.broker.server.callsTo('/tasks')
  expect(call?.body).toEqual({ task_type: 'child', payload: { n: 1 }, queue: 'q', metadata: { tenant_id: 'acme' } })
  expect(call?.headers.traceparent).toBe('00-abc-def-01')
})
