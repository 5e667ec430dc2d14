import { describe, expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type StandardSchema, type } from '../standard-schema.js'
import { clientOf } from '../testing/scripted-client.js'
import type { Reply } from '../testing/scripted-server.js'
import { Duly } from './duly.js'
import { batchItem } from './tasks.js'

const ACCEPTED = { status: 202, body: { task_id: 'task-1', status: 'PENDING', created_at: '2026-04-03T10:00:00.000Z' } }

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
