import { describe, expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type StandardSchema, type } from '../standard-schema.js'
import { clientOf } from '../testing/scripted-client.js'
import { problem, type Reply } from '../testing/scripted-server.js'
import { rawJson, rawOf } from './raw-json.js'

const ACCEPTED: Reply = {
  status: 202,
  body: rawJson(
    '{"workflow_id":"wf-1","status":"RUNNING","tasks":{"b":"PENDING","1":"BLOCKED"},"task_ids":{"b":"task-b","1":"task-1"}}',
  ),
}
const summary = (status: string, more: object = {}) => ({
  ...{ workflow_id: 'wf-1', workflow_name: 'w', status, created_at: '2026-05-01T09:00:00.000Z', completed_at: null },
  ...more,
})
const node = (node_name: string, status: string, error: object | null = null) => ({
  ...{ node_name, task_id: `task-${node_name}`, status, error, started_at: '2026-05-01T09:00:00.000Z' },
  ...{ trigger_rule: 'all_done', dependencies: [], added_by: null },
})
const record = (status: string, ...graph: object[]): Reply => ({
  body: { ...summary(status), metadata: { a_b: 1 }, graph, critical_path: { nodes: ['a'], duration_ms: 5 } },
})

const account = defineTask('create_account', { payload: type<{ user: string }>(), retry: { limit: 5 } })

describe('a workflow that is put together', () => {
  it('is sent as the API takes it, task by task in the order given', async () => {
    const { duly, server } = await clientOf(() => ACCEPTED)
    const workflow = duly.workflow('onboarding', {
      ...{ failurePolicy: 'fail_fast', scheduledAt: new Date('2027-01-01T00:00:00Z'), tenant: 'acme' },
      metadata: { source: 'shop' },
    })
    const created = workflow.task('create-account', account, { user: 'a@example.com' }, { queue: 'q', delay: '5s' })
    const mail = workflow.task('send-mail', 'send_email', rawJson('{"n":1.0}'), { after: [created] })
    workflow.task('clean-up', 'clean_up', null, { after: [created, mail], triggerRule: 'one_failed' })
    await workflow.submit({ idempotencyKey: 'k', traceparent: '00-a-b-01' })
    const [call] = server.calls
    expect([call?.method, call?.path, call?.headers.traceparent]).toEqual(['POST', '/api/v1/workflows', '00-a-b-01'])
    expect(call?.body).toEqual({
      ...{ workflow_name: 'onboarding', failure_policy: 'fail_fast', scheduled_at: '2027-01-01T00:00:00.000Z' },
      metadata: { source: 'shop', tenant_id: 'acme' },
      tasks: [
        {
          ...{ task_id: 'create-account', task_type: 'create_account', payload: { user: 'a@example.com' } },
          ...{ queue: 'q', delay_seconds: 5, max_retries: 5 },
        },
        { task_id: 'send-mail', task_type: 'send_email', payload: { n: 1 }, dependencies: ['create-account'] },
        {
          ...{ task_id: 'clean-up', task_type: 'clean_up', payload: null, trigger_rule: 'one_failed' },
          dependencies: ['create-account', 'send-mail'],
        },
      ],
      idempotency_key: 'k',
    })
    expect(call?.text).toContain('{"n":1.0}')
  })

  it('can be submitted again and again', async () => {
    const { duly, server } = await clientOf(() => ACCEPTED)
    const workflow = duly.workflow('w')
    workflow.task('a', 't')
    await workflow.submit()
    workflow.task('b', 't')
    await workflow.submit()
    expect(server.calls.map(({ body }) => (body.tasks as object[]).length)).toEqual([1, 2])
  })

  it('is sent again after a lost answer only with a key', async () => {
    const { duly, server } = await clientOf((_, n) => (n === 2 ? ACCEPTED : { cut: true }))
    const workflow = duly.workflow('w')
    workflow.task('b', 't')
    await expect(workflow.submit()).rejects.toMatchObject({ mayHaveArrived: true })
    await workflow.submit({ idempotencyKey: 'k' })
    expect(server.calls).toHaveLength(2)
  })

  it('sends nothing when a payload does not fit', async () => {
    const { duly, server } = await clientOf(() => ACCEPTED)
    const never: StandardSchema<string> = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'no' }] }) },
    }
    const workflow = duly.workflow('w')
    workflow.task('a', defineTask('x', { payload: never }), 'x')
    await expect(workflow.submit()).rejects.toMatchObject({ name: 'InvalidPayloadError' })
    expect(server.calls).toHaveLength(0)
  })
})

