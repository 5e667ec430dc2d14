import type { Cause } from '@duly/domain'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { contractErrors, errorsOf, type TestApi, testApi } from '../test-support/test-api.js'
import { fixedAtMs } from '../test-support/told.js'

const TASKS = '/api/v1/tasks'
let api: TestApi
let id: string

beforeEach(async () => {
  api = testApi()
  id = String((await api.post(TASKS, '{"task_type":"a"}')).json.task_id)
})
afterAll(() => api.app.close())

const get = (path: string) => api.call({ method: 'GET', url: `${TASKS}/${id}/${path}` })

describe('the log of a task', () => {
  const line = { line: 7, attempt: 2, atMs: fixedAtMs, level: 'warn', message: '\u001b[31mred\u0000' } as const

  it('is written with its numbers, its text as it was logged, and how it stands', async () => {
    const progress = { percent: 40, note: null, updatedAtMs: fixedAtMs }
    api.services.logPage = { lines: [line], next: 9, hasMore: true, isComplete: false, dropped: 3, progress }
    const { status, json } = await get('logs')
    expect(status).toBe(200)
    expect(contractErrors('readLogs', 200, json)).toEqual([])
    expect(json).toMatchObject({
      items: [{ line: 7, attempt: 2, at: '2026-04-03T10:00:00.000Z', level: 'warn', message: '\u001b[31mred\u0000' }],
      ...{ has_more: true, is_complete: false, dropped_lines: 3 },
      progress: { percent: 40, note: null, updated_at: '2026-04-03T10:00:00.000Z' },
    })
  })

  it('is asked for by attempt, level and place, and has no further page once it is complete', async () => {
    api.services.logPage = { ...api.services.logPage, next: 9 }
    const first = await get('logs?attempt=2&level=warn&limit=10')
    const cursor = String(first.json.next_cursor)
    api.services.logPage = { ...api.services.logPage, isComplete: true }
    const last = await get(`logs?attempt=2&level=warn&cursor=${cursor}`)
    expect(api.services.asked).toEqual([
      { after: 0, limit: 10, attempt: 2, levels: ['warn', 'error'] },
      { after: 9, limit: 50, attempt: 2, levels: ['warn', 'error'] },
    ])
    expect(last.json).toMatchObject({ next_cursor: null, is_complete: true })
  })

  it('takes no cursor of other filters or of another task, and no level that there is not', async () => {
    const cursor = String((await get('logs?level=warn')).json.next_cursor)
    for (const query of ['', '&level=info', '&level=warn&attempt=1'])
      expect(errorsOf(await get(`logs?cursor=${cursor}${query}`))).toEqual([expect.stringMatching(/^cursor: is not/)])
    expect((await get('logs?level=fatal')).status).toBe(400)
    expect((await get('logs?attempt=0')).status).toBe(400)
    expect(errorsOf(await get('logs?limit=1001'))).toEqual(['limit: must be at most 1000'])
    expect(errorsOf(await get('logs?wait_seconds=61'))).toEqual(['wait_seconds: must be at most 60'])
  })

  it('is held for as long as it says', async () => {
    const waiting = new Promise<AbortSignal>((resolve) => {
      api.services.told.onWait = resolve
    })
    const answer = get('logs?wait_seconds=0.05')
    expect((await waiting).aborted).toBe(false)
    expect((await answer).json).toMatchObject({ items: [], is_complete: false })
  })
})

describe('an explanation', () => {
  it('is written with the names, instants and lengths of time of the wire', async () => {
    const uuid = [...api.services.book.byId.keys()].at(-1) ?? ''
    const worker = { id: uuid, name: 'mailer', queues: ['q'], taskTypes: ['b'], missing: ['task_type'] } as const
    const causes: Cause[] = [
      { code: 'no_worker_for_type', message: 'None.', queue: 'q', taskType: 'a', workers: 1, nearWorkers: [worker] },
      {
        ...{
          code: 'lane_position',
          message: 'Ahead.',
          tenant: 'acme',
          priority: 1,
          ahead: 3,
          isAheadExact: true,
          depth: 4,
        },
        estimate: { waitMs: 1_500.4, startsPerSecond: 2, startsOf: 'queue', windowMs: 300_000, share: 0.5 },
      },
      { code: 'other_lanes', message: 'Shared.', priorities: [{ priority: 3, share: 1 }], tenants: null, share: 1 },
      { code: 'queue_paused', message: 'Paused.', pausedAtMs: fixedAtMs, forMs: 1_234.6 },
      {
        code: 'retrying',
        message: 'Again.',
        backoff: 'fixed',
        jitter: 'none',
        delayMs: null,
        delayFrom: null,
        inMs: -2,
      },
      {
        code: 'running',
        message: 'Runs.',
        workerId: uuid,
        workerName: null,
        isLeaseLive: true,
        lastHeartbeatAtMs: null,
      },
      {
        code: 'waits_for_earlier',
        message: 'Waits.',
        blockerCount: 1,
        blockers: [{ id: uuid, node: null, status: 'RUNNING' }],
      },
    ]
    api.services.explanation = { status: 'PENDING', summary: 'None.', causes }
    const { status, json } = await get('explain')
    expect(status).toBe(200)
    expect(contractErrors('explainTask', 200, json)).toEqual([])
    const workerId = id.replace('task-', 'worker-')
    expect(json).toEqual({
      ...{ task_id: id, status: 'PENDING', summary: 'None.' },
      causes: [
        {
          ...{ code: 'no_worker_for_type', message: 'None.', queue: 'q', task_type: 'a', workers: 1 },
          near_workers: [
            { worker_id: workerId, name: 'mailer', queues: ['q'], task_types: ['b'], missing: ['task_type'] },
          ],
        },
        {
          ...{ code: 'lane_position', message: 'Ahead.', tenant_id: 'acme', priority: 'high', ahead: 3 },
          ...{ is_ahead_exact: true, depth: 4 },
          estimate: { wait_seconds: 1.5, starts_per_second: 2, starts_of: 'queue', window_seconds: 300, share: 0.5 },
        },
        {
          code: 'other_lanes',
          message: 'Shared.',
          priorities: [{ priority: 'low', share: 1 }],
          tenants: null,
          share: 1,
        },
        { code: 'queue_paused', message: 'Paused.', paused_at: '2026-04-03T10:00:00.000Z', for_seconds: 1.235 },
        {
          ...{ code: 'retrying', message: 'Again.', retry_backoff: 'fixed', retry_jitter: 'none' },
          ...{ delay_seconds: null, delay_from: null, in_seconds: -0.002 },
        },
        {
          ...{ code: 'running', message: 'Runs.', worker_id: workerId, worker_name: null, is_lease_live: true },
          last_heartbeat_at: null,
        },
        {
          ...{ code: 'waits_for_earlier', message: 'Waits.', blocker_count: 1 },
          blockers: [{ task_id: id, node: null, status: 'RUNNING' }],
        },
      ],
    })
  })
})
