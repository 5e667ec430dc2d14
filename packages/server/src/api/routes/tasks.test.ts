import { limits } from '@duly/domain'
import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { contractErrors, type TestApi, testApi } from '../test-support/test-api.js'

const TASKS = '/api/v1/tasks'
let api: TestApi

beforeEach(() => {
  api = testApi()
})
afterAll(() => api.app.close())

const errorsOf = (answer: { json: Record<string, unknown> }) =>
  (answer.json.errors as { path: string; message: string }[]).map(({ path, message }) => `${path}: ${message}`)

const submit = (body: object, headers?: Record<string, string>) => api.post(TASKS, JSON.stringify(body), headers)

describe('POST /tasks', () => {
  it('takes the least there can be and fills in the defaults', async () => {
    const answer = await submit({ task_type: 'send_email' })
    expect(answer.status).toBe(202)
    expect(contractErrors('submitTask', 202, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({ status: 'PENDING', scheduled_at: null, created_at: '2026-04-03T10:00:00.000Z' })
    expect(api.services.submitted).toEqual([
      {
        tenant: 'default',
        taskType: 'send_email',
        queue: 'default',
        priority: 2,
        payload: 'null',
        metadata: null,
        tags: [],
        scheduledAtMs: null,
        delayMs: null,
        expiresAtMs: null,
        maxRetries: 3,
        backoff: 'exponential',
        jitter: 'full',
        retryDelayMs: 60_000,
        retryMaxDelayMs: 3_600_000,
        timeoutMs: 300_000,
        resultTtlMs: null,
        concurrencyKey: null,
        idempotencyKey: null,
        requestHash: null,
        traceparent: null,
      },
    ])
  })

  it('passes on everything that was asked for', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const answer = await submit(
      {
        task_type: 'send_email',
        payload: { to: 'a@example.com' },
        priority: 'high',
        scheduled_at: '2026-04-04T11:00:00+02:00',
        expires_at: '2026-04-05T00:00:00Z',
        max_retries: 0,
        retry_backoff: 'linear',
        retry_jitter: 'none',
        retry_delay_seconds: 0.25,
        retry_max_delay_seconds: 10,
        timeout_seconds: 0.1,
        idempotency_key: 'welcome-1',
        concurrency_key: 'user 7',
        queue: 'email-queue',
        result_ttl_seconds: 60,
        tags: ['a', 'b'],
        metadata: { tenant_id: 'acme-corp', correlation_id: 'req-abc', n: 1, ok: true },
      },
      { traceparent },
    )
    expect(answer).toMatchObject({
      status: 202,
      json: { status: 'SCHEDULED', scheduled_at: '2026-04-04T09:00:00.000Z' },
    })
    expect(api.services.submitted[0]).toMatchObject({
      tenant: 'acme-corp',
      queue: 'email-queue',
      priority: 1,
      payload: '{"to":"a@example.com"}',
      metadata: '{"tenant_id":"acme-corp","correlation_id":"req-abc","n":1,"ok":true}',
      tags: ['a', 'b'],
      scheduledAtMs: Date.UTC(2026, 3, 4, 9),
      expiresAtMs: Date.UTC(2026, 3, 5),
      maxRetries: 0,
      backoff: 'linear',
      jitter: 'none',
      retryDelayMs: 250,
      retryMaxDelayMs: 10_000,
      timeoutMs: 100,
      resultTtlMs: 60_000,
      concurrencyKey: 'user 7',
      idempotencyKey: 'welcome-1',
      traceparent,
    })
    expect(api.services.submitted[0]?.requestHash).toHaveLength(32)
  })

  it('drops a bad trace context and takes the task', async () => {
    for (const traceparent of ['x', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`]) {
      expect((await submit({ task_type: 'a' }, { traceparent })).status).toBe(202)
    }
    expect(api.services.submitted.map((task) => task.traceparent)).toEqual([null, null])
  })

  it('answers a repeated key with the first task, whatever the order of its fields', async () => {
    const first = await api.post(TASKS, '{"task_type":"a","payload":{"x":1,"y":2},"idempotency_key":"k"}')
    const again = await api.post(TASKS, '{ "idempotency_key":"k", "payload":{"y":2,"x":1}, "task_type":"a" }')
    expect(first.status).toBe(202)
    expect(first.headers['idempotency-replayed']).toBeUndefined()
    expect(again.status).toBe(200)
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(again.json.task_id).toBe(first.json.task_id)
    expect(contractErrors('submitTask', 200, again.json)).toEqual([])
    const other = await api.post(TASKS, '{"task_type":"a","payload":{"x":1,"y":3},"idempotency_key":"k"}')
    expect(other).toMatchObject({ status: 409, json: { code: 'idempotency_conflict' } })
  })

  it('takes the key as a header as well', async () => {
    const headers = { 'idempotency-key': 'k 1' }
    const first = await submit({ task_type: 'a' }, headers)
    expect(api.services.submitted[0]?.idempotencyKey).toBe('k 1')
    const again = await submit({ task_type: 'a', idempotency_key: 'k 1' }, headers)
    expect(again).toMatchObject({ status: 200, json: { task_id: first.json.task_id } })
    expect(errorsOf(await submit({ task_type: 'a', idempotency_key: 'k2' }, headers))).toEqual([
      'Idempotency-Key: differs from the field idempotency_key',
    ])
    expect((await submit({ task_type: 'a' }, { 'idempotency-key': 'x'.repeat(257) })).status).toBe(400)
    expect((await submit({ task_type: 'a' }, { 'idempotency-key': 'caf\u00e9' })).status).toBe(400)
  })

  it('lists everything that is wrong at once, by path', async () => {
    const answer = await api.post(
      TASKS,
      `{"task_type":"a b","priority":"urgent","scheduled_at":"2026-02-31T00:00:00Z","delay_seconds":-1,"nope":1,
        "max_retries":1.5,"timeout_seconds":0,"tags":["x","x"],"metadata":{"tenant_id":7,"deep":{}},"payload":{"a":1,"a":2}}`,
    )
    expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_request', title: 'Invalid request' } })
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    expect(errorsOf(answer).map((error) => error.split(':')[0])).toEqual(
      expect.arrayContaining([
        ...['task_type', 'priority', 'scheduled_at', 'delay_seconds', 'nope', 'max_retries', 'timeout_seconds', 'tags'],
        ...['metadata.tenant_id', 'metadata.deep', 'payload.a'],
      ]),
    )
    expect(api.services.submitted).toEqual([])
  })

  it.each([
    ['{}', 'task_type: is required'],
    ['{"task_type":null}', 'task_type: must be string'],
    ['{"task_type":""}', 'task_type: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /'],
    ['{"task_type":"a","queue":"*"}', 'queue: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /'],
    ['{"task_type":"a\\r\\nFLUSHALL"}', 'task_type: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /'],
    ['{"task_type":"a","delay_seconds":"10"}', 'delay_seconds: must be number'],
    ['{"task_type":"a","delay_seconds":true}', 'delay_seconds: must be number'],
    ['{"task_type":"a","delay_seconds":9007199254740991}', `delay_seconds: must be <= ${limits.delayMaxMs / 1_000}`],
    [
      '{"task_type":"a","scheduled_at":"infinity"}',
      'scheduled_at: must be an RFC 3339 instant with an offset, a real date from 1970 to 9999',
    ],
    ['{"task_type":"a","scheduled_at":0}', 'scheduled_at: must be string or null'],
    [
      '{"task_type":"a","scheduled_at":"2026-04-04T09:00:00Z","delay_seconds":1}',
      'delay_seconds: must not be given together with scheduled_at',
    ],
    ['{"task_type":"a","tags":["\\n"]}', 'tags[0]: must not hold control characters'],
    ['{"task_type":"a","__proto__":{"priority":"high"}}', '__proto__: is not a known field'],
    [
      '{"task_type":"a","metadata":{"tenant_id":"a{b}"}}',
      'metadata.tenant_id: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /',
    ],
    ['{"task_type":"a","metadata":{"__proto__":{"x":1}}}', 'metadata.__proto__: must be string or number or boolean'],
    ['[]', ': must be object'],
    ['null', ': must be object'],
  ])('refuses %s', async (body, error) => {
    const answer = await api.post(TASKS, body)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toContain(error)
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })

  it.each([
    ['{"task_type":"a","payload":{"k":"\\u0000"}}', 'payload.k'],
    ['{"task_type":"a","payload":["\\ud800"]}', 'payload[0]'],
    ['{"task_type":"a","payload":{"n":1e400}}', 'payload.n'],
    ['{"task_type":"a","task_type":"b"}', 'task_type'],
    [`{"task_type":"a","payload":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 'payload'],
    ['{"task_type":"a"', 'task_type'],
    ['', ''],
    ['   ', ''],
  ])('refuses as JSON %#', async (body, path) => {
    const answer = await api.post(TASKS, body)
    expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_json' } })
    expect((answer.json.errors as { path: string }[])[0]?.path).toMatch(new RegExp(`^${path.replace('[', '\\[')}`))
  })

  it('takes payloads up to 1 MiB and answers 413 above, naming the field', async () => {
    const body = (bytes: number) => `{"task_type":"a","payload":"${'é'.repeat((bytes - 2) / 2)}"}`
    expect((await api.post(TASKS, body(1_048_576))).status).toBe(202)
    const answer = await api.post(TASKS, body(1_048_578))
    expect(answer).toMatchObject({ status: 413, json: { code: 'too_large' } })
    expect(errorsOf(answer)).toEqual(['payload: has 1048578 bytes; at most 1048576 are taken'])
    const metadata = JSON.stringify({ task_type: 'a', metadata: { x: 'y'.repeat(16_384) } })
    expect(errorsOf(await api.post(TASKS, metadata))[0]).toMatch(/^metadata: has 16392 bytes/)
  })

  it('gives back any payload exactly as it was written', async () => {
    const numbers = fc.constantFrom('9007199254740993', '-0', '1e21', '1.0', '1E+2', '0.1', '12345678901234567890123')
    const texts = fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text))
    const spelled = fc.oneof(
      numbers,
      texts,
      fc.json(),
      fc.constantFrom('"\\\\u0000"', '"\\u00e9\\/"', '{"__proto__":1}'),
    )
    const payload = fc.array(spelled).map((items) => `{ "b":[${items.join(' , ')}],\n"a":${items[0] ?? 'null'} }`)
    await fc.assert(
      fc.asyncProperty(payload, async (text) => {
        const submitted = await api.post(TASKS, `{"task_type":"a","payload":${text}}`)
        const read = await api.call({ method: 'GET', url: `${TASKS}/${String(submitted.json.task_id)}` })
        expect(read.text).toContain(`"payload":${text},"metadata":null`)
      }),
      { numRuns: 60 },
    )
  })
})

describe('POST /tasks/batch', () => {
  const batch = (items: readonly unknown[], headers?: Record<string, string>) =>
    api.post(`${TASKS}/batch`, JSON.stringify({ tasks: items }), headers)

  it('answers in the order given, 200 only when all are replays', async () => {
    const items = [
      { task_type: 'a', idempotency_key: 'k' },
      { task_type: 'b', payload: [1] },
      { task_type: 'a', idempotency_key: 'k' },
    ]
    const answer = await batch(items)
    expect(answer.status).toBe(202)
    expect(contractErrors('submitBatch', 202, answer.json)).toEqual([])
    const tasks = answer.json.tasks as { task_id: string; replayed: boolean }[]
    expect(tasks.map(({ replayed }) => replayed)).toEqual([false, false, true])
    expect(tasks[2]?.task_id).toBe(tasks[0]?.task_id)
    expect(api.services.submitted.map(({ taskType, payload }) => [taskType, payload])).toEqual([
      ['a', 'null'],
      ['b', '[1]'],
    ])
    const again = await batch([items[0], items[2]])
    expect(again.status).toBe(200)
    expect(again.headers['idempotency-replayed']).toBe('true')
  })

  it('takes none when one is wrong, and says which', async () => {
    const items: Record<string, unknown>[] = Array.from({ length: 1_000 }, () => ({ task_type: 'a' }))
    items[0] = { task_type: 'a', nope: 1 }
    items[57] = { task_type: 'a', payload: '\0' }
    items[999] = { payload: 1, delay_seconds: 1, scheduled_at: '2026-04-04T09:00:00Z' }
    const answer = await batch(items)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer).sort()).toEqual([
      'tasks[0].nope: is not a known field',
      expect.stringMatching(/^tasks\[57\]\.payload: the character U\+0000/),
      'tasks[999].delay_seconds: must not be given together with scheduled_at',
      'tasks[999].task_type: is required',
    ])
    expect(api.services.submitted).toEqual([])
  })

  it('finds the guilty ones of a large batch too', async () => {
    const items: unknown[] = Array.from({ length: 10_000 }, (_, n) => ({
      task_type: 'a',
      concurrency_key: `key-of-user-${n}`,
    }))
    items[9_999] = { task_type: 'a', priority: 'urgent', nope: 1 }
    expect(errorsOf(await batch(items)).sort()).toEqual([
      'tasks[9999].nope: is not a known field',
      'tasks[9999].priority: must be one of high, medium, low',
    ])
  })

  it('refuses an empty list, more than 10,000 items, a key for the whole and payloads over the limit', async () => {
    expect(errorsOf(await batch([]))).toEqual(['tasks: must not have fewer than 1 items'])
    const many = await batch(Array(10_001).fill({ task_type: 'a' }))
    expect(many).toMatchObject({ status: 400, json: { code: 'invalid_request' } })
    expect(errorsOf(many)[0]).toMatch(/^tasks: has more than 10000 items/)
    expect((await batch([{ task_type: 'a' }], { 'idempotency-key': 'k' })).status).toBe(400)
    const large = await batch([{ task_type: 'a' }, { task_type: 'a', payload: 'x'.repeat(1_048_577) }])
    expect(large).toMatchObject({ status: 413, json: { code: 'too_large' } })
    expect(errorsOf(large)[0]).toMatch(/^tasks\[1\]\.payload: has 1048579 bytes/)
  })
})