describe('a workflow that is JSON already', () => {
  it('is sent to the last digit, with the key that is given in place of its own', async () => {
    const { duly, server } = await clientOf(() => ACCEPTED)
    const text = '{"workflow_name":"w","idempotency_key":"own","tasks":[{"task_id":"a","task_type":"t","payload":1.0}]}'
    await duly.workflows.submit(rawJson(text))
    await duly.workflows.submit(rawJson(text), { idempotencyKey: 'k' })
    expect(server.calls.map(({ body }) => body.idempotency_key)).toEqual(['own', 'k'])
    for (const call of server.calls)
      expect(call.text).toContain('"tasks":[{"task_id":"a","task_type":"t","payload":1.0}]')
  })
})

describe('the handle of a workflow', () => {
  it('tells its tasks by name, in the order of submission where an object keeps it', async () => {
    const { duly } = await clientOf((_, n) => (n === 1 ? ACCEPTED : { ...ACCEPTED, status: 200 }))
    const workflow = duly.workflow('w')
    workflow.task('b', 't')
    const first = await workflow.submit({ idempotencyKey: 'k' })
    expect([first.id, first.isReplay, (await workflow.submit({ idempotencyKey: 'k' })).isReplay]).toEqual([
      'wf-1',
      false,
      true,
    ])
    expect(first.receipt.tasks.get('1')).toEqual({ id: 'task-1', status: 'BLOCKED' })
    expect(rawOf(first.receipt)?.member('workflow_id')?.value).toBe('wf-1')
  })

  it('gives the handle of a task, whose result is decoded by its definition', async () => {
    const dated: StandardSchema<string, Date> = {
      '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: new Date(String(value)) }) },
    }
    const { duly, server } = await clientOf((call) =>
      call.method === 'POST'
        ? ACCEPTED
        : { body: { task_id: 'task-b', status: 'SUCCEEDED', result: '2026-05-01T00:00:00Z', error: null } },
    )
    const workflow = duly.workflow('w')
    const b = workflow.task('b', defineTask('t', { result: dated }), null)
    const handle = await workflow.submit()
    expect(await handle.node(b).result()).toEqual(new Date('2026-05-01T00:00:00Z'))
    expect(await handle.node('b').result()).toBe('2026-05-01T00:00:00Z')
    expect(await handle.node('b', { type: 't', result: dated }).result()).toEqual(new Date('2026-05-01T00:00:00Z'))
    expect(server.calls[1]?.path).toMatch(/^\/api\/v1\/tasks\/task-b\?wait_seconds=/)
    expect(() => handle.node('nobody')).toThrow(RangeError)
    expect(() => handle.node(duly.workflow('other').task('b', 't'))).toThrow(RangeError)
  })

  it('waits for the end: the record, or an error that names what failed by itself', async () => {
    const replies = [
      ACCEPTED,
      record('RUNNING', node('a', 'RUNNING')),
      record('SUCCEEDED', node('a', 'SUCCEEDED')),
      record(
        'FAILED',
        node('a', 'DEAD', { class: 'SmtpError', message: 'no route' }),
        node('b', 'FAILED'),
        node('c', 'CANCELLED'),
      ),
    ]
    const { duly, server } = await clientOf((_, n) => replies[n - 1] ?? problem(500, 'internal'))
    const workflow = duly.workflow('w')
    workflow.task('b', 't')
    const handle = await workflow.submit()
    expect(await handle.result()).toMatchObject({
      ...{ id: 'wf-1', name: 'w', status: 'SUCCEEDED', createdAt: new Date('2026-05-01T09:00:00Z') },
      ...{ metadata: { a_b: 1 }, criticalPath: { nodes: ['a'], durationMs: 5 } },
      graph: [{ name: 'a', id: 'task-a', triggerRule: 'all_done', startedAt: new Date('2026-05-01T09:00:00Z') }],
    })
    const failed = await handle.result().catch((error: unknown) => error)
    expect(failed).toMatchObject({
      ...{ name: 'WorkflowFailedError', workflowId: 'wf-1', status: 'FAILED' },
      message: 'workflow wf-1 ended FAILED; a DEAD: SmtpError: no route',
    })
    expect((failed as { failed: { name: string }[] }).failed.map(({ name }) => name)).toEqual(['a'])
    expect(server.calls[1]?.path).toMatch(/^\/api\/v1\/workflows\/wf-1\?wait_seconds=30$/)
  })

  it('is told how far it came while it waits, in short waits', async () => {
    const replies = [ACCEPTED, record('RUNNING', node('a', 'RUNNING')), record('SUCCEEDED', node('a', 'SUCCEEDED'))]
    const { duly, server } = await clientOf((_, n) => replies[n - 1] ?? problem(500, 'internal'))
    const workflow = duly.workflow('w')
    workflow.task('a', 't')
    const seen: string[] = []
    const handle = await workflow.submit()
    await handle.result({ onProgress: ({ status, graph }) => seen.push(`${status} ${graph[0]?.status}`) })
    expect(seen).toEqual(['RUNNING RUNNING', 'SUCCEEDED SUCCEEDED'])
    expect(server.calls[1]?.path).toMatch(/\?wait_seconds=1$/)
    await expect(duly.workflows.wait('wf-1', { onprogress: () => {} } as object)).rejects.toThrow(/onProgress/)
  })

  it('stops waiting at its own limit', async () => {
    const { duly } = await clientOf((_, n) => (n === 1 ? ACCEPTED : record('RUNNING')))
    const workflow = duly.workflow('w')
    workflow.task('b', 't')
    const handle = await workflow.submit()
    await expect(handle.result({ timeout: 1 })).rejects.toMatchObject({ name: 'WorkflowTimeoutError' })
  })
})

