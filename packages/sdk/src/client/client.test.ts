import { afterEach, describe, expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { DulyConnectionError } from '../errors.js'
import { type StandardSchema, type } from '../standard-schema.js'
import { type Call, problem, type Reply, ScriptedServer } from '../testing/scripted-server.js'
import { Duly } from './duly.js'
import type { DulyOptions } from './options.js'
import { batchItem } from './tasks.js'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function clientOf(answer: (call: Call, n: number) => Reply | Promise<Reply>, options: DulyOptions = {}) {
  let n = 0
  const server = await ScriptedServer.start((call) => {
    n += 1
    return answer(call, n)
  })
  const duly = new Duly({ url: server.url, ...options })
  closers.push(
    () => duly.close(),
    () => server.stop(),
  )
  return { duly, server }
}

const ACCEPTED = { status: 202, body: { task_id: 'task-1', status: 'PENDING', created_at: '2026-04-03T10:00:00.000Z' } }
const record = (status: string, more = {}) => ({
  body: { task_id: 'task-1', status, result: null, error: null, reason: null, ...more },
})
const BUSY = problem(503, 'store_unavailable', { 'retry-after': '0.01' })

describe('submit', () => {
  it('answers with a handle', async () => {
    const { duly, server } = await clientOf(() => ACCEPTED, { apiKey: 'secret' })
    const handle = await duly.submit('send_email', { to: 'a' }, { traceparent: '00-a-b-01' })
    expect(handle).toMatchObject({ id: 'task-1', isReplay: false })
    expect(handle.receipt.createdAt).toEqual(new Date('2026-04-03T10:00:00.000Z'))
    expect(server.calls[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/tasks',
      body: { task_type: 'send_email', payload: { to: 'a' } },
      headers: { authorization: 'Bearer secret', traceparent: '00-a-b-01', 'content-type': 'application/json' },
    })
  })

  it('tells a replay', async () => {
    const { duly } = await clientOf(() => ({ ...ACCEPTED, status: 200 }))
    expect((await duly.submit('x', null, { idempotencyKey: 'k' })).isReplay).toBe(true)
  })

  it('sends nothing when the payload does not fit', async () => {
    const { duly, server } = await clientOf(() => ACCEPTED)
    const never: StandardSchema<string> = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'no' }] }) },
    }
    await expect(duly.submit(defineTask('x', { payload: never }), 'x')).rejects.toMatchObject({
      name: 'InvalidPayloadError',
    })
    expect(server.calls).toHaveLength(0)
  })

  it('submits a batch in order', async () => {
    const { duly, server } = await clientOf(() => ({
      status: 202,
      body: {
        tasks: [
          { task_id: 'task-1', status: 'PENDING', replayed: false },
          { task_id: 'task-2', status: 'SUCCEEDED', replayed: true },
        ],
      },
    }))
    const task = defineTask('x', { payload: type<number>(), queue: 'q' })
    const handles = await duly.tasks.submitBatch([batchItem(task, 1), { task: 'y', options: { delay: '1s' } }])
    expect(handles.map(({ id, isReplay }) => [id, isReplay])).toEqual([
      ['task-1', false],
      ['task-2', true],
    ])
    expect(server.calls[0]?.body).toEqual({
      tasks: [
        { task_type: 'x', payload: 1, queue: 'q' },
        { task_type: 'y', delay_seconds: 1 },
      ],
    })
  })
})

