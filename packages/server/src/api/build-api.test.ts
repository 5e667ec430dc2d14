import { DulyError } from '@duly/domain'
import { describe, expect, it } from 'vitest'
import { started } from './test-support/started.js'
import { contractErrors } from './test-support/test-api.js'

const json = { 'content-type': 'application/json' }
const task = '{"task_type":"a"}'

describe('problems', () => {
  it('have the form of RFC 9457 and carry the request id', async () => {
    const api = started()
    const answer = await api.call({ method: 'GET', url: '/nowhere?secret=1', headers: { 'x-request-id': 'abc-1' } })
    expect(answer.headers).toMatchObject({
      'x-request-id': 'abc-1',
      'content-type': 'application/problem+json; charset=utf-8',
    })
    expect(answer.json).toEqual({
      type: '/problems/not_found',
      title: 'Not found',
      status: 404,
      detail: 'There is no such path; /openapi.json lists those there are.',
      instance: '/nowhere',
      code: 'not_found',
      request_id: 'abc-1',
    })
  })

  it('take no request id that could break a log', async () => {
    const api = started()
    for (const id of ['a b', 'x'.repeat(129), '"}']) {
      const answer = await api.call({ method: 'GET', url: '/healthz', headers: { 'x-request-id': id } })
      expect(answer.headers['x-request-id']).toMatch(/^req-[0-9a-f]{12}-[0-9a-z]+$/)
    }
  })

  it('tell a known path with another method from an unknown one', async () => {
    const api = started()
    const put = await api.call({ method: 'PUT', url: '/api/v1/tasks' })
    expect(put).toMatchObject({ status: 405, json: { code: 'method_not_allowed' }, headers: { allow: 'POST, GET' } })
    const patch = await api.call({ method: 'PATCH', url: '/api/v1/workers/x/poll' })
    expect(patch).toMatchObject({ status: 405, headers: { allow: 'POST' } })
    expect(await api.call({ method: 'GET', url: '/openapi_json' })).toMatchObject({ status: 404 })
    const badPath = await api.call({ method: 'GET', url: '/api/v1/tasks/%zz' })
    expect(badPath).toMatchObject({ status: 400, headers: { 'x-request-id': badPath.json.request_id } })
    expect(await api.call({ method: 'GET', url: `/api/v1/tasks/${'x'.repeat(5_000)}` })).toMatchObject({ status: 400 })
  })

  it('show nothing of a fault, which stands in the log under the same id', async () => {
    const api = started()
    const fault = Object.assign(new Error('relation "tasks" at postgres://duly:secret@db/duly'), {
      code: '42P01',
      detail: 'row',
    })
    api.services.told.failNext = fault
    const answer = await api.post('/api/v1/tasks', '{"task_type":"a","payload":"private"}')
    expect(answer).toMatchObject({ status: 500, json: { code: 'internal' } })
    expect(answer.text).not.toMatch(/relation|42P01|secret|node_modules|private/)
    const [line = ''] = api.log
    expect(JSON.parse(line)).toMatchObject({
      level: 'error',
      request_id: answer.json.request_id,
      err: { code: '42P01' },
    })
    expect(line).toContain('postgres://[hidden]@db/duly')
    expect(line).not.toMatch(/private|"row"/)
  })

  it('say when to come back', async () => {
    const api = started()
    api.services.told.failNext = new DulyError('rate_limited', 'Too many.', { retryAfterSeconds: 1.2 })
    expect(await api.post('/api/v1/tasks', task)).toMatchObject({ status: 429, headers: { 'retry-after': '2' } })
    api.services.told.failNext = new DulyError('store_unavailable', 'Away.', { cause: new Error('ECONNREFUSED') })
    const away = await api.post('/api/v1/tasks', task)
    expect(away).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(away.text).not.toContain('ECONNREFUSED')
    expect(api.log).toEqual([])
  })
})

describe('the form of a body', () => {
  it.each([
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'application/x-www-form-urlencoded' }],
    [{ 'content-type': 'application/jsonp' }],
    [{ 'content-type': 'application/json; charset=utf-16' }],
    [{ 'content-type': 'application/json; charset="ISO-8859-1"' }],
    [{ ...json, 'content-encoding': 'gzip' }],
    [{ ...json, 'content-encoding': 'br' }],
    [{}],
  ])('is refused with 415: %j', async (headers) => {
    const api = started()
    const payload = Buffer.from(task)
    const answer = await api.call({
      method: 'POST',
      url: '/api/v1/tasks',
      payload,
      headers: headers as Record<string, string>,
    })
    expect(answer).toMatchObject({ status: 415, json: { code: 'unsupported_media_type' } })
  })

  it('may name UTF-8, and must be it', async () => {
    const api = started()
    const call = (payload: Buffer, type: string) =>
      api.call({ method: 'POST', url: '/api/v1/tasks', payload, headers: { 'content-type': type } })
    expect((await call(Buffer.from(task), 'application/json; charset=UTF-8')).status).toBe(202)
    for (const bytes of [
      Buffer.from(task, 'utf16le'),
      Buffer.from([0x22, 0xff, 0x22]),
      Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
    ]) {
      expect(await call(bytes, 'application/json')).toMatchObject({ status: 400, json: { code: 'invalid_json' } })
    }
  })

  it('must be there', async () => {
    const api = started()
    expect(await api.call({ method: 'POST', url: '/api/v1/tasks' })).toMatchObject({
      status: 400,
      json: { code: 'invalid_json' },
    })
  })
})

describe('system routes', () => {
  it('tell who asks at the root what this is and where the rest is', async () => {
    const api = started()
    const { status, json } = await api.call({ method: 'GET', url: '/' })
    expect({ status, json }).toMatchObject({ status: 200, json: { name: 'duly', version: expect.any(String) } })
    expect(contractErrors('about', 200, json)).toEqual([])
    const links = Object.values((json as { links: Record<string, string> }).links)
    expect(links).toEqual(['/docs', '/openapi.json', '/healthz', '/readyz', '/metrics'])
    for (const url of links) expect(await api.call({ method: 'GET', url })).toMatchObject({ status: 200 })
  })

  it('tell alive from ready', async () => {
    const api = started()
    expect(await api.call({ method: 'GET', url: '/healthz?probe=1' })).toMatchObject({
      status: 200,
      json: { status: 'ok' },
    })
    expect(await api.call({ method: 'GET', url: '/readyz' })).toMatchObject({ status: 200, json: { status: 'ready' } })
    api.services.readiness = 'The store cannot be reached.'
    expect(await api.call({ method: 'GET', url: '/readyz' })).toMatchObject({
      status: 503,
      json: { code: 'store_unavailable', detail: 'The store cannot be reached.' },
      headers: { 'retry-after': '1' },
    })
    expect(await api.call({ method: 'GET', url: '/healthz' })).toMatchObject({ status: 200 })
  })

  it('show requests by their route in the metrics', async () => {
    const api = started()
    await api.call({ method: 'GET', url: `/api/v1/tasks/task-${'0'.repeat(26)}` })
    const answer = await api.call({ method: 'GET', url: '/metrics' })
    expect(answer.headers['content-type']).toMatch(/^text\/plain/)
    expect(answer.text).toContain(
      'duly_http_request_seconds_count{method="GET",route="/api/v1/tasks/:task_id",status="404"} 1',
    )
  })

  it('describe the API', async () => {
    const answer = await started().call({ method: 'GET', url: '/openapi.json' })
    expect(answer.json).toMatchObject({
      openapi: '3.1.0',
      paths: { '/api/v1/tasks': { post: { operationId: 'submitTask' } } },
    })
  })
})
