import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { contractErrors, errorsOf, type TestApi, testApi } from '../test-support/test-api.js'

const TASKS = '/api/v1/tasks'
let api: TestApi

beforeEach(() => {
  api = testApi()
})
afterAll(() => api.app.close())

const submit = (body: object, headers?: Record<string, string>) => api.post(TASKS, JSON.stringify(body), headers)

describe('one task', () => {
  const submitted = async (): Promise<{ id: string; uuid: string }> => {
    const { json } = await submit({ task_type: 'a', payload: { x: 1 }, metadata: { tenant_id: 'acme' } })
    return { id: String(json.task_id), uuid: [...api.services.book.byId.keys()].at(-1) ?? '' }
  }
  const call = (method: string, path: string) => api.call({ method, url: `${TASKS}/${path}` })

  it('is read whole, with what the handler gave as it was given', async () => {
    const { id, uuid } = await submitted()
    const error = { class: 'SmtpError', message: 'a "quoted" \u2028 text', stack: null }
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    api.services.book.set(uuid, {
      ...{ status: 'FAILED', error, traceparent, result: '{"n": 9007199254740993}', workerId: uuid },
      ...{ startedAtMs: 1_000, completedAtMs: 1_250, progress: { percent: 40, note: 'half' } },
    })
    const answer = await call('GET', id)
    expect(answer.status).toBe(200)
    expect(contractErrors('getTask', 200, answer.json)).toEqual([])
    expect(answer.text).toContain('"result":{"n": 9007199254740993}')
    expect(answer.json).toMatchObject({
      ...{ task_id: id, tenant_id: 'acme', priority: 'medium', payload: { x: 1 }, metadata: { tenant_id: 'acme' } },
      ...{
        duration_ms: 250,
        error,
        worker_id: id.replace('task-', 'worker-'),
        progress: { percent: 40, note: 'half' },
      },
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    })
  })

  it('is waited for, at most 60 s', async () => {
    const { id, uuid } = await submitted()
    const waiting = new Promise<AbortSignal>((resolve) => {
      api.services.told.onWait = resolve
    })
    const answer = call('GET', `${id}?wait_seconds=0.05`)
    expect((await waiting).aborted).toBe(false)
    api.services.book.set(uuid, { status: 'SUCCEEDED', result: 'true' })
    expect((await answer).json).toMatchObject({ status: 'SUCCEEDED', result: true })
    expect(errorsOf(await call('GET', `${id}?wait_seconds=61`))).toEqual(['wait_seconds: must be at most 60'])
  })

  it.each([
    ['wait_seconds=', 'wait_seconds: must be a number'],
    ['wait_seconds=abc', 'wait_seconds: must be a number'],
    ['wait_seconds=-1', 'wait_seconds: must be a number'],
    ['wait_seconds=1e1', 'wait_seconds: must be a number'],
    ['wait_seconds=0x1', 'wait_seconds: must be a number'],
    ['wait_seconds=1&wait_seconds=2', 'wait_seconds: is given more than once'],
    ['wait=5', 'wait: is not a known field; did you mean wait_seconds?'],
    ['cursor=%00', 'cursor: is not a known field'],
    ['__proto__=1', '__proto__: is not a known field'],
  ])('refuses the query %s', async (query, error) => {
    const { id } = await submitted()
    const answer = await call('GET', `${id}?${query}`)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toContain(error)
  })

  it('has an id of one form only', async () => {
    const { id } = await submitted()
    for (const wrong of ['x', id.toUpperCase(), id.replace('task-', 'worker-'), `${id}0`, `${id}%00`, `${id}%20`]) {
      const answer = await call('GET', wrong)
      expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_id' } })
      expect((answer.json.errors as { path: string }[])[0]?.path).toBe('task_id')
    }
    expect(await call('GET', `task-${'0'.repeat(26)}`)).toMatchObject({ status: 404, json: { code: 'not_found' } })
  })

  it('is cancelled at once, or marked when it runs; twice is once; finished is too late', async () => {
    const { id, uuid } = await submitted()
    api.services.book.set(uuid, { status: 'RUNNING' })
    const marked = await call('POST', `${id}/cancel`)
    expect(marked).toMatchObject({
      status: 202,
      json: { status: 'RUNNING', cancel_requested: true, cancelled_at: null },
    })
    api.services.book.set(uuid, { status: 'PENDING' })
    for (const _ of ['first', 'again']) {
      const done = await call('POST', `${id}/cancel`)
      expect(done).toMatchObject({
        status: 200,
        json: { status: 'CANCELLED', cancelled_at: '2026-04-03T10:00:00.000Z' },
      })
      expect(contractErrors('cancelTask', 200, done.json)).toEqual([])
    }
    api.services.book.set(uuid, { status: 'SUCCEEDED' })
    expect(await call('POST', `${id}/cancel`)).toMatchObject({ status: 409, json: { code: 'wrong_state' } })
  })

  it('runs again when it has ended', async () => {
    const { id, uuid } = await submitted()
    expect(await call('POST', `${id}/retry`)).toMatchObject({ status: 409 })
    api.services.book.set(uuid, { status: 'DEAD', failures: 4 })
    const answer = await call('POST', `${id}/retry`)
    expect(answer).toMatchObject({ status: 200, json: { task_id: id, status: 'PENDING', failures: 0 } })
    expect(contractErrors('retryTask', 200, answer.json)).toEqual([])
  })

  it('takes no body but an empty object for these', async () => {
    const { id } = await submitted()
    expect((await api.post(`${TASKS}/${id}/cancel`, '{}')).status).toBe(200)
    expect(await api.post(`${TASKS}/${id}/cancel`, '{"force":true}')).toMatchObject({ status: 400 })
  })

  it('shows its attempts and its trail', async () => {
    const { id } = await submitted()
    const attempts = await call('GET', `${id}/attempts`)
    expect(contractErrors('listAttempts', 200, attempts.json)).toEqual([])
    expect(attempts.json).toMatchObject({ items: [{ attempt: 1, retry_delay_seconds: 1.5 }], next_cursor: null })
    const events = await call('GET', `${id}/events`)
    expect(contractErrors('listEvents', 200, events.json)).toEqual([])
    expect(events.json).toMatchObject({ items: [{ transition: 'cancel', at: '2026-04-03T10:00:00.000Z' }] })
  })
})

it('lists queues', async () => {
  const answer = await api.call({ method: 'GET', url: '/api/v1/queues' })
  expect(contractErrors('listQueues', 200, answer.json)).toEqual([])
  expect(answer.json).toMatchObject({
    items: [{ name: 'default', depth_by_tenant: [{ tenant_id: 'acme', depth: 3 }] }],
  })
})
