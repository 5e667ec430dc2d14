import { describe, expect, it } from 'vitest'
import { clientOf } from '../testing/scripted-client.js'
import { type Call, problem, type Reply } from '../testing/scripted-server.js'
import { rawJson } from './raw-json.js'
import type { TaskFilters } from './task-lists.js'

async function tasksOf(answer: Parameters<typeof clientOf>[0]) {
  const { duly, ...rest } = await clientOf(answer)
  return { tasks: duly.tasks, ...rest }
}

const summary = (n: number) => ({
  ...{ task_id: `task-${n}`, status: 'DEAD', tenant_id: 'acme', task_type: 'mail', queue: 'q', priority: 'high' },
  ...{ metadata: { tenant_id: 'acme', camelCase: 1 }, tags: ['a'], created_at: '2026-04-03T10:00:00.000Z' },
  ...{ scheduled_at: null, completed_at: '2026-04-03T10:00:01.500Z', max_retries: 3, attempts: 4, workflow_id: null },
  ...{ error: { class: 'SmtpError', message: 'away' }, reason: null },
})

/** Five tasks on three pages, an empty one between. */
const PAGES: Readonly<Record<string, object>> = {
  '': { items: [summary(5), summary(4)], next_cursor: 'one' },
  one: { items: [], next_cursor: 'two' },
  two: { items: [summary(3), summary(2), summary(1)], next_cursor: null },
}

const paged = (call: Call): Reply => ({
  body: PAGES[new URL(call.path, 'http://x').searchParams.get('cursor') ?? ''],
})

describe('tasks.list', () => {
  it("gives a page in the words of the client, what is the user's own as it came", async () => {
    const { tasks, server } = await tasksOf(paged)
    const page = await tasks.list()
    expect(server.calls[0]).toMatchObject({ method: 'GET', path: '/api/v1/tasks' })
    expect(page.nextCursor).toBe('one')
    expect(page.items[0]).toEqual({
      ...{ id: 'task-5', status: 'DEAD', tenantId: 'acme', taskType: 'mail', queue: 'q', priority: 'high' },
      ...{ metadata: { tenant_id: 'acme', camelCase: 1 }, tags: ['a'], createdAt: new Date('2026-04-03T10:00:00Z') },
      ...{ scheduledAt: null, completedAt: new Date('2026-04-03T10:00:01.500Z'), maxRetries: 3, attempts: 4 },
      ...{ workflowId: null, error: { class: 'SmtpError', message: 'away' }, reason: null },
    })
  })

  it('sends every filter under the name of the API, instants as they are given or in UTC', async () => {
    const { tasks, queries } = await tasksOf(paged)
    const filters: Required<TaskFilters> = {
      ...{
        status: 'DEAD',
        taskType: 'a/b&c',
        queue: 'q',
        tenant: 'acme',
        tag: 'ü',
        workflowId: 'wf-1',
        cronId: 'cron-1',
      },
      ...{ createdAfter: '2026-04-03T10:00:00+02:00', createdBefore: new Date('2026-04-04T00:00:00Z') },
      correlationId: 'x y',
    }
    await tasks.list(filters, { limit: 7, cursor: 'one' })
    expect(queries()[0]).toEqual({
      ...{ status: 'DEAD', task_type: 'a/b&c', queue: 'q', tenant_id: 'acme', tag: 'ü', workflow_id: 'wf-1' },
      ...{ cron_id: 'cron-1', created_after: '2026-04-03T10:00:00+02:00', created_before: '2026-04-04T00:00:00.000Z' },
      ...{ correlation_id: 'x y', limit: '7', cursor: 'one' },
    })
  })

  it('is refused with the fields that are wrong, and ended by its signal', async () => {
    const { tasks } = await tasksOf(() => problem(400, 'invalid_request'))
    await expect(tasks.list({ tag: '' })).rejects.toMatchObject({ name: 'DulyApiError', code: 'invalid_request' })
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(tasks.list({}, { signal })).rejects.toThrow('enough')
  })
})