describe('errors', () => {
  it("carry the problem document's words", async () => {
    const errors = [{ path: 'payload.to', message: 'is required' }]
    const { duly } = await clientOf(() => ({
      status: 400,
      body: { title: 'Invalid', code: 'invalid_request', errors, request_id: 'r' },
    }))
    await expect(duly.submit('x')).rejects.toMatchObject({
      name: 'DulyApiError',
      status: 400,
      code: 'invalid_request',
      errors,
      requestId: 'r',
      retryable: false,
      message: expect.stringContaining('payload.to: is required'),
    })
  })

  const path = 'task_id'
  const why = '"x" is not a task id'
  const other = { path: 'tags', message: 'is not an array' }
  it.each([
    ['the detail alone', why, [{ path, message: why }], why],
    ['the detail with its path', `task_id ${why}`, [{ path, message: why }], `task_id ${why}`],
    ['what the detail left out', `task_id ${why}; 2 errors in all`, [{ path, message: why }, other], undefined],
    ['the title where there is no more', undefined, undefined, 'Invalid id'],
  ])('say nothing twice: %s', async (_, detail, errors, message) => {
    const body = { title: 'Invalid id', code: 'invalid_id', detail, errors }
    const { duly } = await clientOf(() => ({ status: 400, body }))
    const expected = message ?? `${detail} · tags: is not an array`
    await expect(duly.tasks.get('x')).rejects.toMatchObject({ message: expected })
  })

  it('make do with an answer that is no problem document', async () => {
    const { duly } = await clientOf(() => ({ status: 502, body: '<html>' }), { retries: 0 })
    await expect(duly.tasks.get('task-1')).rejects.toMatchObject({ status: 502, code: 'http_502', retryable: true })
  })

  it('of the connection say whether the request may have arrived', async () => {
    const { duly, server } = await clientOf(() => ({ cut: true }), { retries: 0 })
    await expect(duly.submit('x')).rejects.toMatchObject({ name: 'DulyConnectionError', mayHaveArrived: true })
    await server.stop()
    await expect(duly.submit('x')).rejects.toMatchObject({ code: 'ECONNREFUSED', mayHaveArrived: false })
  })

  it('come when the server is silent for too long', async () => {
    const { duly } = await clientOf(() => new Promise<Reply>(() => {}), { timeout: 30, retries: 0 })
    await expect(duly.submit('x')).rejects.toMatchObject({ code: 'TIMEOUT' })
  })
})

describe('retries', () => {
  it('repeat what the server surely refused, also without a key', async () => {
    const { duly, server } = await clientOf((_, n) =>
      n === 1 ? BUSY : n === 2 ? problem(429, 'rate_limited', { 'retry-after': '0' }) : ACCEPTED,
    )
    expect((await duly.submit('x')).id).toBe('task-1')
    expect(server.calls).toHaveLength(3)
  })

  it('do not repeat a keyless submission that may have had its effect', async () => {
    const cut = await clientOf(() => ({ cut: true }))
    await expect(cut.duly.submit('x')).rejects.toBeInstanceOf(DulyConnectionError)
    expect(cut.server.calls).toHaveLength(1)
    const unknown = await clientOf(() => problem(503, 'commit_unknown'))
    await expect(unknown.duly.submit('x')).rejects.toMatchObject({ code: 'commit_unknown' })
    expect(unknown.server.calls).toHaveLength(1)
  })

  it('repeat a submission with a key, whatever happened to it', async () => {
    const replies: Reply[] = [{ cut: true }, problem(503, 'commit_unknown'), problem(500, 'internal'), ACCEPTED]
    const { duly, server } = await clientOf((_, n) => replies[n - 1] ?? ACCEPTED)
    await duly.submit('x', null, { idempotencyKey: 'k' })
    expect(server.calls).toHaveLength(4)
  })

  it('repeat a batch only when each item has a key', async () => {
    const { duly, server } = await clientOf(() => ({ cut: true }), { retries: 1 })
    const keyed = { task: 'x', options: { idempotencyKey: 'k' } }
    await expect(duly.tasks.submitBatch([keyed, { task: 'x' }])).rejects.toBeInstanceOf(DulyConnectionError)
    expect(server.calls).toHaveLength(1)
    await expect(duly.tasks.submitBatch([keyed])).rejects.toBeInstanceOf(DulyConnectionError)
    expect(server.calls).toHaveLength(3)
  })

  it('end after the given number, and do not repeat what is wrong', async () => {
    const busy = await clientOf(() => BUSY, { retries: 2 })
    await expect(busy.duly.tasks.get('task-1')).rejects.toMatchObject({ status: 503, retryAfterMs: 10 })
    expect(busy.server.calls).toHaveLength(3)
    const wrong = await clientOf(() => problem(404, 'not_found'))
    await expect(wrong.duly.tasks.get('task-1')).rejects.toMatchObject({ code: 'not_found' })
    expect(wrong.server.calls).toHaveLength(1)
  })

  it('stop when the signal aborts', async () => {
    const { duly, server } = await clientOf(() => problem(503, 'store_unavailable', { 'retry-after': '60' }))
    const abort = new AbortController()
    const submitting = duly.submit('x', null, { signal: abort.signal })
    await server.until(() => server.calls.length === 1)
    abort.abort(new Error('enough'))
    await expect(submitting).rejects.toThrow('enough')
  })

  it('abort a request under way', async () => {
    const { duly, server } = await clientOf(() => new Promise<Reply>(() => {}))
    const abort = new AbortController()
    const getting = duly.tasks.get('task-1', { waitSeconds: 30, signal: abort.signal })
    await server.until(() => server.calls.length === 1)
    abort.abort(new Error('enough'))
    await expect(getting).rejects.toThrow('enough')
  })
})

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
    for (let n = 0; n < 20; n += 1) await duly.tasks.wait('task-1', { timeout: '5s' })
    const asked = server.calls.map(({ path }) => /\?(.*)/.exec(path)?.[1])
    expect(asked.slice(0, 3)).toEqual(['wait_seconds=0.163', 'wait_seconds=5', undefined])
    for (const query of asked.slice(3)) expect(query).toMatch(/^wait_seconds=[45](\.\d{1,3})?$/)
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

