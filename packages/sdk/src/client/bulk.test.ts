import { describe, expect, it } from 'vitest'
import { clientOf } from '../testing/scripted-client.js'
import type { Reply } from '../testing/scripted-server.js'
import { rawOf } from './raw-json.js'

const operation = {
  ...{ bulk_id: 'bulk-1', action: 'cancel', source: 'tasks', filter: { task_type: 'mail' }, status: 'RUNNING' },
  ...{ matched: 3, done: 2, skipped: 1, failed: 0, created_at: '2026-04-03T10:00:00.000Z', completed_at: null },
}
const shown = { id: 'bulk-1', filter: { task_type: 'mail' }, createdAt: new Date('2026-04-03T10:00:00.000Z'), done: 2 }
const ended = { ...operation, status: 'SUCCEEDED' }

describe('tasks.bulk', () => {
  it('sends filters with the names of the API, and gives a handle', async () => {
    const { duly, server } = await clientOf(() => ({ status: 202, body: operation }))
    const filters = { status: 'PENDING', taskType: 'mail', tenant: 'acme', createdBefore: new Date(0) } as const
    const handle = await duly.tasks.bulk('cancel', filters)
    expect(handle.id).toBe('bulk-1')
    expect(await handle.progress()).toMatchObject(shown)
    expect(server.calls[0]).toMatchObject({
      ...{ method: 'POST', path: '/api/v1/tasks/bulk' },
      body: {
        action: 'cancel',
        filter: { status: 'PENDING', task_type: 'mail', tenant_id: 'acme', created_before: '1970-01-01T00:00:00.000Z' },
      },
    })
    expect(server.calls[1]).toMatchObject({ method: 'GET', path: '/api/v1/bulk-operations/bulk-1' })
  })

  it('says all in so many words', async () => {
    const { duly, server } = await clientOf(() => ({ status: 202, body: operation }))
    await duly.tasks.bulk('retry', { all: true })
    expect(server.calls[0]?.body).toEqual({ action: 'retry', all: true, filter: {} })
  })

  it('with dryRun answers what would be changed', async () => {
    const sample = { task_id: 'task-1', status: 'DEAD', tenant_id: 'acme', task_type: 'mail', queue: 'q' }
    const preview = { action: 'retry', matched: 1, at_least: true, by_status: { DEAD: 1 }, samples: [sample] }
    const { duly, server } = await clientOf(() => ({ body: preview }))
    expect(await duly.tasks.bulk('retry', { queue: 'q' }, { dryRun: true })).toEqual({
      ...{ action: 'retry', matched: 1, atLeast: true, byStatus: { DEAD: 1 } },
      samples: [{ id: 'task-1', status: 'DEAD', tenantId: 'acme', taskType: 'mail', queue: 'q' }],
    })
    expect(server.calls[0]?.body).toMatchObject({ dry_run: true })
  })

  it('refuses filters and options that it does not know, before anything is sent', async () => {
    const { duly, server } = await clientOf(() => ({ body: operation }))
    await expect(duly.tasks.bulk('cancel', { queues: 'q' } as object)).rejects.toThrow(/did you mean queue\?/)
    await expect(duly.tasks.bulk('cancel', { queue: 'q' }, { dryrun: true } as object)).rejects.toThrow(/dryRun/)
    expect(server.calls).toEqual([])
  })

  it('is not sent again when its answer got lost', async () => {
    const { duly, server } = await clientOf(() => ({ cut: true }))
    await expect(duly.tasks.bulk('cancel', { queue: 'q' })).rejects.toThrow()
    expect(server.calls).toHaveLength(1)
  })
})

