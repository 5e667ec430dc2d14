import { describe, expect, it } from 'vitest'
import { contractErrors, errorsOf } from '../test-support/test-api.js'
import { onboarding, task, WorkflowCalls } from '../test-support/workflow-calls.js'

const api = new WorkflowCalls()

describe('POST /workflows', () => {
  it('takes the documented example and tells where each task stands', async () => {
    const answer = await api.submit(onboarding)
    expect(answer.status).toBe(202)
    expect(contractErrors('submitWorkflow', 202, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({
      workflow_id: expect.stringMatching(/^wf-/),
      status: 'RUNNING',
      tasks: {
        'create-account': 'PENDING',
        'send-welcome-email': 'BLOCKED',
        'setup-defaults': 'BLOCKED',
        'notify-sales': 'BLOCKED',
      },
    })
    const ids = Object.values(answer.json.task_ids as object)
    expect(new Set(ids).size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^task-/)
  })

  it('passes the graph on by places, with the defaults of workflows and of tasks', async () => {
    await api.submit(onboarding, { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` })
    const [workflow] = api.services.graphs.submitted
    expect(workflow).toMatchObject({
      ...{ tenant: 'default', boundTo: null, name: 'user-onboarding', scheduledAtMs: null, metadata: null },
      ...{ failurePolicy: 'fail_dependents', idempotencyKey: null, requestHash: null },
      traceparent: expect.stringContaining('1111'),
    })
    expect(workflow?.nodes.map(({ name, dependencies, triggerRule }) => [name, dependencies, triggerRule])).toEqual([
      ['create-account', [], 'all_succeeded'],
      ['send-welcome-email', [0], 'all_succeeded'],
      ['setup-defaults', [0], 'all_succeeded'],
      ['notify-sales', [1, 2], 'all_succeeded'],
    ])
    expect(workflow?.nodes[0]?.task).toMatchObject({
      ...{ tenant: 'default', taskType: 'create_account', queue: 'default', payload: '{"user":"a@example.com"}' },
      ...{ maxRetries: 3, idempotencyKey: null, requestHash: null, traceparent: workflow?.traceparent },
    })
  })

  it('takes every field, with payloads and metadata exactly as they were written', async () => {
    const text = `{"workflow_name":"w","failure_policy":"fail_fast","scheduled_at":"2027-01-01T00:00:00Z","metadata":{"tenant_id":"acme","n":1.0},
      "tasks":[{"task_id":"a","task_type":"t","payload":{"n":1.0},"queue":"q","priority":"high","max_retries":0,"retry_backoff":"fixed",
      "retry_jitter":"none","retry_delay_seconds":1,"retry_max_delay_seconds":2,"timeout_seconds":3,"result_ttl_seconds":4,"concurrency_key":"k",
      "tags":["x"],"expires_at":"2027-01-02T00:00:00Z","delay_seconds":5,"metadata":{"tenant_id":"acme","m":2.0}},
      {"task_id":"b","task_type":"t","dependencies":["a"],"trigger_rule":"one_failed"}]}`
    expect((await api.submitText(text)).status).toBe(202)
    const [workflow] = api.services.graphs.submitted
    expect(workflow).toMatchObject({
      ...{ tenant: 'acme', failurePolicy: 'fail_fast', scheduledAtMs: Date.UTC(2027, 0) },
      metadata: '{"tenant_id":"acme","n":1.0}',
    })
    const [a, b] = workflow?.nodes ?? []
    expect(a?.task).toMatchObject({
      ...{
        tenant: 'acme',
        payload: '{"n":1.0}',
        queue: 'q',
        priority: 1,
        maxRetries: 0,
        backoff: 'fixed',
        delayMs: 5_000,
      },
      ...{ timeoutMs: 3_000, resultTtlMs: 4_000, concurrencyKey: 'k', tags: ['x'] },
      metadata: '{"tenant_id":"acme","m":2.0}',
    })
    expect(b).toMatchObject({ triggerRule: 'one_failed', dependencies: [0], task: { tenant: 'acme', payload: 'null' } })
  })

  it('keeps names that an object would reorder or swallow', async () => {
    const answer = await api.withTasks(task('b'), task('2'), task('__proto__'), task('1'))
    expect(answer.text).toMatch(/"tasks":\{"b":"PENDING","2":"PENDING","__proto__":"PENDING","1":"PENDING"\}/)
  })

  it.each([
    [[task('a', { dependencies: ['a'] })], ['tasks[0].dependencies[0]: closes a cycle: a → a']],
    [[task('a', { dependencies: ['b'] })], ['tasks[0].dependencies[0]: no task of this workflow is called "b"']],
    [[task('a'), task('a')], ['tasks[1].task_id: must be unique in the workflow; tasks[0] has this name']],
    [
      [task('a', { dependencies: ['c'] }), task('b', { dependencies: ['a'] }), task('c', { dependencies: ['b'] })],
      ['tasks[0].dependencies[0]: closes a cycle: a → b → c → a'],
    ],
    [[task('a'), task('b', { dependencies: ['a', 'a'] })], ['tasks[1].dependencies[1]: names "a" a second time']],
    [
      [task('a', { trigger_rule: 'one_failed' })],
      ['tasks[0].trigger_rule: one_failed needs dependencies: without them none can fail'],
    ],
    [[task('a', { idempotency_key: 'k' })], ['tasks[0].idempotency_key: is not a known field']],
    [[task('a b')], ['tasks[0].task_id: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /']],
    [
      [task('a', { scheduled_at: '2027-01-01T00:00:00Z', delay_seconds: 1 })],
      ['tasks[0].delay_seconds: must not be given together with scheduled_at'],
    ],
    [[], ['tasks: must not be empty']],
    [
      [task('a', { metadata: { tenant_id: 'other' } })],
      [
        "tasks[0].metadata.tenant_id: names another tenant than default, the workflow's; name the tenant in the metadata of the workflow",
      ],
    ],
  ])('refuses %j', async (tasks, errors) => {
    const answer = await api.withTasks(...tasks)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toEqual(errors)
    expect(api.services.graphs.submitted).toEqual([])
  })

  it('tells errors of fields and of the graph at once', async () => {
    const answer = await api.submit({
      workflow_name: 'a b',
      tasks: [task('a', { dependencies: ['x'], max_retries: 1 })],
    })
    expect(errorsOf(answer)).toEqual([
      'workflow_name: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /',
      'tasks[0].dependencies[0]: no task of this workflow is called "x"',
    ])
  })

  it('refuses a payload that is too large, naming its task', async () => {
    const answer = await api.withTasks(task('a'), task('b', { payload: 'x'.repeat(1_100_000) }))
    expect(answer).toMatchObject({ status: 413, json: { code: 'too_large' } })
    expect(errorsOf(answer)[0]).toMatch(/^tasks\[1\]\.payload: has \d+ bytes/)
  })

  it('takes ten thousand tasks, and 100,000 dependencies', async () => {
    const roots = Array.from({ length: 100 }, (_, place) => task(`root${place}`))
    const names = roots.map(({ task_id }) => task_id)
    const others = Array.from({ length: 9_900 }, (_, place) =>
      task(`n${place}`, { dependencies: names.slice(0, place < 1_000 ? 100 : 0) }),
    )
    expect((await api.withTasks(...roots, ...others)).status).toBe(202)
    expect((await api.withTasks(...roots, ...others, task('one-more'))).status).toBe(400)
  })
})

describe('the key of a workflow', () => {
  const keyed = (more: object = {}) => api.submit({ ...onboarding, idempotency_key: 'k', ...more })
  const hashes = () => api.services.graphs.submitted.map(({ requestHash }) => requestHash?.toString('hex'))

  it('answers 200 with a header to a replay', async () => {
    const first = await keyed()
    const again = await keyed()
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([200, 'true'])
    expect(contractErrors('submitWorkflow', 200, again.json)).toEqual([])
    expect(again.json.workflow_id).toBe(first.json.workflow_id)
  })

  it('is the same as a header, which must not differ', async () => {
    await api.submit(onboarding, { 'idempotency-key': 'k' })
    expect(api.services.graphs.submitted[0]).toMatchObject({ idempotencyKey: 'k' })
    const answer = await api.submit({ ...onboarding, idempotency_key: 'k' }, { 'idempotency-key': 'other' })
    expect(errorsOf(answer)).toEqual(['Idempotency-Key: differs from the field idempotency_key'])
  })

  it('has a hash of the whole request, whatever its white space and the order of its keys', async () => {
    await keyed()
    const { workflow_name, tasks } = onboarding
    await api.submitText(JSON.stringify({ tasks, idempotency_key: 'k', workflow_name }, null, 2))
    await keyed({ workflow_name: 'other' })
    await keyed({ failure_policy: 'fail_fast' })
    await keyed({ scheduled_at: '2027-01-01T00:00:00Z' })
    await keyed({ metadata: { a: 1 } })
    await keyed({ tasks: tasks.slice(0, 3) })
    const [first, same, ...others] = hashes()
    expect(same).toBe(first)
    expect(new Set([first, ...others]).size).toBe(1 + others.length)
  })

  it('tells requests apart whose parts only meet elsewhere', async () => {
    const bodies = [
      { workflow_name: 'w', tasks: [task('a'), task('b')] },
      { workflow_name: 'w', tasks: [task('b'), task('a')] },
      { workflow_name: 'w', tasks: [task('a', { payload: [1] }), task('b')] },
      { workflow_name: 'w', tasks: [task('a'), task('b', { payload: [1] })] },
    ]
    for (const body of bodies) await api.submit({ ...body, idempotency_key: 'k' })
    expect(new Set(hashes()).size).toBe(bodies.length)
  })
})