describe('tasks.all', () => {
  it('goes over short and empty pages, with the same filters', async () => {
    const { tasks, queries } = await tasksOf(paged)
    const ids: string[] = []
    for await (const { id } of tasks.all({ queue: 'q' }, { limit: 2 })) ids.push(id)
    expect(ids).toEqual(['task-5', 'task-4', 'task-3', 'task-2', 'task-1'])
    const same = { queue: 'q', limit: '2' }
    expect(queries()).toEqual([same, { ...same, cursor: 'one' }, { ...same, cursor: 'two' }])
  })

  it('asks for a page only when it is wanted', async () => {
    const { tasks, server } = await tasksOf(paged)
    const all = tasks.all()
    expect(server.calls).toHaveLength(0)
    await all.next()
    await all.next()
    expect(server.calls).toHaveLength(1)
    await all.return()
    expect(await all.next()).toEqual({ done: true, value: undefined })
    expect(server.calls).toHaveLength(1)
  })

  it('asks for a page again when the server is away for a moment', async () => {
    const { tasks, server } = await tasksOf((call, n) =>
      n === 2 ? problem(503, 'store_unavailable', { 'retry-after': '0.01' }) : paged(call),
    )
    let count = 0
    for await (const _ of tasks.all()) count += 1
    expect([count, server.calls.length]).toEqual([5, 4])
  })
})

describe('tasks.edit', () => {
  const edited: Reply = { body: { ...summary(1), status: 'PENDING', payload: null, result: null } }

  it('sends what is given and nothing else, durations in seconds', async () => {
    const { tasks, server } = await tasksOf(() => edited)
    const task = await tasks.edit('task/1', {
      ...{ scheduledAt: new Date('2026-04-03T10:00:00Z'), priority: 'high', payload: { a: 1 }, queue: 'r' },
      ...{ maxRetries: 0, timeout: '1.5s' },
    })
    expect(task).toMatchObject({ id: 'task-1', status: 'PENDING', createdAt: new Date('2026-04-03T10:00:00Z') })
    expect(server.calls[0]).toMatchObject({ method: 'PATCH', path: '/api/v1/tasks/task%2F1' })
    expect(server.calls[0]?.body).toEqual({
      ...{ scheduled_at: '2026-04-03T10:00:00.000Z', priority: 'high', payload: { a: 1 }, queue: 'r' },
      ...{ max_retries: 0, timeout_seconds: 1.5 },
    })
  })

  it('can set a payload to null, bring a task forward, and send JSON as it is written', async () => {
    const { tasks, server } = await tasksOf(() => edited)
    await tasks.edit('task-1', { payload: null })
    await tasks.edit('task-1', { scheduledAt: null })
    await tasks.edit('task-1', { payload: rawJson('[12345678901234567890, 1.0]') })
    await tasks.edit('task-1', { queue: 'q', payload: rawJson('-0') })
    expect(server.calls.map(({ text }) => text)).toEqual([
      '{"payload":null}',
      '{"scheduled_at":null}',
      '{"payload":[12345678901234567890, 1.0]}',
      '{"queue":"q","payload":-0}',
    ])
  })

  it('tells that the task does not wait any more', async () => {
    const { tasks } = await tasksOf(() => problem(409, 'wrong_state'))
    await expect(tasks.edit('task-1', { priority: 'low' })).rejects.toMatchObject({ status: 409, code: 'wrong_state' })
  })
})

describe('tasks.runs', () => {
  it('gives the runs of a task, page by page', async () => {
    const run = {
      ...{ run: 2, status: 'DEAD', started_at: '2026-04-03T10:00:00.000Z', completed_at: null, replayed_at: null },
      ...{
        last_attempt: 8,
        failures: 4,
        crashes: 0,
        reason: null,
        worker_id: 'worker-1',
        worker_name: 'w',
        error: null,
      },
    }
    const { tasks, server, queries } = await tasksOf(() => ({ body: { items: [run], next_cursor: 'older' } }))
    const page = await tasks.runs('task-1', { limit: 1, cursor: 'newer' })
    expect(server.calls[0]?.path).toMatch(/^\/api\/v1\/tasks\/task-1\/runs\?/)
    expect(queries()[0]).toEqual({ limit: '1', cursor: 'newer' })
    expect(page).toEqual({
      nextCursor: 'older',
      items: [
        {
          ...{
            run: 2,
            status: 'DEAD',
            startedAt: new Date('2026-04-03T10:00:00Z'),
            completedAt: null,
            replayedAt: null,
          },
          ...{
            lastAttempt: 8,
            failures: 4,
            crashes: 0,
            reason: null,
            workerId: 'worker-1',
            workerName: 'w',
            error: null,
          },
        },
      ],
    })
  })
})
