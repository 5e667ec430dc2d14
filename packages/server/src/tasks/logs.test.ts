import { decodeId, limits } from '@duly/domain'
import { describe, expect, it } from 'vitest'
import type { WireGrant } from '../dispatch/testing/http-node.js'
import { at, openLogBench, texts } from './testing/log-bench.js'

const bench = await openLogBench()
const { one, sql, two } = bench

describe('the log of a task', () => {
  it('is read page by page, the oldest line first, and is complete when the task has ended', async () => {
    const { worker, id, grant } = await bench.running()
    expect(await bench.read(id)).toMatchObject({ items: [], has_more: false, is_complete: false, progress: null })
    await bench.log(
      { worker, grant },
      ['a', 'b', 'c', 'd', 'e'].map((message) => ({ message })),
    )
    const first = await bench.read(id, '?limit=2')
    expect(first).toMatchObject({ items: [{ line: 1, attempt: 1 }, { line: 2 }], has_more: true, is_complete: false })
    const second = await bench.read(id, `?limit=3&cursor=${first.next_cursor}`)
    expect(texts(second)).toEqual(['c', 'd', 'e'])
    expect(second).toMatchObject({ has_more: false, is_complete: false, next_cursor: expect.any(String) })
    await worker.report([grant])
    const last = await bench.read(id, `?cursor=${second.next_cursor}`)
    expect(last).toMatchObject({ items: [], has_more: false, is_complete: true, next_cursor: null })
    expect(await bench.read(id, '?limit=4')).toMatchObject({ has_more: true, is_complete: false })
    expect(await bench.read(id, '?limit=5')).toMatchObject({ has_more: false, is_complete: true })
  })

  it('is filtered by level and attempt, and pages pass by what does not fit', async () => {
    const { worker, id, grant, queue } = await bench.running()
    const levels = ['debug', 'info', 'warn', 'error', 'debug']
    await bench.log(
      { worker, grant },
      levels.map((level) => ({ level, message: level })),
    )
    expect(texts(await bench.read(id, '?level=warn'))).toEqual(['warn', 'error'])
    expect(texts(await bench.read(id, '?level=debug'))).toHaveLength(5)
    await worker.report([grant], { outcome: 'released' })
    const again = await one.api.worker({ queues: [queue] })
    const [next] = await again.poll(1, { wait: 30 })
    await bench.log({ worker: again, grant: next as WireGrant }, [{ message: 'second' }])
    expect(texts(await bench.read(id, '?attempt=2'))).toEqual(['second'])
    expect(texts(await bench.read(id, '?attempt=1&level=error'))).toEqual(['error'])
    const none = await bench.read(id, '?attempt=3')
    await bench.log({ worker: again, grant: next as WireGrant }, [{ message: 'third' }])
    expect(texts(await bench.read(id, `?attempt=3&cursor=${none.next_cursor}`))).toEqual([])
    const errors = await bench.read(id, '?level=error')
    await bench.log({ worker: again, grant: next as WireGrant }, [{ level: 'error', message: 'late' }])
    expect(texts(await bench.read(id, `?level=error&cursor=${errors.next_cursor}`))).toEqual(['late'])
  })

  it('goes on over a retry by hand, with the attempts kept apart', async () => {
    const { worker, id, grant } = await bench.running()
    await bench.log({ worker, grant }, [{ message: 'of the first run' }])
    await worker.report([grant], { outcome: 'failed', error: { retryable: false } })
    expect((await bench.read(id)).is_complete).toBe(true)
    await one.api.call('POST', `/tasks/${id}/retry`)
    expect((await bench.read(id)).is_complete).toBe(false)
    const [next] = await worker.poll(1, { wait: 30 })
    await bench.log({ worker, grant: next as WireGrant }, [{ message: 'of the second run' }])
    await worker.report([next as WireGrant])
    expect((await bench.read(id)).items).toMatchObject([
      { line: 1, attempt: 1, message: 'of the first run' },
      { line: 2, attempt: 2, message: 'of the second run' },
    ])
  })

  it('that is full counts what it had no room for, by lines and by bytes', async () => {
    const { worker, id, grant } = await bench.running()
    await bench.log({ worker, grant }, [{ message: 'first' }])
    await sql('update task_progress set log_lines = $2 where task_id = $1', [
      decodeId('task', id),
      limits.logsMaxLinesPerTask - 1,
    ])
    await bench.log(
      { worker, grant },
      ['kept', 'dropped', 'too'].map((message) => ({ message })),
    )
    await bench.log({ worker, grant }, [{ message: 'and this' }])
    expect(await bench.read(id)).toMatchObject({
      dropped_lines: 3,
      items: [{ message: 'first' }, { line: 10_000, message: 'kept' }],
    })
    const bytes = await bench.running()
    await bench.log(
      bytes,
      Array.from({ length: 130 }, () => ({ message: 'x'.repeat(8_192) })),
    )
    const page = await bench.read(bytes.id, '?limit=1000')
    expect([page.items.length, page.dropped_lines]).toEqual([128, 2])
  })

  it('keeps a hostile text as it was, but for what can not be kept', async () => {
    const { worker, id, grant } = await bench.running()
    const message = '\u001b[2J\u0007\r\n{"a":1}\u0000\ud800 \u202e'
    await bench.log({ worker, grant }, [{ message }])
    expect(texts(await bench.read(id))).toEqual(['\u001b[2J\u0007\r\n{"a":1}\ufffd\ufffd \u202e'])
  })

  it('does not exist for another tenant', async () => {
    const unknown = 'task-01m8m8g63ye0v964cp0nfyyggj'
    expect(await one.api.call('GET', `/tasks/${unknown}/logs?wait_seconds=5`)).toMatchObject({ status: 404 })
  })
})

