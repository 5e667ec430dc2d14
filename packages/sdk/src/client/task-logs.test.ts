import { describe, expect, it } from 'vitest'
import { clientOf } from '../testing/scripted-client.js'
import { problem, type Reply } from '../testing/scripted-server.js'

/** A client that repeats nothing by itself. */
const hasty = (answer: Parameters<typeof clientOf>[0]) => clientOf(answer, { retries: 0 })

const line = (n: number) => ({ line: n, attempt: 1, at: '2026-04-03T10:00:00.000Z', level: 'info', message: `m${n}` })
const page = (lines: readonly number[], over: object = {}): Reply => ({
  body: {
    ...{ items: lines.map(line), next_cursor: 'more', has_more: false, is_complete: false, dropped_lines: 0 },
    progress: null,
    ...over,
  },
})
const last = { next_cursor: null, is_complete: true }

async function messages(lines: AsyncIterable<{ readonly message: string }>): Promise<string[]> {
  const found: string[] = []
  for await (const { message } of lines) found.push(message)
  return found
}

describe('tasks.logs', () => {
  it('reads page by page while there is more, and waits for nothing', async () => {
    const { duly, server, queries } = await hasty((_, n) => (n === 1 ? page([1, 2], { has_more: true }) : page([3])))
    expect(await messages(duly.tasks.logs('task-1', { level: 'warn', attempt: 2 }))).toEqual(['m1', 'm2', 'm3'])
    expect(server.calls[0]?.path).toMatch(/^\/api\/v1\/tasks\/task-1\/logs\?/)
    expect(queries()).toEqual([
      { limit: '1000', level: 'warn', attempt: '2' },
      { limit: '1000', level: 'warn', attempt: '2', cursor: 'more' },
    ])
  })

  it('follows to the end of the task, through an outage', async () => {
    const answers = [page([1]), problem(503, 'store_unavailable'), { cut: true }, page([]), page([2], last)]
    const { duly, queries } = await hasty((_, n) => answers[n - 1] ?? {})
    expect(await messages(duly.tasks.logs('task-1', { follow: true }))).toEqual(['m1', 'm2'])
    expect(queries()).toHaveLength(5)
    expect(queries()[1]).toEqual({ limit: '1000', wait_seconds: '30', cursor: 'more' })
  })

  it('gives up on what does not pass, and at once when it does not follow', async () => {
    const missing = await hasty(() => problem(404, 'not_found'))
    await expect(messages(missing.duly.tasks.logs('task-1', { follow: true }))).rejects.toMatchObject({
      code: 'not_found',
    })
    const away = await hasty(() => problem(503, 'store_unavailable'))
    await expect(messages(away.duly.tasks.logs('task-1'))).rejects.toMatchObject({ code: 'store_unavailable' })
    await expect(messages(away.duly.tasks.logs('task-1', { folow: true } as object))).rejects.toThrow(
      /did you mean follow/,
    )
  })

  it('ends with its signal', async () => {
    const { duly, server } = await hasty((_, n) => (n === 1 ? page([1]) : { cut: true }))
    const stop = new AbortController()
    const lines = duly.tasks.logs('task-1', { follow: true, signal: stop.signal })
    expect((await lines.next()).value).toMatchObject({ message: 'm1', at: new Date('2026-04-03T10:00:00Z') })
    const next = lines.next()
    await server.until(() => server.calls.length > 1)
    stop.abort()
    await expect(next).rejects.toThrow()
  })

  it('tells of each page what the log had no room for, and how far the handler is', async () => {
    const progress = { percent: 40, note: null, updated_at: '2026-04-03T10:00:00.000Z' }
    const { duly } = await hasty(() => page([], { ...last, dropped_lines: 3, progress }))
    const pages = []
    for await (const each of duly.tasks.logPages('task-1')) pages.push(each)
    expect(pages).toEqual([
      {
        ...{ items: [], nextCursor: null, hasMore: false, isComplete: true, droppedLines: 3 },
        progress: { percent: 40, note: null, updatedAt: new Date('2026-04-03T10:00:00Z') },
      },
    ])
  })
})

/** An answer of records, one a line, as a server streams them. */
const streamed = (records: readonly object[], over: Partial<Reply> = {}): Reply => ({
  headers: { 'content-type': 'application/x-ndjson' },
  text: records.map((record) => `${JSON.stringify(record)}\n\n`).join(''),
  ...over,
})
const told = (n: number) => ({ type: 'line', ...line(n), cursor: `c${n}` })
const end = (isComplete: boolean, cursor: string) => ({
  ...{ type: 'end', is_complete: isComplete, dropped_lines: 2, cursor },
})

