import { describe, expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type StandardSchema, type } from '../standard-schema.js'
import { clientOf } from '../testing/scripted-client.js'
import { problem, type Reply } from '../testing/scripted-server.js'

const ACCEPTED = { status: 202, body: { task_id: 'task-1', status: 'PENDING', created_at: '2026-04-03T10:00:00.000Z' } }
const record = (status: string, more = {}) => ({
  body: { task_id: 'task-1', status, result: null, error: null, reason: null, ...more },
})
const BUSY = problem(503, 'store_unavailable', { 'retry-after': '0.01' })

describe('a handle', () => {
  it('waits for the result by long polls, through a refusal', async () => {
    const replies: Reply[] = [ACCEPTED, record('RUNNING'), BUSY, record('SUCCEEDED', { result: { n: 1 } })]
    const { duly, server } = await clientOf((_, n) => replies[n - 1] ?? BUSY)
    const handle = await duly.submit(defineTask('x', { result: type<{ n: number }>() }), null)
    expect(await handle.result()).toEqual({ n: 1 })
    expect(server.calls.slice(1).map(({ path }) => path)).toEqual(Array(3).fill('/api/v1/tasks/task-1?wait_seconds=30'))
  })

  it('asks for waits in whole milliseconds, however odd they are', async () => {
    const { duly, server } = await clientOf(() => record('SUCCEEDED'))
    for (const waitSeconds of [8 / 49, 4.999876543212345, 1e-7]) await duly.tasks.get('task-1', { waitSeconds })
    for (let n = 0; n < 20; n += 1) await duly.tasks.wait('task-1', { timeout: '29s' })
    const asked = server.calls.map(({ path }) => /\?(.*)/.exec(path)?.[1])
    expect(asked.slice(0, 3)).toEqual(['wait_seconds=0.163', 'wait_seconds=5', undefined])
    for (const query of asked.slice(3)) expect(query).toMatch(/^wait_seconds=\d{1,2}(\.\d{1,3})?$/)
  })

  it('waits on through an outage that outlasts the retries, but not through a refusal', async () => {
    const { duly } = await clientOf(
      (call, n) => (call.method === 'POST' ? ACCEPTED : n < 6 ? BUSY : record('SUCCEEDED')),
      {
        retries: 1,
      },
    )
    expect(await (await duly.submit('x')).result()).toBeNull()
    const wrong = await clientOf((call) => (call.method === 'POST' ? ACCEPTED : problem(404, 'not_found')))
    await expect((await wrong.duly.submit('x')).result()).rejects.toMatchObject({ code: 'not_found' })
  })

  it('throws when the task ends without a result', async () => {
    const error = { class: 'SmtpError', message: 'no such host', stack: null }
    const { duly } = await clientOf((call) => (call.method === 'POST' ? ACCEPTED : record('DEAD', { error })))
    const handle = await duly.submit('x')
    await expect(handle.result()).rejects.toMatchObject({
      name: 'TaskFailedError',
      taskId: 'task-1',
      status: 'DEAD',
      error,
      message: 'task task-1 ended DEAD: SmtpError: no such host',
    })
  })

  it("gives the result schema's output", async () => {
    const date: StandardSchema<string, Date> = {
      '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: new Date(String(value)) }) },
    }
    const { duly } = await clientOf((call) =>
      call.method === 'POST' ? ACCEPTED : record('SUCCEEDED', { result: '2026-01-01' }),
    )
    const handle = await duly.submit(defineTask('x', { result: date }), null)
    expect(await handle.result()).toEqual(new Date('2026-01-01'))
  })

  it('gives up waiting at its timeout', async () => {
    const { duly } = await clientOf((call) => (call.method === 'POST' ? ACCEPTED : record('RUNNING')))
    const handle = await duly.submit('x')
    await expect(handle.result({ timeout: 20 })).rejects.toMatchObject({ name: 'ResultTimeoutError' })
  })

  it('cancels', async () => {
    const { duly, server } = await clientOf((_, n) =>
      n === 1
        ? ACCEPTED
        : {
            body: {
              task_id: 'task-1',
              status: 'CANCELLED',
              cancel_requested: false,
              cancelled_at: '2026-01-01T00:00:00.000Z',
            },
          },
    )
    const handle = await duly.submit('x')
    expect(await handle.cancel()).toEqual({
      id: 'task-1',
      status: 'CANCELLED',
      cancelRequested: false,
      cancelledAt: new Date('2026-01-01T00:00:00.000Z'),
    })
    expect(server.calls[1]).toMatchObject({ method: 'POST', path: '/api/v1/tasks/task-1/cancel' })
  })
})