describe('one task', () => {
  const submitted = async (): Promise<{ id: string; uuid: string }> => {
    const { json } = await submit({ task_type: 'a', payload: { x: 1 }, metadata: { tenant_id: 'acme' } })
    return { id: String(json.task_id), uuid: [...api.services.tasksById.keys()].at(-1) ?? '' }
  }
  const call = (method: string, path: string) => api.call({ method, url: `${TASKS}/${path}` })

  it('is read whole, with what the handler gave as it was given', async () => {
    const { id, uuid } = await submitted()
    const error = { class: 'SmtpError', message: 'a "quoted" \u2028 text', stack: null }
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    api.services.set(uuid, {
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
      api.services.onWait = resolve
    })
    const answer = call('GET', `${id}?wait_seconds=0.05`)
    expect((await waiting).aborted).toBe(false)
    api.services.set(uuid, { status: 'SUCCEEDED', result: 'true' })
    expect((await answer).json).toMatchObject({ status: 'SUCCEEDED', result: true })
    expect(errorsOf(await call('GET', `${id}?wait_seconds=61`))).toEqual(['wait_seconds: must be <= 60'])
  })

  it.each([
    ['wait_seconds=', 'wait_seconds: must be number'],
    ['wait_seconds=abc', 'wait_seconds: must be number'],
    ['wait_seconds=-1', 'wait_seconds: must be number'],
    ['wait_seconds=1e1', 'wait_seconds: must be number'],
    ['wait_seconds=0x1', 'wait_seconds: must be number'],
    ['wait_seconds=1&wait_seconds=2', 'wait_seconds: is given more than once'],
    ['wait=5', 'wait: is not a known field'],
    ['cursor=%00', 'cursor: is not a known field'],
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
    api.services.set(uuid, { status: 'RUNNING' })
    const marked = await call('POST', `${id}/cancel`)
    expect(marked).toMatchObject({
      status: 202,
      json: { status: 'RUNNING', cancel_requested: true, cancelled_at: null },
    })
    api.services.set(uuid, { status: 'PENDING' })
    for (const _ of ['first', 'again']) {
      const done = await call('POST', `${id}/cancel`)
      expect(done).toMatchObject({
        status: 200,
        json: { status: 'CANCELLED', cancelled_at: '2026-04-03T10:00:00.000Z' },
      })
      expect(contractErrors('cancelTask', 200, done.json)).toEqual([])
    }
    api.services.set(uuid, { status: 'SUCCEEDED' })
    expect(await call('POST', `${id}/cancel`)).toMatchObject({ status: 409, json: { code: 'wrong_state' } })
  })

  it('runs again when it has ended', async () => {
    const { id, uuid } = await submitted()
    expect(await call('POST', `${id}/retry`)).toMatchObject({ status: 409 })
    api.services.set(uuid, { status: 'DEAD', failures: 4 })
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