describe('a log that comes as a stream', () => {
  it('is gone on with behind the last record that came, when it is cut and when its node stops', async () => {
    const half = streamed([told(1), told(2)], { cut: true })
    const torn = { ...half, text: `${half.text}{"type":"line","mess` }
    const answers = [torn, streamed([told(3), end(false, 'c3')]), streamed([]), streamed([told(4), end(true, 'c4')])]
    const { duly, server, queries } = await hasty((_, n) => answers[n - 1] ?? {})
    expect(await messages(duly.tasks.logs('task-1', { follow: true, level: 'warn' }))).toEqual(['m1', 'm2', 'm3', 'm4'])
    expect(queries().map(({ cursor }) => cursor)).toEqual([undefined, 'c2', 'c3', 'c3'])
    expect(queries().every(({ level }) => level === 'warn')).toBe(true)
    expect(server.calls[0]?.headers.accept).toBe('application/x-ndjson, application/json')
  })

  it('brings pages: lines, another progress, and what the log had no room for at the end', async () => {
    const updated_at = '2026-04-03T10:00:00.000Z'
    const progress = (percent: number) => ({ type: 'progress', percent, note: null, updated_at, cursor: 'c1' })
    const { duly } = await hasty((_, n) =>
      n === 1
        ? streamed([told(1), progress(40), end(false, 'c1')])
        : n === 2
          ? streamed([progress(40), end(false, 'c1')])
          : streamed([progress(60), end(true, 'c1')]),
    )
    const pages = []
    for await (const each of duly.tasks.logPages('task-1', { follow: true })) pages.push(each)
    expect(pages.map(({ items, progress, isComplete }) => [items.length, progress?.percent, isComplete])).toEqual([
      [1, 40, false],
      [0, 60, true],
    ])
    expect(pages.at(-1)).toEqual({
      ...{ items: [], nextCursor: null, hasMore: false, isComplete: true, droppedLines: 2 },
      progress: { percent: 60, note: null, updatedAt: new Date(updated_at) },
    })
    expect(pages[0]?.items[0]).toEqual({ ...line(1), at: new Date('2026-04-03T10:00:00Z') })
  })

  it('is read page by page where no stream is to be had', async () => {
    const answers = [problem(503, 'too_many_streams'), page([1]), page([2], last)]
    const { duly, server } = await hasty((_, n) => answers[n - 1] ?? {})
    expect(await messages(duly.tasks.logs('task-1', { follow: true }))).toEqual(['m1', 'm2'])
    expect(server.calls[1]?.headers.accept).toBe('application/json')
  })

  it('ends with its signal, and with whoever reads no further', async () => {
    const open = { headers: { 'content-type': 'application/x-ndjson' }, isOpen: true }
    const { duly, server } = await hasty(() => streamed([told(1)], open))
    const stop = new AbortController()
    const lines = duly.tasks.logs('task-1', { follow: true, signal: stop.signal })
    await lines.next()
    const next = lines.next()
    stop.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    for await (const { message } of duly.tasks.logs('task-1', { follow: true })) {
      expect(message).toBe('m1')
      break
    }
    await Promise.all(
      server.calls.map(
        ({ gone }) => new Promise((resolve) => (gone.aborted ? resolve(0) : gone.addEventListener('abort', resolve))),
      ),
    )
    expect(server.calls).toHaveLength(2)
  })
})

it('explains a task in the words of the client', async () => {
  const { duly, server } = await hasty(() => ({
    body: {
      ...{ task_id: 'task-1', status: 'PENDING', summary: 'It waits.' },
      causes: [{ code: 'queue_paused', message: 'It waits.', paused_at: '2026-04-03T10:00:00.000Z', for_seconds: 5 }],
    },
  }))
  expect(await duly.tasks.explain('task-1')).toEqual({
    ...{ id: 'task-1', status: 'PENDING', summary: 'It waits.' },
    causes: [{ code: 'queue_paused', message: 'It waits.', pausedAt: new Date('2026-04-03T10:00:00Z'), forSeconds: 5 }],
  })
  expect(server.calls[0]?.path).toBe('/api/v1/tasks/task-1/explain')
})
