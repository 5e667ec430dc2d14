import { limits } from '@duly/domain'
import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { contractErrors, errorsOf, type TestApi, testApi } from '../test-support/test-api.js'

const TASKS = '/api/v1/tasks'
let api: TestApi

beforeEach(() => {
  api = testApi()
})
afterAll(() => api.app.close())

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
        boundTo: null,
        submittedBy: null,
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
    ['{"task_type":null}', 'task_type: must be a string'],
    ['{"task_type":""}', 'task_type: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /'],
    ['{"task_type":"a","queue":"*"}', 'queue: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /'],
    ['{"task_type":"a\\r\\nFLUSHALL"}', 'task_type: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /'],
    ['{"task_type":"a","delay_seconds":"10"}', 'delay_seconds: must be a number'],
    ['{"task_type":"a","delay_seconds":true}', 'delay_seconds: must be a number'],
    [
      '{"task_type":"a","delay_seconds":9007199254740991}',
      `delay_seconds: must be at most ${limits.delayMaxMs / 1_000}`,
    ],
    [
      '{"task_type":"a","scheduled_at":"infinity"}',
      'scheduled_at: must be an RFC 3339 instant with an offset, such as 2026-04-03T09:00:00Z, a real date from 1970 to 9999',
    ],
    ['{"task_type":"a","scheduled_at":0}', 'scheduled_at: must be a string or null'],
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
    [
      '{"task_type":"a","metadata":{"__proto__":{"x":1}}}',
      'metadata.__proto__: must be a string or a number or true or false',
    ],
    ['[]', ': must be an object'],
    ['null', ': must be an object'],
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
