import { encodeId, firstUuidAt } from '@duly/domain'
import { describe, expect, it } from 'vitest'
import { contractErrors, errorsOf } from '../test-support/test-api.js'
import { fixedAtMs } from '../test-support/told.js'
import { onboarding, task, WorkflowCalls } from '../test-support/workflow-calls.js'

const api = new WorkflowCalls()

describe('one workflow', () => {
  const submitted = async () => String((await api.submit(onboarding)).json.workflow_id)
  const uuid = () => [...api.services.graphs.byId.keys()][0] ?? ''

  it('is read with its graph', async () => {
    const id = await submitted()
    api.services.graphs.set(uuid(), {
      ...{ status: 'FAILED', completedAtMs: fixedAtMs + 1_500, open: 0, failed: 1 },
      criticalPath: { nodes: ['create-account'], durationMs: 1_499.6 },
    })
    const answer = await api.call('GET', `/${id}`)
    expect(contractErrors('getWorkflow', 200, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({
      ...{ workflow_id: id, workflow_name: 'user-onboarding', status: 'FAILED', duration_ms: 1_500, failed: 1 },
      critical_path: { nodes: ['create-account'], duration_ms: 1_500 },
    })
    expect((answer.json.graph as object[])[3]).toMatchObject({
      ...{ node_name: 'notify-sales', task_id: expect.stringMatching(/^task-/), status: 'BLOCKED', added_by: null },
      dependencies: ['send-welcome-email', 'setup-defaults'],
    })
  })

  it('is waited for', async () => {
    const id = await submitted()
    let waits = 0
    api.services.told.onWait = () => {
      waits++
      api.services.graphs.set(uuid(), { status: 'SUCCEEDED', open: 0 })
    }
    const answer = await api.call('GET', `/${id}?wait_seconds=0.01`)
    expect([waits, answer.json.status]).toEqual([1, 'SUCCEEDED'])
    expect((await api.call('GET', `/${id}?wait_seconds=61`)).status).toBe(400)
  })

  it('is cancelled: 202 while something runs, 200 when nothing is open', async () => {
    const id = await submitted()
    const running = await api.call('POST', `/${id}/cancel`)
    expect([running.status, running.json.cancel_requested]).toEqual([202, true])
    expect(contractErrors('cancelWorkflow', 202, running.json)).toEqual([])
    api.services.graphs.set(uuid(), { open: 0 })
    const done = await api.call('POST', `/${id}/cancel`)
    expect([done.status, done.json.status]).toEqual([200, 'CANCELLED'])
    expect(contractErrors('cancelWorkflow', 200, done.json)).toEqual([])
  })

  it('is retried when it has failed', async () => {
    const id = await submitted()
    expect(await api.call('POST', `/${id}/retry`)).toMatchObject({ status: 409, json: { code: 'wrong_state' } })
    api.services.graphs.set(uuid(), { status: 'FAILED' })
    const answer = await api.call('POST', `/${id}/retry`)
    expect([answer.status, answer.json.status]).toEqual([200, 'RUNNING'])
    expect(contractErrors('retryWorkflow', 200, answer.json)).toEqual([])
  })

  it.each(['', '/cancel', '/retry'])('does not exist under an id that nothing has, or that is none%s', async (path) => {
    const method = path === '' ? 'GET' : 'POST'
    const unknown = encodeId('wf', firstUuidAt(fixedAtMs))
    expect((await api.call(method, `/${unknown}${path}`)).status).toBe(404)
    const wrong = await api.call(method, `/task-${'0'.repeat(26)}${path}`)
    expect([wrong.status, wrong.json.code]).toEqual([400, 'invalid_id'])
    expect(errorsOf(wrong)[0]).toMatch(/^workflow_id: /)
  })
})

describe('the list of workflows', () => {
  it('passes its filters on, and takes cursors of the same filters only', async () => {
    await api.submit(onboarding)
    const query = 'status=RUNNING&workflow_name=user-onboarding&tenant_id=default&created_after=2026-01-01T00:00:00Z'
    const answer = await api.call('GET', `?${query}`)
    expect(contractErrors('listWorkflows', 200, answer.json)).toEqual([])
    expect(api.services.graphs.listed).toEqual([
      {
        ...{ status: 'RUNNING', name: 'user-onboarding', tenant: 'default', createdBeforeMs: null },
        createdAfterMs: Date.UTC(2026, 0),
      },
    ])
    const cursor = `cursor=${answer.json.next_cursor}`
    expect((await api.call('GET', `?${query}&${cursor}`)).status).toBe(200)
    expect((await api.call('GET', `?${cursor}`)).status).toBe(400)
    expect((await api.call('GET', '?status=DEAD')).status).toBe(400)
  })
})

describe('POST /workflows/{id}/tasks', () => {
  const adder = encodeId('task', firstUuidAt(fixedAtMs))
  const add = async (...tasks: object[]) => {
    const { workflow_id: id } = (await api.submit(onboarding)).json
    return api.call('POST', `/${id}/tasks`, { task_id: adder, lease: '1-00000000000000a1', tasks })
  }

  it('passes on what is added by names, with a hash for each', async () => {
    const answer = await add(
      task('resize-1', { payload: { page: 1 }, metadata: { tenant_id: 'acme' } }),
      task('merge', { dependencies: ['resize-1', 'create-account'] }),
    )
    expect(answer.status).toBe(202)
    expect(contractErrors('addWorkflowTasks', 202, answer.json)).toEqual([])
    const [addition] = api.services.graphs.added
    expect(addition).toMatchObject({
      ...{ adder: firstUuidAt(fixedAtMs), lease: '1-00000000000000a1' },
      nodes: [
        {
          name: 'resize-1',
          dependencies: [],
          waitsForAdder: true,
          namedTenant: 'acme',
          task: { taskType: 't', payload: '{"page":1}' },
        },
        { name: 'merge', dependencies: ['resize-1', 'create-account'], namedTenant: null },
      ],
    })
    expect(new Set(addition?.nodes.map(({ requestHash }) => requestHash.toString('hex'))).size).toBe(2)
    expect(addition?.nodes[0]?.task).not.toHaveProperty('tenant')
  })

  it('answers 200 when all of it was there', async () => {
    const answer = await add(task('create-account'))
    expect(answer.status).toBe(200)
    expect(answer.json.replayed).toEqual(['create-account'])
    expect(contractErrors('addWorkflowTasks', 200, answer.json)).toEqual([])
  })

  it('tells which wait for nobody, and refuses those that wait for others by it', async () => {
    const answer = await add(task('a', { waits_for_adder: false }), task('b', { waits_for_adder: true }))
    expect(answer.json).toMatchObject({ replayed: [] })
    const [addition] = api.services.graphs.added
    expect(addition?.nodes.map(({ waitsForAdder }) => waitsForAdder)).toEqual([false, true])
    const both = await add(task('a'), task('b', { dependencies: ['a'], waits_for_adder: false }))
    expect(errorsOf(both)).toEqual([
      'tasks[1].waits_for_adder: must not be given together with dependencies: a task waits for those alone',
    ])
    expect((await api.submit([task('a', { waits_for_adder: false })])).status).toBe(400)
  })

  it('judges the new tasks among each other', async () => {
    const answer = await add(task('a', { dependencies: ['b'] }), task('b', { dependencies: ['a', 'elsewhere'] }))
    expect(errorsOf(answer)).toEqual(['tasks[0].dependencies[0]: closes a cycle: a → b → a'])
    expect(api.services.graphs.added).toEqual([])
  })
})

describe('results of dependencies', () => {
  const adder = encodeId('task', firstUuidAt(fixedAtMs))
  const open = async () => {
    const { id } = await api.services.workers.register()
    return `/api/v1/workers/${encodeId('worker', id)}`
  }

  it('are fetched as they were written, with the names of those that did not fit', async () => {
    const worker = await open()
    const body = { task_id: adder, lease: '1-00000000000000a1', names: ['a', 'b', 'c'] }
    const answer = await api.post(`${worker}/dependency-results`, JSON.stringify(body))
    expect(contractErrors('fetchDependencyResults', 200, answer.json)).toEqual([])
    expect(answer.text).toBe('{"results":{"a":{"n":1.0},"b":null},"omitted":["c"]}')
  })

  it('takes 1 to 100 names', async () => {
    const worker = await open()
    const ask = (names: readonly string[]) =>
      api.post(`${worker}/dependency-results`, JSON.stringify({ task_id: adder, lease: 'x', names }))
    expect((await ask([])).status).toBe(400)
    expect((await ask(Array.from({ length: 101 }, (_, n) => `n${n}`))).status).toBe(400)
  })
})