describe('lines that a worker sends again, since an answer got lost', () => {
  const lines = (...messages: string[]) => messages.map((message) => ({ message }))

  it('are kept once, in their order, over any node', async () => {
    const { worker, id, grant } = await bench.running()
    await bench.log({ worker, grant }, lines('a', 'b'), { after: 0 })
    await bench.log({ worker, grant }, lines('a', 'b', 'c'), { after: 0, node: two })
    await bench.log({ worker, grant }, lines('a', 'b', 'c'), { after: 0 })
    await bench.log({ worker, grant }, lines('a', 'd'), { after: 3 })
    expect(texts(await bench.read(id))).toEqual(['a', 'b', 'c', 'a', 'd'])
  })

  it('are kept once when the first call is still under way, or comes last', async () => {
    const { worker, id, grant } = await bench.running()
    const calls = ['a', 'ab', 'abc', 'ab', 'a'].map((sent, n) =>
      bench.log({ worker, grant }, lines(...sent), { after: 0, node: n % 2 ? one : two }),
    )
    await Promise.all(calls)
    expect(texts(await bench.read(id))).toEqual(['a', 'b', 'c'])
  })

  it('are counted by session, whatever others count', async () => {
    const { worker, id, grant, queue } = await bench.running()
    await bench.log({ worker, grant }, lines('a', 'b', 'c'), { after: 0 })
    await worker.report([grant], { outcome: 'released' })
    const again = await one.api.worker({ queues: [queue] })
    const [next] = await again.poll(1, { wait: 30 })
    await bench.log({ worker: again, grant: next as WireGrant }, lines('d'), { after: 0 })
    await bench.log({ worker: again, grant: next as WireGrant }, lines('e'), { after: 1 })
    expect(texts(await bench.read(id))).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('are kept twice of a worker that counts none, as before', async () => {
    const { worker, id, grant } = await bench.running()
    await bench.log({ worker, grant }, lines('a'))
    await bench.log({ worker, grant }, lines('a'))
    expect(texts(await bench.read(id))).toEqual(['a', 'a'])
  })

  it('leave nothing that counts as taken where nothing was written', async () => {
    const { worker, id, grant } = await bench.running()
    // the write fails in the middle
    await sql('alter table task_logs add constraint refused check (message <> $$x$$) not valid')
    const logs = lines('x').map((line) => ({ ...line, lease: grant.lease, at, level: 'info' }))
    const beat = { leases: [grant.lease], logs, logs_after: 0 }
    expect((await one.api.call('POST', `/workers/${worker.id}/heartbeat`, beat)).status).toBeGreaterThanOrEqual(500)
    await sql('alter table task_logs drop constraint refused')
    await bench.log({ worker, grant }, lines('x'), { after: 0 })
    expect(texts(await bench.read(id))).toEqual(['x'])
  })
})

describe('the last lines', () => {
  it.each([
    ['succeeded', { outcome: 'succeeded', result: null }],
    ['failed for good', { outcome: 'failed', error: { retryable: false } }],
    ['failed', { outcome: 'failed', error: {} }],
    ['was snoozed', { outcome: 'snoozed', delay_seconds: 600 }],
    ['was given back', { outcome: 'released' }],
  ])('of an attempt that %s are taken after its report, over any node', async (_, outcome) => {
    const { worker, id, grant } = await bench.running()
    await bench.log({ worker, grant }, [{ message: 'before' }])
    await worker.report([grant], outcome)
    await bench.log({ worker, grant }, [{ message: 'after' }], { node: two })
    expect(await bench.read(id)).toMatchObject({ items: [{ message: 'before' }, { attempt: 1, message: 'after' }] })
  })

  it('are of an attempt of that worker, which it reported a moment ago, and which is named', async () => {
    const { worker, id, grant } = await bench.running()
    const other = await one.api.worker({ queues: ['other'] })
    await worker.report([grant])
    await bench.log({ worker: other, grant: grant }, [{ message: 'by another worker' }])
    await bench.log({ worker, grant: { ...grant, lease: '1-00000000000000ff' } }, [{ message: 'by another lease' }])
    await bench.log({ worker, grant }, [{ message: 'of no task' }], { isNamed: false })
    await sql(`update outcomes set completed_at = now() - interval '61 s' where id = $1`, [decodeId('task', id)])
    await bench.log({ worker, grant }, [{ message: 'a minute later' }])
    expect(await bench.read(id)).toMatchObject({ items: [], dropped_lines: 0 })
  })

  it('of an attempt that was taken from its worker are not taken', async () => {
    const { worker, id, grant } = await bench.running()
    await sql(
      `insert into failed_attempts (task_id, attempt, run, outcome, session, token, ended_at)
       select id, attempt, run, 'lost', session, token, now() from open_tasks where id = $1`,
      [decodeId('task', id)],
    )
    await sql(
      `update open_tasks set status = 'PENDING', ready_at = now(), session = null, token = null, grant_no = null,
         started_at = null, deadline_at = null, wake_at = null where id = $1`,
      [decodeId('task', id)],
    )
    await bench.log({ worker, grant }, [{ message: 'too late' }])
    expect(texts(await bench.read(id))).toEqual([])
  })
})
