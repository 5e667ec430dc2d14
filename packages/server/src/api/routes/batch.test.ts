import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { contractErrors, errorsOf, type TestApi, testApi } from '../test-support/test-api.js'

const TASKS = '/api/v1/tasks'
let api: TestApi

beforeEach(() => {
  api = testApi()
})
afterAll(() => api.app.close())

describe('POST /tasks/batch', () => {
  const batch = (items: readonly unknown[], headers?: Record<string, string>) =>
    api.post(`${TASKS}/batch`, JSON.stringify({ tasks: items }), headers)

  it('answers in the order given, 200 only when all are replays', async () => {
    const items = [
      { task_type: 'a', idempotency_key: 'k' },
      { task_type: 'b', payload: [1] },
      { task_type: 'a', idempotency_key: 'k' },
    ]
    const answer = await batch(items)
    expect(answer.status).toBe(202)
    expect(contractErrors('submitBatch', 202, answer.json)).toEqual([])
    const tasks = answer.json.tasks as { task_id: string; replayed: boolean }[]
    expect(tasks.map(({ replayed }) => replayed)).toEqual([false, false, true])
    expect(tasks[2]?.task_id).toBe(tasks[0]?.task_id)
    expect(api.services.submitted.map(({ taskType, payload }) => [taskType, payload])).toEqual([
      ['a', 'null'],
      ['b', '[1]'],
    ])
    const again = await batch([items[0], items[2]])
    expect(again.status).toBe(200)
    expect(again.headers['idempotency-replayed']).toBe('true')
  })

  it('takes none when one is wrong, and says which', async () => {
    const items: Record<string, unknown>[] = Array.from({ length: 1_000 }, () => ({ task_type: 'a' }))
    items[0] = { task_type: 'a', nope: 1 }
    items[57] = { task_type: 'a', payload: '\0' }
    items[999] = { payload: 1, delay_seconds: 1, scheduled_at: '2026-04-04T09:00:00Z' }
    const answer = await batch(items)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer).sort()).toEqual([
      'tasks[0].nope: is not a known field',
      expect.stringMatching(/^tasks\[57\]\.payload: holds the character U\+0000/),
      'tasks[999].delay_seconds: must not be given together with scheduled_at',
      'tasks[999].task_type: is required',
    ])
    expect(api.services.submitted).toEqual([])
  })

  it('finds the guilty ones of a large batch too', async () => {
    const items: unknown[] = Array.from({ length: 10_000 }, (_, n) => ({
      task_type: 'a',
      concurrency_key: `key-of-user-${n}`,
    }))
    items[9_999] = { task_type: 'a', priority: 'urgent', nope: 1 }
    expect(errorsOf(await batch(items)).sort()).toEqual([
      'tasks[9999].nope: is not a known field',
      'tasks[9999].priority: must be one of high, medium, low',
    ])
  })

  it('refuses an empty list, more than 10,000 items, a key for the whole and payloads over the limit', async () => {
    expect(errorsOf(await batch([]))).toEqual(['tasks: must not be empty'])
    const many = await batch(Array(10_001).fill({ task_type: 'a' }))
    expect(many).toMatchObject({ status: 400, json: { code: 'invalid_request' } })
    expect(errorsOf(many)[0]).toMatch(/^tasks: has more than 10000 items/)
    expect((await batch([{ task_type: 'a' }], { 'idempotency-key': 'k' })).status).toBe(400)
    const large = await batch([{ task_type: 'a' }, { task_type: 'a', payload: 'x'.repeat(1_048_577) }])
    expect(large).toMatchObject({ status: 413, json: { code: 'too_large' } })
    expect(errorsOf(large)[0]).toMatch(/^tasks\[1\]\.payload: has 1048579 bytes/)
  })
})

describe('a batch of large tasks with keys', () => {
  const batch = (extra: string) => {
    const payload = `{${Array.from({ length: 10_000 }, (_, at) => `"${(at * 7_919) % 10_007}_${at}":"${'x'.repeat(20)}"`).join()}}`
    const tasks = Array.from(
      { length: 8 },
      (_, at) => `{"task_type":"a"${extra.replace('$', String(at))},"payload":${payload}}`,
    )
    return `{"tasks":[${tasks.join()}]}`
  }

  /** How often others got their turn while the batch was judged. */
  async function turnsDuring(body: string): Promise<number> {
    const api = testApi()
    let turns = 0
    let isDone = false
    const count = (): void => {
      if (isDone) return
      turns++
      setImmediate(count)
    }
    setImmediate(count)
    expect((await api.post('/api/v1/tasks/batch', body)).status).toBe(202)
    isDone = true
    return turns
  }

  it('lets others have their turn while it is hashed', async () => {
    const unkeyed = await turnsDuring(batch(''))
    expect(await turnsDuring(batch(',"idempotency_key":"k$"'))).toBeGreaterThanOrEqual(unkeyed + 6)
  })
})