describe('the handle of an operation', () => {
  it('waits for the end, tells the progress, and has the last record', async () => {
    const replies: Reply[] = [
      { body: operation },
      { status: 503, body: { code: 'store_unavailable' } },
      { body: ended },
    ]
    const { duly, server } = await clientOf(() => replies.shift() ?? { body: ended })
    const seen: string[] = []
    const record = await duly.bulk.handle('bulk-1').result({ onProgress: ({ status }) => seen.push(status) })
    expect(record).toMatchObject({ id: 'bulk-1', status: 'SUCCEEDED' })
    expect(seen).toEqual(['RUNNING', 'SUCCEEDED'])
    expect(server.calls[0]?.path).toBe('/api/v1/bulk-operations/bulk-1?wait_seconds=1')
    expect(rawOf(record)?.text).toContain('"bulk_id":"bulk-1"')
  })

  it('gives up when its time is over, with the record as it stands', async () => {
    const { duly } = await clientOf(() => ({ body: operation }))
    expect(await duly.bulk.handle('bulk-1').result({ timeout: '50ms' })).toMatchObject({ status: 'RUNNING' })
    const left = AbortSignal.abort(new Error('gone'))
    await expect(duly.bulk.handle('bulk-1').result({ signal: left })).rejects.toThrow('gone')
  })

  it('stops it', async () => {
    const { duly, server } = await clientOf(() => ({ body: { ...operation, status: 'CANCELLED' } }))
    expect(await duly.bulk.handle('bulk-1').cancel()).toMatchObject({ status: 'CANCELLED' })
    expect(server.calls[0]).toMatchObject({ method: 'POST', path: '/api/v1/bulk-operations/bulk-1/cancel' })
    const list = await clientOf(() => ({ body: { items: [operation], next_cursor: 'c' } }))
    expect(await list.duly.bulk.list({ limit: 1 })).toMatchObject({ items: [shown], nextCursor: 'c' })
  })
})

describe('duly.dlq', () => {
  const letter = {
    ...{ task_id: 'task-1', tenant_id: 'acme', task_type: 'mail', died_at: '2026-04-03T10:00:00.000Z' },
    ...{ error: { class: 'E', message: 'm 1' }, error_pattern: 'm <n>', fingerprint: '5e884898da280471' },
  }

  it('lists them, page by page, by the filters given', async () => {
    const pages = [
      { items: [letter], next_cursor: 'c' },
      { items: [letter], next_cursor: null },
    ]
    const { duly, server } = await clientOf(() => ({ body: pages.shift() }))
    const found = []
    for await (const each of duly.dlq.all({ queue: 'q', errorClass: 'E', tenant: 'a/b' }, { limit: 1 }))
      found.push(each)
    expect(found).toHaveLength(2)
    expect(found[0]).toMatchObject({
      id: 'task-1',
      diedAt: new Date('2026-04-03T10:00:00.000Z'),
      errorPattern: 'm <n>',
    })
    expect(server.calls.map(({ path }) => path)).toEqual([
      '/api/v1/dlq?queue=q&tenant_id=a%2Fb&error_class=E&limit=1',
      '/api/v1/dlq?queue=q&tenant_id=a%2Fb&error_class=E&limit=1&cursor=c',
    ])
  })

  it('groups them', async () => {
    const group = { fingerprint: 'f', letters: 2, oldest_at: '2026-04-03T10:00:00.000Z', sample_task_id: 'task-1' }
    const { duly, server } = await clientOf(() => ({
      body: { letters: 2, groups: 1, items: [group], is_complete: true },
    }))
    expect(await duly.dlq.summary({ queue: 'q', limit: 3 })).toMatchObject({
      ...{ letters: 2, groups: 1, isComplete: true },
      items: [{ fingerprint: 'f', oldestAt: new Date('2026-04-03T10:00:00.000Z'), sampleTaskId: 'task-1' }],
    })
    expect(server.calls[0]?.path).toBe('/api/v1/dlq/summary?queue=q&limit=3')
    await expect(duly.dlq.summary({ fingerprint: 'f' } as object)).rejects.toThrow(TypeError)
  })

  it('runs them again and gives them up', async () => {
    const { duly, server } = await clientOf(({ method }) =>
      method === 'DELETE' ? { status: 204 } : { body: operation },
    )
    await duly.dlq.retry('task-1')
    expect((await duly.dlq.retryAll({ fingerprint: '5e884898da280471' })).id).toBe('bulk-1')
    await duly.dlq.discard('task-1')
    expect((await duly.dlq.discardAll({ errorClass: 'E' })).id).toBe('bulk-1')
    expect(server.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /api/v1/dlq/task-1/retry',
      'POST /api/v1/dlq/retry-all?fingerprint=5e884898da280471',
      'DELETE /api/v1/dlq/task-1',
      'POST /api/v1/dlq/discard-all?error_class=E',
    ])
  })
})
