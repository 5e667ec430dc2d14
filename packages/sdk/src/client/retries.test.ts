import { describe, expect, it } from 'vitest'
import { DulyConnectionError } from '../errors.js'
import { clientOf } from '../testing/scripted-client.js'
import { problem, type Reply } from '../testing/scripted-server.js'

const ACCEPTED = { status: 202, body: { task_id: 'task-1', status: 'PENDING', created_at: '2026-04-03T10:00:00.000Z' } }
const BUSY = problem(503, 'store_unavailable', { 'retry-after': '0.01' })

describe('errors', () => {
  it("carry the problem document's words", async () => {
    const errors = [{ path: 'payload.to', message: 'is required' }]
    const { duly } = await clientOf(() => ({
      status: 400,
      body: { title: 'Invalid', code: 'invalid_request', errors, request_id: 'r' },
    }))
    await expect(duly.submit('x')).rejects.toMatchObject({
      name: 'DulyApiError',
      status: 400,
      code: 'invalid_request',
      errors,
      requestId: 'r',
      retryable: false,
      message: expect.stringContaining('payload.to: is required'),
    })
  })

  const path = 'task_id'
  const why = '"x" is not a task id'
  const other = { path: 'tags', message: 'is not an array' }
  it.each([
    ['the detail alone', why, [{ path, message: why }], why],
    ['the detail with its path', `task_id ${why}`, [{ path, message: why }], `task_id ${why}`],
    ['what the detail left out', `task_id ${why}; 2 errors in all`, [{ path, message: why }, other], undefined],
    ['the title where there is no more', undefined, undefined, 'Invalid id'],
  ])('say nothing twice: %s', async (_, detail, errors, message) => {
    const body = { title: 'Invalid id', code: 'invalid_id', detail, errors }
    const { duly } = await clientOf(() => ({ status: 400, body }))
    const expected = message ?? `${detail} · tags: is not an array`
    await expect(duly.tasks.get('x')).rejects.toMatchObject({ message: expected })
  })

  it('make do with an answer that is no problem document', async () => {
    const { duly } = await clientOf(() => ({ status: 502, body: '<html>' }), { retries: 0 })
    await expect(duly.tasks.get('task-1')).rejects.toMatchObject({ status: 502, code: 'http_502', retryable: true })
  })

  it('of the connection say whether the request may have arrived', async () => {
    const { duly, server } = await clientOf(() => ({ cut: true }), { retries: 0 })
    await expect(duly.submit('x')).rejects.toMatchObject({ name: 'DulyConnectionError', mayHaveArrived: true })
    await server.stop()
    await expect(duly.submit('x')).rejects.toMatchObject({ code: 'ECONNREFUSED', mayHaveArrived: false })
  })

  it('come when the server is silent for too long', async () => {
    const { duly } = await clientOf(() => new Promise<Reply>(() => {}), { timeout: 30, retries: 0 })
    await expect(duly.submit('x')).rejects.toMatchObject({ code: 'TIMEOUT' })
  })
})

describe('retries', () => {
  it('repeat what the server surely refused, also without a key', async () => {
    const { duly, server } = await clientOf((_, n) =>
      n === 1 ? BUSY : n === 2 ? problem(429, 'rate_limited', { 'retry-after': '0' }) : ACCEPTED,
    )
    expect((await duly.submit('x')).id).toBe('task-1')
    expect(server.calls).toHaveLength(3)
  })

  it('do not repeat a keyless submission that may have had its effect', async () => {
    const cut = await clientOf(() => ({ cut: true }))
    await expect(cut.duly.submit('x')).rejects.toBeInstanceOf(DulyConnectionError)
    expect(cut.server.calls).toHaveLength(1)
    const unknown = await clientOf(() => problem(503, 'commit_unknown'))
    await expect(unknown.duly.submit('x')).rejects.toMatchObject({ code: 'commit_unknown' })
    expect(unknown.server.calls).toHaveLength(1)
  })

  it('repeat a submission with a key, whatever happened to it', async () => {
    const replies: Reply[] = [{ cut: true }, problem(503, 'commit_unknown'), problem(500, 'internal'), ACCEPTED]
    const { duly, server } = await clientOf((_, n) => replies[n - 1] ?? ACCEPTED)
    await duly.submit('x', null, { idempotencyKey: 'k' })
    expect(server.calls).toHaveLength(4)
  })

  it('repeat a batch only when each item has a key', async () => {
    const { duly, server } = await clientOf(() => ({ cut: true }), { retries: 1 })
    const keyed = { task: 'x', options: { idempotencyKey: 'k' } }
    await expect(duly.tasks.submitBatch([keyed, { task: 'x' }])).rejects.toBeInstanceOf(DulyConnectionError)
    expect(server.calls).toHaveLength(1)
    await expect(duly.tasks.submitBatch([keyed])).rejects.toBeInstanceOf(DulyConnectionError)
    expect(server.calls).toHaveLength(3)
  })

  it('end after the given number, and do not repeat what is wrong', async () => {
    const busy = await clientOf(() => BUSY, { retries: 2 })
    await expect(busy.duly.tasks.get('task-1')).rejects.toMatchObject({ status: 503, retryAfterMs: 10 })
    expect(busy.server.calls).toHaveLength(3)
    const wrong = await clientOf(() => problem(404, 'not_found'))
    await expect(wrong.duly.tasks.get('task-1')).rejects.toMatchObject({ code: 'not_found' })
    expect(wrong.server.calls).toHaveLength(1)
  })

  it('stop when the signal aborts', async () => {
    const { duly, server } = await clientOf(() => problem(503, 'store_unavailable', { 'retry-after': '60' }))
    const abort = new AbortController()
    const submitting = duly.submit('x', null, { signal: abort.signal })
    await server.until(() => server.calls.length === 1)
    abort.abort(new Error('enough'))
    await expect(submitting).rejects.toThrow('enough')
  })

  it('abort a request under way', async () => {
    const { duly, server } = await clientOf(() => new Promise<Reply>(() => {}))
    const abort = new AbortController()
    const getting = duly.tasks.get('task-1', { waitSeconds: 30, signal: abort.signal })
    await server.until(() => server.calls.length === 1)
    abort.abort(new Error('enough'))
    await expect(getting).rejects.toThrow('enough')
  })
})
