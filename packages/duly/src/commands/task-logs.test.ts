import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { cli } from '../testing/captured-cli.js'

const line = (n: number, level: string, message: string) => ({
  ...{ line: n, attempt: 2, at: '2026-04-03T10:00:00.000Z', level, message },
})

/** The address of a server that answers these bodies one after the other, and what it was asked. */
async function answering(bodies: readonly object[]): Promise<{ at: readonly string[]; asked: URL[] }> {
  const asked: URL[] = []
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(bodies[asked.length] ?? bodies.at(-1)))
    asked.push(new URL(request.url ?? '', 'http://x'))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return { at: ['--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`], asked }
}

const page = (items: readonly object[], over: object = {}) => ({
  ...{ items, next_cursor: null, has_more: false, is_complete: true, dropped_lines: 0, progress: null },
  ...over,
})

it('shows a line each: when, by which attempt, level, message', async () => {
  const { at, asked } = await answering([page([line(1, 'info', 'one'), line(2, 'error', 'two')])])
  const { code, out, err } = await cli(['task', 'logs', 'task-1', '--attempt', '2', '--level', 'info', ...at])
  expect([code, err]).toEqual([0, ''])
  expect(out).toBe('2026-04-03T10:00:00.000Z  #2  INFO   one\n2026-04-03T10:00:00.000Z  #2  ERROR  two\n')
  expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toMatchObject({ attempt: '2', level: 'info' })
})

it('lets no control character of a message through, nor one pass for a line of its own', async () => {
  const forged = '\u001b[2J\u001b]0;title\u0007\u009b31m\r\n2026-04-03T10:00:00.000Z  #2  INFO   forged\rover\n\u0000'
  const { at } = await answering([page([line(1, 'warn', forged)])])
  const { out } = await cli(['task', 'logs', 'task-1', ...at])
  expect(out).toBe(
    [
      '2026-04-03T10:00:00.000Z  #2  WARN   \\u001b[2J\\u001b]0;title\\u0007\\u009b31m',
      '    2026-04-03T10:00:00.000Z  #2  INFO   forged\\u000dover',
      '    \\u0000',
      '',
    ].join('\n'),
  )
})

it('has colours by level where a screen shows them, and there alone', async () => {
  const lines = ['debug', 'info', 'warn', 'error'].map((level, n) => line(n, level, '\u001b[31mx'))
  const { at } = await answering([page(lines)])
  const { out } = await cli(['task', 'logs', 'task-1', ...at], { hasColours: true })
  expect(out.split('\n').map((text) => text.split('  ').slice(2).join('  '))).toEqual([
    '\u001b[2mDEBUG\u001b[0m  \\u001b[31mx',
    'INFO   \\u001b[31mx',
    '\u001b[33mWARN \u001b[0m  \\u001b[31mx',
    '\u001b[31mERROR\u001b[0m  \\u001b[31mx',
    '',
  ])
  expect((await cli(['task', 'logs', 'task-1', ...at])).out).not.toContain('\u001b')
})

it('follows until the task has ended, and tells what the log had no room for', async () => {
  const { at, asked } = await answering([
    page([line(1, 'info', 'one')], { next_cursor: 'a', is_complete: false }),
    page([line(2, 'info', 'two')], { dropped_lines: 7 }),
  ])
  const { code, out, err } = await cli(['task', 'logs', 'task-1', '-f', ...at])
  expect([code, out.split('\n').length]).toEqual([0, 3])
  expect(err).toBe('7 more lines found the log full: a task keeps 10,000 lines and 1 MiB.\n')
  expect(asked[1]?.searchParams.get('cursor')).toBe('a')
  expect(asked[0]?.searchParams.get('wait_seconds')).toBe('30')
})

it('prints JSON: one document, or a line each when it follows', async () => {
  const lines = [line(1, 'info', '\u001b'), line(2, 'info', 'two')]
  const { at } = await answering([page(lines)])
  const all = await cli(['task', 'logs', 'task-1', '--json', ...at])
  expect(JSON.parse(all.out)).toEqual({ items: lines, next_cursor: null })
  const each = await cli(['task', 'logs', 'task-1', '--json', '--follow', ...at])
  expect(
    each.out
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text)),
  ).toEqual(lines)
})

it('says so when there is none, and stops when nobody reads on', async () => {
  const { at } = await answering([page([])])
  expect(await cli(['task', 'logs', 'task-1', ...at])).toEqual({ code: 0, out: '', err: 'No log line.\n' })
  const endless = await answering([
    page([line(1, 'info', 'x')], { next_cursor: 'a', has_more: true, is_complete: false }),
  ])
  await cli(['task', 'logs', 'task-1', ...endless.at], { isTaken: async () => false })
  expect(endless.asked).toHaveLength(1)
})

it('explains a task: the sentence that matters most, every cause, and who comes near', async () => {
  const near = {
    ...{ worker_id: 'worker-1', name: 'sms\u001b', queues: ['a', 'b', 'c', 'd', 'e', 'f'], task_types: ['send'] },
    missing: ['task_type'],
  }
  const causes = [
    { code: 'no_worker_for_type', message: 'None serves it.', task_type: 'send', near_workers: [near] },
    { code: 'lane_position', message: 'It is the next of its lane.', ahead: 0 },
  ]
  const explained = { task_id: 'task-1', status: 'PENDING', summary: 'None serves it.', causes }
  const { at, asked } = await answering([explained])
  const { code, out } = await cli(['task', 'explain', 'task-1', ...at])
  expect(code).toBe(0)
  expect(out).toBe(
    [
      'task    task-1',
      'status  PENDING',
      'why     None serves it.',
      'to do   start a worker with a handler for send: `duly worker <file>`',
      '',
      'CAUSE               WHAT IT MEANS HERE',
      'no_worker_for_type  None serves it.',
      'lane_position       It is the next of its lane.',
      '',
      'NEAREST WORKERS  NAME       MISSING    QUEUES            TASK TYPES',
      'worker-1         sms\\u001b  task type  a, b, c, d, e, …  send',
      '',
    ].join('\n'),
  )
  expect(asked[0]?.pathname).toBe('/api/v1/tasks/task-1/explain')
  expect(JSON.parse((await cli(['task', 'explain', 'task-1', '--json', ...at])).out)).toEqual(explained)
})