it('reads lists', async () => {
  const { duly, server } = await clientOf(() => ({ body: { items: [{ from_status: null }], next_cursor: null } }))
  expect(await duly.tasks.attempts('task-1')).toEqual([{ fromStatus: null }])
  expect(await duly.tasks.events('task-1')).toEqual([{ fromStatus: null }])
  expect(await duly.queues.list()).toEqual([{ fromStatus: null }])
  expect(server.calls.map(({ path }) => path)).toEqual([
    '/api/v1/tasks/task-1/attempts',
    '/api/v1/tasks/task-1/events',
    '/api/v1/queues?limit=500',
  ])
})

it('makes, lists and revokes API keys', async () => {
  const key = { key_id: 'key-1', name: 'k', scopes: ['read'], tenant_id: null, created_at: '2026-01-01T00:00:00.000Z' }
  const { duly, server } = await clientOf(({ method }) => {
    if (method === 'POST') return { status: 201, body: { ...key, secret: 'duly_x' } }
    return method === 'GET' ? { body: { items: [key], next_cursor: null } } : { body: { last_admin: true } }
  })
  const shown = { id: 'key-1', scopes: ['read'], tenantId: null, createdAt: new Date('2026-01-01T00:00:00.000Z') }
  const options = { name: 'k', scopes: ['read'], tenant: null, expiresAt: '2027-01-01T00:00:00Z' } as const
  expect(await duly.keys.create(options)).toMatchObject({ ...shown, secret: 'duly_x' })
  expect(await duly.keys.list()).toMatchObject([shown])
  expect(await duly.keys.revoke('key-1')).toEqual({ lastAdmin: true })
  expect(server.calls.map(({ method, path, body }) => [method, path, body])).toEqual([
    ['POST', '/api/v1/api-keys', { name: 'k', scopes: ['read'], tenant_id: null, expires_at: '2027-01-01T00:00:00Z' }],
    ['GET', '/api/v1/api-keys?limit=500', {}],
    ['DELETE', '/api/v1/api-keys/key-1', {}],
  ])
})

it('does not let a thousand waits keep a submission from its connection', async () => {
  const { duly, server } = await clientOf(
    (call) => (call.method === 'POST' ? ACCEPTED : new Promise<Reply>(() => {})),
    { maxSockets: 4 },
  )
  const abort = new AbortController()
  const waits = Array.from({ length: 50 }, () =>
    duly.tasks.wait('task-1', { signal: abort.signal }).catch(() => 'aborted'),
  )
  await server.until(() => server.calls.length >= 4)
  expect((await duly.submit('x')).id).toBe('task-1')
  abort.abort()
  expect(new Set(await Promise.all(waits))).toEqual(new Set(['aborted']))
})

it('names every wrong option', () => {
  expect(() => new Duly({ url: 'ftp://x', maxSockets: 0, retries: -1 })).toThrow(/url.*maxSockets.*retries/)
})
