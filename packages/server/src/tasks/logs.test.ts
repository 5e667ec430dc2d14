import { decodeId, limits } from '@duly/domain'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import {
  enough,
  type HttpNode,
  openStore,
  startHttpNode,
  until,
  type WireGrant,
} from '../dispatch/testing/http-node.js'
import type { Sql } from '../queue/testing/store-bench.js'

let sql: Sql
let url: string
let one: HttpNode
let two: HttpNode
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  url = store.url
  one = await startHttpNode(store.url, { graceSeconds: 30 })
  two = await startHttpNode(store.url, { graceSeconds: 30 })
})

interface WirePage {
  readonly items: readonly { line: number; attempt: number; level: string; message: string }[]
  readonly next_cursor: string | null
  readonly has_more: boolean
  readonly is_complete: boolean
  readonly dropped_lines: number
  readonly progress: { percent: number } | null
}

let queues = 0
async function running() {
  const queue = `logged-${queues++}`
  const worker = await one.api.worker({ queues: [queue], slots: 10 })
  const { task_id: id } = await one.api.submit({ queue })
  const [grant] = await worker.poll(1, { wait: 5 })
  if (grant === undefined) throw new Error('nothing was granted')
  return { worker, id, grant, queue }
}

type Line = { readonly level?: string; readonly message: string }
const at = '2026-04-03T10:00:00.000Z'

/** Writes lines of an attempt, as a worker does it that names the task, or as one that does not. */
async function log(
  worker: { readonly id: string },
  grant: WireGrant,
  lines: readonly Line[],
  { node = one, isNamed = true, after }: { node?: HttpNode; isNamed?: boolean; after?: number } = {},
): Promise<void> {
  const more = isNamed ? { task_id: grant.task_id } : {}
  const logs = lines.map(({ level = 'info', message }) => ({ lease: grant.lease, ...more, at, level, message }))
  const beat = { leases: [grant.lease], logs, logs_after: after }
  const answer = await node.api.call('POST', `/workers/${worker.id}/heartbeat`, beat)
  expect(answer.status).toBe(200)
}

async function read(id: string, query = '', node = one): Promise<WirePage> {
  const answer = await node.api.call<WirePage>('GET', `/tasks/${id}/logs${query}`)
  expect(answer.status).toBe(200)
  return answer.body
}

const texts = ({ items }: WirePage): string[] => items.map(({ message }) => message)

describe('the log of a task', () => {
  it('is read page by page, the oldest line first, and is complete when the task has ended', async () => {
    const { worker, id, grant } = await running()
    expect(await read(id)).toMatchObject({ items: [], has_more: false, is_complete: false, progress: null })
    await log(
      worker,
      grant,
      ['a', 'b', 'c', 'd', 'e'].map((message) => ({ message })),
    )
    const first = await read(id, '?limit=2')
    expect(first).toMatchObject({ items: [{ line: 1, attempt: 1 }, { line: 2 }], has_more: true, is_complete: false })
    const second = await read(id, `?limit=3&cursor=${first.next_cursor}`)
    expect(texts(second)).toEqual(['c', 'd', 'e'])
    expect(second).toMatchObject({ has_more: false, is_complete: false, next_cursor: expect.any(String) })
    await worker.report([grant])
    const last = await read(id, `?cursor=${second.next_cursor}`)
    expect(last).toMatchObject({ items: [], has_more: false, is_complete: true, next_cursor: null })
    expect(await read(id, '?limit=4')).toMatchObject({ has_more: true, is_complete: false })
    expect(await read(id, '?limit=5')).toMatchObject({ has_more: false, is_complete: true })
  })

  it('is filtered by level and attempt, and pages pass by what does not fit', async () => {
    const { worker, id, grant, queue } = await running()
    const levels = ['debug', 'info', 'warn', 'error', 'debug']
    await log(
      worker,
      grant,
      levels.map((level) => ({ level, message: level })),
    )
    expect(texts(await read(id, '?level=warn'))).toEqual(['warn', 'error'])
    expect(texts(await read(id, '?level=debug'))).toHaveLength(5)
    await worker.report([grant], { outcome: 'released' })
    const again = await one.api.worker({ queues: [queue] })
    const [next] = await again.poll(1, { wait: 5 })
    await log(again, next as WireGrant, [{ message: 'second' }])
    expect(texts(await read(id, '?attempt=2'))).toEqual(['second'])
    expect(texts(await read(id, '?attempt=1&level=error'))).toEqual(['error'])
    const none = await read(id, '?attempt=3')
    await log(again, next as WireGrant, [{ message: 'third' }])
    expect(texts(await read(id, `?attempt=3&cursor=${none.next_cursor}`))).toEqual([])
    const errors = await read(id, '?level=error')
    await log(again, next as WireGrant, [{ level: 'error', message: 'late' }])
    expect(texts(await read(id, `?level=error&cursor=${errors.next_cursor}`))).toEqual(['late'])
  })

  it('goes on over a retry by hand, with the attempts kept apart', async () => {
    const { worker, id, grant } = await running()
    await log(worker, grant, [{ message: 'of the first run' }])
    await worker.report([grant], { outcome: 'failed', error: { retryable: false } })
    expect((await read(id)).is_complete).toBe(true)
    await one.api.call('POST', `/tasks/${id}/retry`)
    expect((await read(id)).is_complete).toBe(false)
    const [next] = await worker.poll(1, { wait: 5 })
    await log(worker, next as WireGrant, [{ message: 'of the second run' }])
    await worker.report([next as WireGrant])
    expect((await read(id)).items).toMatchObject([
      { line: 1, attempt: 1, message: 'of the first run' },
      { line: 2, attempt: 2, message: 'of the second run' },
    ])
  })

  it('that is full counts what it had no room for, by lines and by bytes', async () => {
    const { worker, id, grant } = await running()
    await log(worker, grant, [{ message: 'first' }])
    await sql('update task_progress set log_lines = $2 where task_id = $1', [
      decodeId('task', id),
      limits.logsMaxLinesPerTask - 1,
    ])
    await log(
      worker,
      grant,
      ['kept', 'dropped', 'too'].map((message) => ({ message })),
    )
    await log(worker, grant, [{ message: 'and this' }])
    expect(await read(id)).toMatchObject({
      dropped_lines: 3,
      items: [{ message: 'first' }, { line: 10_000, message: 'kept' }],
    })
    const bytes = await running()
    await log(
      bytes.worker,
      bytes.grant,
      Array.from({ length: 130 }, () => ({ message: 'x'.repeat(8_192) })),
    )
    const page = await read(bytes.id, '?limit=1000')
    expect([page.items.length, page.dropped_lines]).toEqual([128, 2])
  })

  it('keeps a hostile text as it was, but for what can not be kept', async () => {
    const { worker, id, grant } = await running()
    const message = '\u001b[2J\u0007\r\n{"a":1}\u0000\ud800 \u202e'
    await log(worker, grant, [{ message }])
    expect(texts(await read(id))).toEqual(['\u001b[2J\u0007\r\n{"a":1}\ufffd\ufffd \u202e'])
  })

  it('does not exist for another tenant', async () => {
    const unknown = 'task-01m8m8g63ye0v964cp0nfyyggj'
    expect(await one.api.call('GET', `/tasks/${unknown}/logs?wait_seconds=5`)).toMatchObject({ status: 404 })
  })
})

