import { encodeId } from '@duly/domain'
import { beforeEach, describe, expect, test } from 'vitest'
import { contractErrors, errorsOf, type TestApi, testApi } from '../test-support/test-api.js'

let api: TestApi
beforeEach(() => {
  api = testApi()
})

const uuid = '01a22499-f800-7000-8000-000000000001'
const bulkId = encodeId('bulk', uuid)
const call = (method: string, path: string) => api.call({ method, url: `/api/v1${path}` })
const post = (body: object) => api.post('/api/v1/tasks/bulk', JSON.stringify(body))

describe('POST /tasks/bulk', () => {
  test('passes on every filter of a list, and answers the operation', async () => {
    const [workflow, cron] = (['wf', 'cron'] as const).map((kind) => encodeId(kind, uuid))
    const filter = {
      ...{ status: 'PENDING', task_type: 'mail', queue: 'q', tenant_id: 'acme', tag: 'a b', workflow_id: workflow },
      ...{ cron_id: cron, correlation_id: 'req-1' },
      ...{ created_after: '2026-04-03T10:00:00.000Z', created_before: '2026-04-04T10:00:00.000Z' },
    }
    const answer = await post({ action: 'cancel', filter })
    expect(answer.status).toBe(202)
    expect(contractErrors('changeTasks', 202, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({ action: 'cancel', source: 'tasks', filter, status: 'RUNNING' })
    expect(api.services.orders).toEqual([
      {
        ...{ action: 'cancel', source: 'tasks' },
        filters: {
          ...{
            status: 'PENDING',
            taskType: 'mail',
            queue: 'q',
            tenant: 'acme',
            tag: 'a b',
            workflowId: uuid,
            cronId: uuid,
          },
          ...{
            createdAfterMs: Date.UTC(2026, 3, 3, 10),
            createdBeforeMs: Date.UTC(2026, 3, 4, 10),
            correlationId: 'req-1',
          },
        },
      },
    ])
  })

  test('with dry_run starts nothing', async () => {
    const answer = await post({ action: 'retry', all: true, dry_run: true })
    expect(answer.status).toBe(200)
    expect(contractErrors('changeTasks', 200, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({ matched: 1, at_least: false, by_status: { PENDING: 1 } })
    expect(api.services.orders).toEqual([])
  })

  test('takes all: true in place of a filter', async () => {
    expect((await post({ action: 'cancel', all: true })).json).toMatchObject({ filter: {} })
    expect((await post({ action: 'cancel', all: true, filter: {} })).status).toBe(202)
  })

  const everything = 'filter: must say which tasks; to mean every one, give all: true in its place'
  test.each([
    [{ action: 'cancel' }, everything],
    [{ action: 'cancel', filter: {} }, everything],
    [{ action: 'cancel', all: false }, everything],
    [{ action: 'cancel', filter: { queue: 'q' }, all: true }, 'all: must not be given together with a filter'],
    [
      { action: 'retry', filter: { status: 'PENDING' } },
      'filter.status: must be one that the action retry changes: FAILED, DEAD, CANCELLED',
    ],
    [
      { action: 'cancel', filter: { status: 'DEAD' } },
      expect.stringMatching(/^filter.status: must be one that the action cancel changes/),
    ],
    [
      { action: 'discard', filter: { status: 'FAILED' } },
      'filter.status: must be one that the action discard changes: DEAD',
    ],
    [{ action: 'delete', filter: { queue: 'q' } }, 'action: must be one of cancel, retry, discard'],
    // misspelt, it would be dropped, and more would be cancelled than was meant
    [{ action: 'cancel', filter: { queues: 'q' } }, 'filter.queues: is not a known field; did you mean queue?'],
    [{ action: 'cancel', filter: { limit: 5 } }, 'filter.limit: is not a known field'],
    [{ action: 'cancel', filter: { queue: 'q' }, dryRun: true }, 'dryRun: is not a known field; did you mean dry_run?'],
    [{ action: 'cancel', filter: { queue: null } }, expect.stringMatching(/^filter.queue: must be/)],
    [{ action: 'cancel', filter: { tag: '\u0000' } }, expect.stringMatching(/^filter.tag: /)],
    [
      { action: 'cancel', filter: { created_after: 'yesterday' } },
      expect.stringMatching(/^filter.created_after: must be an RFC 3339/),
    ],
    [{ action: 'cancel', filter: [] }, expect.stringMatching(/^filter: must be/)],
  ])('refuses %j', async (body, error) => {
    const answer = await post(body)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toContainEqual(error)
    expect(api.services.orders).toEqual([])
  })
})

describe('an operation', () => {
  test.each([
    ['GET', '/bulk-operations', 'listBulkOperations'],
    ['GET', `/bulk-operations/${bulkId}`, 'getBulkOperation'],
    ['GET', `/bulk-operations/${bulkId}?wait_seconds=0.01`, 'getBulkOperation'],
    ['POST', `/bulk-operations/${bulkId}/cancel`, 'cancelBulkOperation'],
  ] as const)('%s %s keeps to its contract', async (method, path, operation) => {
    const answer = await call(method, path)
    expect(answer.status).toBe(200)
    expect(contractErrors(operation, 200, answer.json)).toEqual([])
  })

  test.each(['?page=2', '?cursor=abc', '?limit=0', '?limit=1&limit=2'])('list refuses %s', async (query) => {
    expect((await call('GET', `/bulk-operations${query}`)).status).toBe(400)
  })
})

describe('dead letters', () => {
  test('are listed and grouped as the contract says', async () => {
    const list = await call(
      'GET',
      '/dlq?queue=q&task_type=t&tenant_id=acme&error_class=E&fingerprint=5e884898da280471&limit=3',
    )
    expect([list.status, contractErrors('listDeadLetters', 200, list.json)]).toEqual([200, []])
    const summary = await call('GET', '/dlq/summary?queue=q&limit=3')
    expect([summary.status, contractErrors('summarizeDeadLetters', 200, summary.json)]).toEqual([200, []])
  })

  test('are run again by an operation whose filter says which', async () => {
    const answer = await call('POST', '/dlq/retry-all?queue=q&fingerprint=5e884898da280471')
    expect([answer.status, contractErrors('retryDeadLetters', 202, answer.json)]).toEqual([202, []])
    expect(answer.json).toMatchObject({
      action: 'retry',
      source: 'dead_letters',
      filter: { queue: 'q', fingerprint: '5e884898da280471' },
    })
  })

  test('are given up by an operation whose filter says which', async () => {
    const answer = await call('POST', '/dlq/discard-all?task_type=mail&error_class=E')
    expect([answer.status, contractErrors('discardDeadLetters', 202, answer.json)]).toEqual([202, []])
    expect(answer.json).toMatchObject({
      action: 'discard',
      source: 'dead_letters',
      filter: { task_type: 'mail', error_class: 'E' },
    })
  })

  test.each([
    ['POST', '/dlq/discard-all?status=DEAD'],
    ['GET', '/dlq?fingerprint=x'],
    ['GET', '/dlq?fingerprint=5E884898DA280471'],
    ['GET', '/dlq?error=E'],
    ['GET', '/dlq?cursor=abc'],
    ['GET', '/dlq?limit=501'],
    ['GET', '/dlq/summary?cursor=abc'],
    ['POST', '/dlq/retry-all?status=DEAD'],
    ['POST', '/dlq/retry-all?limit=5'],
    ['DELETE', '/dlq/task-x'],
  ])('%s %s is refused', async (method, path) => {
    expect((await call(method, path)).status).toBe(400)
    expect(api.services.orders).toEqual([])
  })
})
