import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { renderTasks } from '../cli/render.js'
import { cli } from '../testing/captured-cli.js'

/** Metadata whose numbers JSON.stringify would write otherwise. */
const DIGITS = '{"a":1e21,"b":12345678901234567890,"c":-0,"camelCase":1}'

const task = (n: number) => ({
  ...{ task_id: `task-${n}`, status: 'DEAD', task_type: 'mail', queue: 'q', priority: 'high', tenant_id: 'acme' },
  ...{ created_at: '2026-04-03T10:00:00.000Z', attempts: 4, reason: null, metadata: JSON.parse(DIGITS) },
  error: { class: 'SmtpError', message: `\u001b[31m${'x'.repeat(100)}` },
})

interface Call {
  readonly method: string
  readonly url: string
  readonly body: string
}

/** A server of 5 tasks, 2 a page, with an empty page between; and of one task. */
async function server(): Promise<{ at: readonly string[]; calls: Call[] }> {
  const calls: Call[] = []
  const pages: Record<string, object> = {
    null: { items: [task(5), task(4)], next_cursor: 'a' },
    a: { items: [], next_cursor: 'b' },
    b: { items: [task(3), task(2)], next_cursor: 'c' },
    c: { items: [task(1)], next_cursor: null },
  }
  const run = { run: 1, status: 'DEAD', started_at: null, completed_at: '2026-04-03T10:00:00.000Z', replayed_at: null }
  const http = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = request.url ?? ''
      calls.push({ method: request.method ?? '', url, body: Buffer.concat(chunks).toString() })
      const cursor = new URL(url, 'http://x').searchParams.get('cursor')
      const runs = { items: [{ ...run, failures: 4, crashes: 0, reason: 'x', error: null }], next_cursor: null }
      const one = { ...task(1), tags: [], payload: null, failures: 0, crashes: 0, result: null, duration_ms: null }
      const answer = url.includes('/runs') ? runs : /tasks\/task-/.test(url) ? one : pages[String(cursor)]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer).replaceAll(/"metadata":\{.*?\}/g, `"metadata":${DIGITS}`))
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void http.close())
  await once(http, 'listening')
  return { at: ['--url', `http://127.0.0.1:${(http.address() as AddressInfo).port}`], calls }
}

it('tells when one comes that waits for its time, and why it waits', () => {
  const now = new Date('2026-04-03T10:00:00Z')
  const waiting = { ...task(1), id: 'task-1', dueAt: new Date('2026-04-03T12:00:00Z'), createdAt: now, error: null }
  const retrying = { ...waiting, status: 'RETRYING', error: { class: 'SmtpError', message: 'busy' } }
  const started = { ...waiting, status: 'RUNNING' }
  const rows = renderTasks([{ ...waiting, status: 'SCHEDULED' }, retrying, started] as never, now).split('\n')
  expect(rows.map((row) => row.slice(row.lastIndexOf(' 4 ') + 3).trim())).toEqual([
    expect.stringMatching(/WHY$/),
    'due 2026-04-03T12:00:00.000Z, in 2 h',
    'due 2026-04-03T12:00:00.000Z, in 2 h; SmtpError: busy',
    '-',
    '',
  ])
})

it('lists up to the limit, over short and empty pages, and says that there are more', async () => {
  const { at, calls } = await server()
  const filters = [
    '--status',
    'dead',
    '--task-type',
    'mail',
    '--tenant',
    'a/b',
    '--created-after',
    '2026-04-03T10:00:00+02:00',
  ]
  const { code, out, err } = await cli(['task', 'list', ...filters, '--limit', '4', ...at])
  expect([code, err]).toEqual([0, 'There may be more: give --limit or --all, or go on with --cursor c\n'])
  expect(out.split('\n').map((line) => line.split('  ')[0])).toEqual([
    'TASK',
    'task-5',
    'task-4',
    'task-3',
    'task-2',
    '',
  ])
  expect(out).not.toContain('\u001b')
  const query = new URL(calls[0]?.url ?? '', 'http://x').searchParams
  expect(Object.fromEntries(query)).toEqual({
    ...{ status: 'DEAD', task_type: 'mail', tenant_id: 'a/b', created_after: '2026-04-03T10:00:00+02:00', limit: '4' },
  })
  expect(new URL(calls[1]?.url ?? '', 'http://x').searchParams.get('status')).toBe('DEAD')
})

it('prints one JSON document, with the cursor behind it, from which another list goes on', async () => {
  const { at, calls } = await server()
  const list = async (...args: string[]) => JSON.parse((await cli(['task', 'list', '--json', ...args, ...at])).out)
  expect(await list('--limit', '4')).toEqual({ items: [5, 4, 3, 2].map(task), next_cursor: 'c' })
  expect(await list('--limit', '4', '--cursor', 'c')).toEqual({ items: [task(1)], next_cursor: null })
  expect(calls.at(-1)?.url).toMatch(/cursor=c&?/)
  const both = await cli(['task', 'list', '--all', '--limit', '4', ...at])
  expect(both).toMatchObject({
    code: 2,
    err: expect.stringContaining("'--all' cannot be used with option '--limit <n>'"),
  })
})

it('prints all of them line by line as JSON', async () => {
  const { at } = await server()
  const { out, err } = await cli(['task', 'list', '--all', '--json', ...at])
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  expect(lines).toEqual([5, 4, 3, 2, 1].map(task))
  expect(err).toBe('')
})

it('prints the numbers of the metadata as the server told them', async () => {
  const { at } = await server()
  const shown = (await cli(['task', 'list', '--all', '--json', ...at])).out
  expect(shown.split('\n')[0]).toContain(`"metadata":${DIGITS}`)
  const document = (await cli(['task', 'list', '--json', ...at])).out
  expect(document.replaceAll(/\s/g, '')).toContain(`"metadata":${DIGITS}`)
})

it('edits what is named, the payload as it is written', async () => {
  const { at, calls } = await server()
  const flags = [
    '--payload',
    '{"n":1.0}',
    '--scheduled-at',
    'now',
    '--priority',
    'high',
    '--max-retries',
    '0',
    '--timeout',
    '5m',
  ]
  expect((await cli(['task', 'edit', 'task-1', ...flags, ...at])).code).toBe(0)
  expect(calls[0]).toMatchObject({ method: 'PATCH', url: '/api/v1/tasks/task-1' })
  expect(calls[0]?.body).toContain('"payload":{"n":1.0}')
  expect(JSON.parse(calls[0]?.body ?? '')).toEqual({
    ...{ payload: { n: 1 }, scheduled_at: null, priority: 'high', max_retries: 0, timeout_seconds: 300 },
  })
  const nothing = await cli(['task', 'edit', 'task-1', ...at])
  expect([nothing.code, calls.length]).toEqual([2, 1])
  expect((await cli(['task', 'list', '--limit', '0', ...at])).code).toBe(2)
})

it('shows the runs', async () => {
  const { at } = await server()
  expect((await cli(['task', 'runs', 'task-1', ...at])).out).toMatch(/^RUN {2}STATUS.*\n1 {4}DEAD/)
})