describe('duly.workflows', () => {
  it('cancels, retries, and waits through an outage', async () => {
    const replies = [
      { status: 202, body: summary('RUNNING', { cancel_requested: true }) },
      record('RUNNING'),
      problem(503, 'store_unavailable', { 'retry-after': '0.01' }),
      record('CANCELLED'),
    ]
    const { duly, server } = await clientOf((_, n) => replies[n - 1] ?? problem(500, 'internal'))
    expect(await duly.workflows.cancel('wf-1')).toMatchObject({ id: 'wf-1', name: 'w', cancelRequested: true })
    expect(await duly.workflows.retry('wf-1')).toMatchObject({ id: 'wf-1', status: 'RUNNING' })
    expect(await duly.workflows.wait('wf-1')).toMatchObject({ status: 'CANCELLED' })
    expect(server.calls.map(({ method, path }) => `${method} ${path}`).slice(0, 2)).toEqual([
      'POST /api/v1/workflows/wf-1/cancel',
      'POST /api/v1/workflows/wf-1/retry',
    ])
  })

  it('gives the handle of one that was submitted elsewhere, with the tasks that were added to it', async () => {
    const graph = [
      { ...node('a', 'SUCCEEDED'), task_type: 't' },
      { ...node('late', 'SUCCEEDED'), added_by: 'a' },
    ]
    const { duly, server } = await clientOf((call) =>
      call.path.startsWith('/api/v1/tasks/')
        ? { body: { task_id: 'task-late', status: 'SUCCEEDED', result: 7, error: null } }
        : record('SUCCEEDED', ...graph),
    )
    const handle = await duly.workflows.handle('wf-1')
    expect([handle.id, handle.receipt.status, handle.isReplay]).toEqual(['wf-1', 'SUCCEEDED', false])
    expect(await handle.node('late').result()).toBe(7)
    expect(server.calls.at(-1)?.path).toMatch(/^\/api\/v1\/tasks\/task-late/)
    const rebuilt = duly.workflow('w')
    expect(handle.node(rebuilt.task('a', 't')).id).toBe('task-a')
    expect(() => handle.node(duly.workflow('w').task('a', 'other'))).toThrow('has no task "a"')
    expect(() => handle.node('nobody')).toThrow(
      `workflow wf-1 has no task "nobody" that this handle knows of; duly.workflows.handle('wf-1') knows`,
    )
  })

  it('lists by filters, page by page', async () => {
    const pages = [
      { items: [summary('FAILED')], next_cursor: 'c' },
      { items: [], next_cursor: null },
    ]
    const { duly, server } = await clientOf((_, n) => ({ body: pages[(n - 1) % 2] }))
    const found = []
    const filters = { status: 'FAILED', name: 'w', createdAfter: new Date(0) } as const
    for await (const workflow of duly.workflows.all(filters, { limit: 1 })) found.push(workflow)
    expect(found).toMatchObject([{ id: 'wf-1', name: 'w', createdAt: new Date('2026-05-01T09:00:00Z') }])
    const query = 'status=FAILED&workflow_name=w&created_after=1970-01-01T00%3A00%3A00.000Z&limit=1'
    expect(server.calls.map(({ path }) => path)).toEqual([
      `/api/v1/workflows?${query}`,
      `/api/v1/workflows?${query}&cursor=c`,
    ])
  })
})
