import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { contractErrors, errorsOf, type TestApi, testApi } from '../test-support/test-api.js'

const CRON = '/api/v1/cron-tasks'
let api: TestApi

beforeEach(() => {
  api = testApi()
})
afterAll(() => api.app.close())

const body = { name: 'daily', cron_expression: '0 9 * * 1-5', task_type: 'generate_report' }
const create = (more: object = {}) => api.post(CRON, JSON.stringify({ ...body, ...more }))
const call = (method: string, path: string, payload?: object) =>
  api.call({
    method,
    url: `${CRON}${path}`,
    ...(payload === undefined
      ? {}
      : { payload: JSON.stringify(payload), headers: { 'content-type': 'application/json' } }),
  })

describe('POST /cron-tasks', () => {
  it('takes the least there can be, and fills in the defaults of schedules and of tasks', async () => {
    const answer = await create()
    expect(answer.status).toBe(201)
    expect(contractErrors('createCronTask', 201, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({
      status: 'ACTIVE',
      timezone: 'UTC',
      overlap_policy: 'skip',
      tenant_id: 'default',
    })
    const [record] = api.services.recurring.byId.values()
    expect(record).toMatchObject({
      expression: '0 9 * * 1-5',
      everyMs: null,
      misfire: 'fire_once',
      graceMs: 60_000,
      jitterMs: 0,
    })
    expect(record?.template).toEqual({
      ...{ taskType: 'generate_report', queue: 'default', priority: 2, payload: 'null', metadata: null, tags: [] },
      ...{ expiresAtMs: null, maxRetries: 3, backoff: 'exponential', jitter: 'full', retryDelayMs: 60_000 },
      ...{ retryMaxDelayMs: 3_600_000, timeoutMs: 300_000, resultTtlMs: null, concurrencyKey: null },
    })
  })

  it('takes every field of a task, with the payload exactly as it was written', async () => {
    const text = `{"name":"n","every_seconds":1.5,"task_type":"t","payload":{"n":1.0},"metadata":{"tenant_id":"acme"},
      "priority":"high","queue":"q","max_retries":0,"retry_backoff":"fixed","retry_jitter":"none","retry_delay_seconds":1,
      "retry_max_delay_seconds":2,"timeout_seconds":3,"result_ttl_seconds":4,"concurrency_key":"k","tags":["a"],
      "expires_at":"2027-01-01T00:00:00Z","starts_at":"2026-05-01T00:00:00Z","ends_at":null,"jitter_seconds":30,
      "misfire_grace_seconds":0,"misfire_policy":"fire_all","overlap_policy":"cancel_running","enabled":false}`
    const answer = await api.post(CRON, text)
    expect(contractErrors('createCronTask', 201, answer.json)).toEqual([])
    expect(answer.text).toContain('"payload":{"n":1.0}')
    expect(answer.json).toMatchObject({
      ...{ status: 'PAUSED', tenant_id: 'acme', every_seconds: 1.5, cron_expression: null, jitter_seconds: 30 },
      ...{ priority: 'high', queue: 'q', result_ttl_seconds: 4, starts_at: '2026-05-01T00:00:00.000Z' },
    })
  })

  it.each([
    [{ every_seconds: 5 }, 'every_seconds: must not be given together with cron_expression'],
    [{ cron_expression: undefined }, 'cron_expression: is required, or every_seconds in its place'],
    [{ scheduled_at: '2026-05-01T00:00:00Z' }, 'scheduled_at: is not a known field'],
    [{ delay_seconds: 1 }, 'delay_seconds: is not a known field'],
    [{ idempotency_key: 'k' }, 'idempotency_key: is not a known field'],
    [{ overlap_policy: 'wait' }, 'overlap_policy: must be one of skip, queue, cancel_running'],
    [{ timezone: 'America/New_Yrok' }, expect.stringMatching(/^timezone: "America\/New_Yrok" is not a time zone/)],
    [{ timezone: 'GMT Standard Time' }, expect.stringMatching(/^timezone: .* is not a time zone/)],
    [{ timezone: 'IST' }, expect.stringMatching(/^timezone: "IST" is ambiguous/)],
    [{ name: 'a b' }, 'name: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /'],
    [{ ends_at: '2026-02-31T00:00:00Z' }, expect.stringMatching(/^ends_at: must be an RFC 3339 instant/)],
    [{ cron_id: 'cron-x' }, 'cron_id: is not a known field'],
    [{ next_fire_time: '2026-05-01T00:00:00Z' }, 'next_fire_time: is not a known field'],
  ])('refuses %j', async (more, error) => {
    const answer = await create(more)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toEqual([error])
    expect(api.services.recurring.byId.size).toBe(0)
  })

  it('answers 409 to a name that is taken', async () => {
    await create()
    expect(await create()).toMatchObject({ status: 409, json: { code: 'name_taken' } })
  })
})

describe('PUT /cron-tasks/by-name', () => {
  const put = (name: string, more: object = {}) => {
    const { name: _, ...rest } = body
    return call('PUT', `/by-name/${encodeURIComponent(name)}`, { ...rest, ...more })
  }

  it('answers 201 and then 200, whatever characters the name has', async () => {
    const first = await put('a/b:c')
    expect([first.status, first.json.name]).toEqual([201, 'a/b:c'])
    const again = await put('a/b:c')
    expect([again.status, again.json.cron_id]).toEqual([200, first.json.cron_id])
    expect(contractErrors('putCronTask', 200, again.json)).toEqual([])
  })

  it('leaves enabled as it stands unless it is given', async () => {
    await put('x', { enabled: false })
    expect((await put('x')).json).toMatchObject({ enabled: false })
    expect((await put('x', { enabled: true })).json).toMatchObject({ enabled: true })
  })

  it('refuses a second name, and one that is none', async () => {
    expect(errorsOf(await put('x', { name: 'x' }))).toEqual(['name: is not a known field'])
    expect((await put('a b')).status).toBe(400)
  })
})

describe('GET /cron-tasks/by-name', () => {
  it('reads the one that has the name in the tenant that is meant', async () => {
    const { json: own } = await create({ name: 'a/b' })
    const { json: other } = await create({ name: 'a/b', metadata: { tenant_id: 'acme' } })
    const found = await call('GET', '/by-name/a%2Fb')
    expect(contractErrors('getCronTaskByName', 200, found.json)).toEqual([])
    expect(found.json).toEqual(own)
    expect((await call('GET', '/by-name/a%2Fb?tenant_id=acme')).json).toEqual(other)
    expect((await call('GET', '/by-name/a%2Fb?tenant_id=rival')).json).toMatchObject({ code: 'not_found' })
    expect((await call('GET', '/by-name/a%20b')).status).toBe(400)
  })
})

describe('one of them', () => {
  it('is edited by what the body names alone', async () => {
    const { cron_id: id } = (await create()).json
    const answer = await call('PATCH', `/${id}`, { every_seconds: 60, payload: { b: 1 }, ends_at: null })
    expect(contractErrors('editCronTask', answer.status, answer.json)).toEqual([])
    expect(api.services.recurring.edits).toEqual([
      { expression: null, everyMs: 60_000, endsAtMs: null, template: { payload: '{"b":1}' } },
    ])
    expect(errorsOf(await call('PATCH', `/${id}`, {}))).toEqual([': must not be empty'])
    expect((await call('PATCH', `/${id}`, { name: 'other' })).status).toBe(400)
  })

  it('is paused, resumed, triggered, foretold, looked back on and deleted', async () => {
    const { cron_id: id } = (await create()).json
    for (const [method, path, operation, status] of [
      ['POST', 'pause', 'pauseCronTask', 200],
      ['POST', 'resume', 'resumeCronTask', 200],
      ['POST', 'trigger', 'triggerCronTask', 202],
      ['GET', 'fire-times?count=3', 'listFireTimes', 200],
      ['GET', 'firings', 'listFirings', 200],
    ] as const) {
      const answer = await call(method, `/${id}/${path}`)
      expect([operation, answer.status, contractErrors(operation, status, answer.json)]).toEqual([
        operation,
        status,
        [],
      ])
    }
    expect((await call('DELETE', `/${id}`)).status).toBe(204)
    expect((await call('GET', `/${id}`)).status).toBe(404)
  })

  it.each(['count=0', 'count=101', 'count=x', 'count=1&count=2', 'after=1'])('refuses ?%s', async (query) => {
    const { cron_id: id } = (await create()).json
    expect((await call('GET', `/${id}/fire-times?${query}`)).status).toBe(400)
  })
})

describe('the list', () => {
  it('passes its filters on, and takes cursors of the same filters only', async () => {
    await create()
    const answer = await call(
      'GET',
      '?status=ACTIVE&name_prefix=da&task_type=generate_report&queue=default&tenant_id=default',
    )
    expect(contractErrors('listCronTasks', 200, answer.json)).toEqual([])
    expect(api.services.recurring.listed).toEqual([
      {
        tenant: 'default',
        status: 'ACTIVE',
        taskType: 'generate_report',
        queue: 'default',
        name: null,
        namePrefix: 'da',
      },
    ])
    expect((await call('GET', `?cursor=${answer.json.next_cursor}`)).status).toBe(400)
    expect((await call('GET', '?status=DEAD')).status).toBe(400)
  })
})

describe('previews and imports', () => {
  it('try a schedule', async () => {
    const answer = await call('POST', '/preview', {
      cron_expression: '* * * * *',
      count: 2,
      after: '2026-05-01T00:00:00Z',
    })
    expect(contractErrors('previewSchedule', 200, answer.json)).toEqual([])
    expect(api.services.recurring.previews).toEqual([
      { expression: '* * * * *', everyMs: null, timezone: 'UTC', afterMs: Date.UTC(2026, 4), count: 2 },
    ])
    expect((await call('POST', '/preview', {})).status).toBe(400)
  })

  it('take a crontab', async () => {
    const answer = await call('POST', '/import', { crontab: '0 3 * * * backup\n', name_prefix: 'web-1/' })
    expect(contractErrors('importCrontab', 200, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({ imported: 1, refused: 1 })
    expect(api.services.recurring.imports[0]).toMatchObject({
      ...{ namePrefix: 'web-1/', dryRun: false, hasUser: false },
      common: { overlap: 'skip', enabled: null, template: { taskType: 'run_command', maxRetries: 3 } },
    })
    expect((await call('POST', '/import', { crontab: 'ü'.repeat(600_000) })).status).toBe(413)
  })

  it('take what all lines of a crontab have in common: rules, and every field of a task but the payload', async () => {
    const rules = { overlap_policy: 'queue', misfire_policy: 'skip', jitter_seconds: 60 }
    const task = { task_type: 'sh', max_retries: 0, timeout_seconds: 7_200, queue: 'ops', metadata: { tenant_id: 'a' } }
    expect((await call('POST', '/import', { crontab: '', ...rules, ...task })).status).toBe(200)
    expect(api.services.recurring.imports[0]?.common).toMatchObject({
      ...{ tenant: 'a', overlap: 'queue', misfire: 'skip', jitterMs: 60_000, timezone: 'UTC' },
      template: { taskType: 'sh', maxRetries: 0, timeoutMs: 7_200_000, queue: 'ops', payload: 'null' },
    })
    const refused = await call('POST', '/import', { crontab: '', payload: 1, max_retries: -1 })
    expect(errorsOf(refused)).toEqual([expect.stringMatching(/^payload: /), expect.stringMatching(/^max_retries: /)])
  })
})