describe('lines that a worker sends again, since an answer got lost', () => {
  const lines = (...messages: string[]) => messages.map((message) => ({ message }))

  it('are kept once, in their order, over any node', async () => {
    const { worker, id, grant } = await running()
    await log(worker, grant, lines('a', 'b'), { after: 0 })
    await log(worker, grant, lines('a', 'b', 'c'), { after: 0, node: two })
    await log(worker, grant, lines('a', 'b', 'c'), { after: 0 })
    await log(worker, grant, lines('a', 'd'), { after: 3 })
    expect(texts(await read(id))).toEqual(['a', 'b', 'c', 'a', 'd'])
  })

  it('are kept once when the first call is still under way, or comes last', async () => {
    const { worker, id, grant } = await running()
    const calls = ['a', 'ab', 'abc', 'ab', 'a'].map((sent, n) =>
      log(worker, grant, lines(...sent), { after: 0, node: n % 2 ? one : two }),
    )
    await Promise.all(calls)
    expect(texts(await read(id))).toEqual(['a', 'b', 'c'])
  })

  it('are counted by session, whatever others count', async () => {
    const { worker, id, grant, queue } = await running()
    await log(worker, grant, lines('a', 'b', 'c'), { after: 0 })
    await worker.report([grant], { outcome: 'released' })
    const again = await one.api.worker({ queues: [queue] })
    const [next] = await again.poll(1, { wait: 5 })
    await log(again, next as WireGrant, lines('d'), { after: 0 })
    await log(again, next as WireGrant, lines('e'), { after: 1 })
    expect(texts(await read(id))).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('are kept twice of a worker that counts none, as before', async () => {
    const { worker, id, grant } = await running()
    await log(worker, grant, lines('a'))
    await log(worker, grant, lines('a'))
    expect(texts(await read(id))).toEqual(['a', 'a'])
  })

  it('leave nothing that counts as taken where nothing was written', async () => {
    const { worker, id, grant } = await running()
    // the write fails in the middle
    await sql('alter table task_logs add constraint refused check (message <> $$x$$) not valid')
    const logs = lines('x').map((line) => ({ ...line, lease: grant.lease, at, level: 'info' }))
    const beat = { leases: [grant.lease], logs, logs_after: 0 }
    expect((await one.api.call('POST', `/workers/${worker.id}/heartbeat`, beat)).status).toBeGreaterThanOrEqual(500)
    await sql('alter table task_logs drop constraint refused')
    await log(worker, grant, lines('x'), { after: 0 })
    expect(texts(await read(id))).toEqual(['x'])
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
    const { worker, id, grant } = await running()
    await log(worker, grant, [{ message: 'before' }])
    await worker.report([grant], outcome)
    await log(worker, grant, [{ message: 'after' }], { node: two })
    expect(await read(id)).toMatchObject({ items: [{ message: 'before' }, { attempt: 1, message: 'after' }] })
  })

  it('are of an attempt of that worker, which it reported a moment ago, and which is named', async () => {
    const { worker, id, grant } = await running()
    const other = await one.api.worker({ queues: ['other'] })
    await worker.report([grant])
    await log(other, grant, [{ message: 'by another worker' }])
    await log(worker, { ...grant, lease: '1-00000000000000ff' }, [{ message: 'by another lease' }])
    await log(worker, grant, [{ message: 'of no task' }], { isNamed: false })
    await sql(`update outcomes set completed_at = now() - interval '61 s' where id = $1`, [decodeId('task', id)])
    await log(worker, grant, [{ message: 'a minute later' }])
    expect(await read(id)).toMatchObject({ items: [], dropped_lines: 0 })
  })

  it('of an attempt that was taken from its worker are not taken', async () => {
    const { worker, id, grant } = await running()
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
    await log(worker, grant, [{ message: 'too late' }])
    expect(texts(await read(id))).toEqual([])
  })
})

describe('a log that is followed', () => {
  const follow = async (id: string, cursor: string | null, node = one): Promise<WirePage> =>
    read(id, `?wait_seconds=30&cursor=${cursor}`, node)

  it.each([
    ['the same node', () => one],
    ['another node', () => two],
  ])('brings a line as soon as it is written, at %s', async (_, nodeOf) => {
    const { worker, id, grant } = await running()
    const { next_cursor } = await read(id)
    const held = follow(id, next_cursor, nodeOf())
    await enough()
    await log(worker, grant, [{ message: 'now' }])
    expect(texts(await held)).toEqual(['now'])
  })

  it('at another node is told of it by word, and nobody is told of one that is not followed', async () => {
    const { worker, id, grant } = await running()
    await until('the nodes to know of each other', async () => {
      const [row] = await sql<{ n: string }>(`select count(*) as n from nodes where seen_at > now() - interval '5 s'`)
      return Number(row?.n) === 2
    })
    const held = follow(id, (await read(id)).next_cursor, two)
    await enough(300)
    const listener = await listen()
    await log(worker, grant, [{ message: 'told' }])
    expect(texts(await held)).toEqual(['told'])
    await listener.until((word) => word.lines?.includes(decodeId('task', id)) === true)
    const alone = await running()
    await log(alone.worker, alone.grant, [{ message: 'untold' }])
    await alone.worker.report([alone.grant])
    await listener.until((word) => word.finished?.includes(decodeId('task', alone.id)) === true)
    expect(listener.words.some(({ lines = [] }) => lines.includes(decodeId('task', alone.id)))).toBe(false)
  })

  it('is asked for by ?follow as well', async () => {
    const { worker, id, grant } = await running()
    const { next_cursor } = await read(id, '?follow=false')
    const held = [read(id, `?follow&cursor=${next_cursor}`), read(id, '?follow=true')]
    await enough()
    await log(worker, grant, [{ message: 'now' }])
    for (const page of await Promise.all(held)) expect(texts(page)).toEqual(['now'])
    expect((await one.api.call('GET', `/tasks/${id}/logs?follow=1`)).status).toBe(400)
  })

  it('ends with its task, wherever that ends', async () => {
    const { worker, id, grant } = await running()
    const { next_cursor } = await read(id)
    const held = [follow(id, next_cursor), follow(id, next_cursor, two)]
    await enough()
    await worker.report([grant])
    for (const page of await Promise.all(held))
      expect(page).toMatchObject({ items: [], is_complete: true, next_cursor: null })
  })

  it('is found by a look where no word comes', async () => {
    const { id, grant } = await running()
    const { next_cursor } = await read(id)
    const held = follow(id, next_cursor)
    await enough()
    // as a node does it whose word is lost
    await sql('insert into task_logs (task_id, line, attempt, at, level, message) values ($1, 1, 1, now(), $2, $3)', [
      decodeId('task', id),
      'info',
      'found',
    ])
    await sql('insert into task_progress (task_id, log_lines, updated_at) values ($1, 1, now())', [
      decodeId('task', id),
    ])
    expect(texts(await held)).toEqual(['found'])
    expect(grant.attempt).toBe(1)
  })

  it('is held no longer than it says, and passes by lines that do not fit', async () => {
    const { worker, id, grant } = await running()
    const { next_cursor } = await read(id, '?level=error')
    const held = read(id, `?level=error&wait_seconds=1&cursor=${next_cursor}`)
    await enough()
    await log(worker, grant, [{ message: 'chatter' }])
    expect(await held).toMatchObject({ items: [], is_complete: false })
  })
})

interface Word {
  readonly lines?: readonly string[]
  readonly finished?: readonly string[]
}

/** What nodes tell each other from now on. */
async function listen() {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  cleanUpLater(() => client.end())
  const words: Word[] = []
  client.on('notification', ({ payload = '{}' }) => void words.push(JSON.parse(payload) as Word))
  await client.query('listen duly')
  return {
    words,
    until: async (is: (word: Word) => boolean) => {
      await until('a word', () => words.some(is))
    },
  }
}
