import { encodeId } from '@duly/domain'
import { beforeEach, describe, expect, test } from 'vitest'
import { contractErrors, errorsOf, type TestApi, testApi } from '../test-support/test-api.js'

let api: TestApi
beforeEach(() => {
  api = testApi()
})

const get = (path: string) => api.call({ method: 'GET', url: `/api/v1${path}` })
const patch = (id: string, body: string) =>
  api.call({
    method: 'PATCH',
    url: `/api/v1/tasks/${id}`,
    payload: body,
    headers: { 'content-type': 'application/json' },
  })
const submit = async (body = '{"task_type":"mail"}') => String((await api.post('/api/v1/tasks', body)).json.task_id)

describe('GET /tasks', () => {
  test('passes on every filter, and tells no payload and no result', async () => {
    const id = await submit('{"task_type":"mail","payload":{"secret":1},"metadata":{"n":1.0}}')
    const [workflow, cron] = (['wf', 'cron'] as const).map((kind) =>
      encodeId(kind, '01a22499-f800-7000-8000-000000000001'),
    )
    const answer = await get(
      `/tasks?status=FAILED&task_type=mail&queue=q&tenant_id=default&tag=a%20b&workflow_id=${workflow}&cron_id=${cron}` +
        '&created_after=2026-04-03T10:00:00%2B02:00&created_before=2026-04-03T10:00:00Z&correlation_id=req-1&limit=7',
    )
    expect(answer.status).toBe(200)
    expect(contractErrors('listTasks', 200, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({ items: [{ task_id: id, task_type: 'mail' }], next_cursor: expect.any(String) })
    expect(answer.text).toContain('"metadata":{"n":1.0}')
    expect(answer.text).not.toMatch(/secret|payload|result/)
    const uuid = '01a22499-f800-7000-8000-000000000001'
    expect(api.services.listed).toEqual([
      {
        filters: {
          ...{ status: 'FAILED', taskType: 'mail', queue: 'q', tenant: 'default', tag: 'a b', workflowId: uuid },
          ...{ cronId: uuid, correlationId: 'req-1' },
          ...{ createdAfterMs: Date.UTC(2026, 3, 3, 8), createdBeforeMs: Date.UTC(2026, 3, 3, 10) },
        },
        page: { limit: 7, after: null },
      },
    ])
  })

  test('has 50 items a page unless told otherwise', async () => {
    await get('/tasks')
    expect(api.services.listed[0]?.page).toEqual({ limit: 50, after: null })
  })

  // what is dropped in silence, or read as zero, looks like an answer: the client loops on page one
  test.each([
    ['?page=2', 'page: is not a known field'],
    ['?after=x', 'after: is not a known field'],
    ['?starting_after=x', 'starting_after: is not a known field'],
    ['?limit=0', 'limit: must be at least 1'],
    ['?limit=-1', 'limit: must be a whole number'],
    ['?limit=1.5', 'limit: must be a whole number'],
    ['?limit=501', 'limit: must be at most 500'],
    ['?limit=1e9', 'limit: must be a whole number'],
    ['?limit=abc', 'limit: must be a whole number'],
    ['?limit=', 'limit: must be a whole number'],
    ['?limit=5&limit=6', 'limit: is given more than once'],
    ['?cursor=', 'cursor: must not be empty'],
    ['?cursor=a&cursor=b', 'cursor: is given more than once'],
    ['?status=failed', 'status: must be one of SCHEDULED, PENDING'],
    ['?status=FAILED&status=DEAD', 'status: is given more than once'],
    ['?workflow_id=task-01kf3v7q2n8f5w9r6x4y1z0abc', 'workflow_id: must be an id of the form wf-'],
    ['?created_after=yesterday', 'created_after: must be an RFC 3339 instant'],
    ['?created_after=2026-02-30T00:00:00Z', 'created_after: must be an RFC 3339 instant'],
    ["?queue=a'b", 'queue: must be a name'],
  ])('refuses %s', async (query, message) => {
    const answer = await get(`/tasks${query}`)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toEqual([expect.stringContaining(message)])
    expect(api.services.listed).toEqual([])
  })
})

describe('a cursor', () => {
  const listed = () => api.services.listed.at(-1)?.page.after

  test('leads on behind the last task, with the same filters only', async () => {
    await submit()
    const id = [...api.services.book.byId.keys()].at(-1)
    const cursor = String((await get('/tasks?tag=red&limit=1')).json.next_cursor)
    await get(`/tasks?limit=9&tag=red&cursor=${cursor}`)
    expect(listed()).toBe(id)
    for (const query of ['tag=blue', 'tag=red&queue=q', 'tag=red&status=FAILED', '']) {
      const answer = await get(`/tasks?${query}&cursor=${cursor}`)
      expect(answer.status).toBe(400)
      expect(errorsOf(answer)).toEqual([expect.stringContaining('cursor: is not a cursor of this list')])
    }
  })

  test('that was changed, cut or made up is refused', async () => {
    await submit()
    const cursor = String((await get('/tasks')).json.next_cursor)
    expect((await get(`/tasks?cursor=${cursor}`)).status).toBe(200)
    const id = [...api.services.book.byId.keys()].at(-1) ?? ''
    const changed = [...cursor].map(
      (_, at) => cursor.slice(0, at) + (cursor[at] === 'x' ? 'y' : 'x') + cursor.slice(at + 1),
    )
    const made = ['0', 'null', id, Buffer.from(id).toString('base64url'), `${cursor}=`, `${cursor}.`, `%20${cursor}`]
    for (const text of [...changed, ...made, cursor.slice(1), cursor.slice(0, -1), cursor + cursor]) {
      expect((await get(`/tasks?cursor=${text}`)).status, text).toBe(400)
    }
    const runs = `/tasks/${await submit()}/runs?cursor=${cursor}`
    expect((await get(runs)).status).toBe(400)
  })
})

describe('PATCH /tasks/{id}', () => {
  test('passes on each field, the payload as it was written', async () => {
    const id = await submit()
    const body =
      '{"scheduled_at":"2026-04-03T10:00:00Z","priority":"low","payload":{"z":1.0,"__proto__":1e-7},"queue":"q2","max_retries":0,"timeout_seconds":0.25}'
    const answer = await patch(id, body)
    expect(answer.status).toBe(200)
    expect(contractErrors('editTask', 200, answer.json)).toEqual([])
    expect(answer.text).toContain('{"z":1.0,"__proto__":1e-7}')
    expect(api.services.edits).toEqual([
      {
        ...{ scheduledAtMs: Date.UTC(2026, 3, 3, 10), priority: 3, payload: '{"z":1.0,"__proto__":1e-7}', queue: 'q2' },
        ...{ maxRetries: 0, timeoutMs: 250 },
      },
    ])
  })

  test('tells a null from what is absent', async () => {
    const id = await submit()
    await patch(id, '{"scheduled_at":null}')
    await patch(id, '{"payload":null}')
    expect(api.services.edits).toEqual([{ scheduledAtMs: null }, { payload: 'null' }])
  })

  test.each([
    ['{}', ': must not be empty'],
    ['{"status":"SUCCEEDED"}', 'status: is not a known field'],
    ['{"delay_seconds":5}', 'delay_seconds: is not a known field'],
    ['{"priority":null}', 'priority: must be one of high, medium, low'],
    ['{"max_retries":101,"timeout_seconds":0}', 'max_retries: must be at most 100'],
    ['{"scheduled_at":"2026-13-01T00:00:00Z"}', 'scheduled_at: must be an RFC 3339 instant'],
    ['{"queue":"a\\u0000b"}', ''],
    ['{"priority":"high","priority":"low"}', ''],
    ['{"payload":"\\ud800"}', ''],
  ])('refuses %s', async (body, message) => {
    const answer = await patch(await submit(), body)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer).join('\n')).toContain(message)
    expect(api.services.edits).toEqual([])
  })

  test('refuses a payload over the limit with 413', async () => {
    api = testApi({ payloadMaxBytes: 100 })
    const answer = await patch(await submit(), `{"payload":"${'x'.repeat(100)}"}`)
    expect([answer.status, answer.json.code]).toEqual([413, 'too_large'])
  })
})

describe('GET /tasks/{id}/runs', () => {
  test('tells the runs', async () => {
    const answer = await get(`/tasks/${await submit()}/runs?limit=1`)
    expect(answer.status).toBe(200)
    expect(contractErrors('listRuns', 200, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({ items: [{ run: 2, status: 'PENDING', replayed_at: null }], next_cursor: null })
  })

  test('takes no more than 100 a page', async () => {
    expect(errorsOf(await get(`/tasks/${await submit()}/runs?limit=101`))).toEqual(['limit: must be at most 100'])
  })
})
