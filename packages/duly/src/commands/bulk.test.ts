import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cli } from '../testing/captured-cli.js'

const operation = {
  ...{ bulk_id: 'bulk-1', action: 'cancel', source: 'tasks', filter: { queue: 'q' }, tenant_id: null, actor: 'api:x' },
  ...{ status: 'RUNNING', matched: 0, done: 0, skipped: 0, failed: 0, error: null, completed_at: null },
  ...{ created_at: '2026-04-03T10:00:00.000Z', updated_at: '2026-04-03T10:00:00.000Z' },
}
const sample = { task_id: 'task-1', status: 'PENDING', tenant_id: 'acme', task_type: 'mail', queue: 'q' }
const preview = {
  ...{ action: 'cancel', matched: 12, at_least: false, by_status: { PENDING: 11, RUNNING: 1 }, samples: [sample] },
}
const group = {
  ...{ fingerprint: '5e884898da280471', queue: 'q', task_type: 'mail', error_class: 'E', letters: 7 },
  ...{ error_pattern: '\u001b[31mred', oldest_at: '2026-04-03T10:00:00.000Z', newest_at: '2026-04-03T10:00:00.000Z' },
  sample_task_id: 'task-1',
}
const letter = {
  ...{ task_id: 'task-1', tenant_id: 'acme', task_type: 'mail', queue: 'q', created_at: '2026-04-03T10:00:00.000Z' },
  ...{ died_at: '2026-04-03T10:00:00.000Z', attempts: 4, failures: 4, crashes: 0, error_pattern: 'x' },
  ...{ error: { class: 'E', message: `\u001b[31m${'x'.repeat(100)}` }, fingerprint: '5e884898da280471' },
}

/** A server of one operation, that ends so, and of some dead letters. */
async function server(end: object = { status: 'SUCCEEDED', matched: 12, done: 11, skipped: 1 }, counted: object = {}) {
  const calls: { method: string; url: string; body: Record<string, unknown> }[] = []
  let looks = 0
  const answerTo = (url: string, body: Record<string, unknown>): object => {
    if (url.endsWith('/tasks/bulk')) return body.dry_run ? { ...preview, ...counted } : operation
    if (url.includes('/dlq/summary')) return { letters: 9, groups: 2, items: [group], is_complete: true }
    if (/\/dlq\/(?:retry|discard)-all/.test(url) || url.endsWith('/cancel')) return operation
    if (url.includes('/dlq')) return { items: [letter], next_cursor: /queue=long(?!.*cursor)/.test(url) ? 'c' : null }
    if (url.endsWith('/bulk-operations?limit=50')) return { items: [operation], next_cursor: null }
    looks++
    return looks < 3 ? { ...operation, matched: looks * 4, done: looks * 4 } : { ...operation, ...end }
  }
  const http = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const call = { method: request.method ?? '', url: request.url ?? '', body: text === '' ? {} : JSON.parse(text) }
      calls.push(call)
      const isDelete = call.method === 'DELETE'
      response.writeHead(isDelete ? 204 : 200, { 'content-type': 'application/json' })
      response.end(isDelete ? undefined : JSON.stringify(answerTo(call.url, call.body)))
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void http.close())
  await once(http, 'listening')
  return { at: ['--url', `http://127.0.0.1:${(http.address() as AddressInfo).port}`], calls }
}

describe('duly task bulk', () => {
  it('asks for a filter, or for the word that means every task, before it asks the server', async () => {
    const { at, calls } = await server()
    for (const action of ['cancel', 'retry', 'discard']) {
      const { code, err } = await cli(['task', 'bulk', action, '--yes', ...at])
      expect(code).toBe(2)
      expect(err).toContain(`say which tasks to ${action}\nGive a filter, e.g. --queue email-queue; every task: --all.`)
    }
    expect(calls).toEqual([])
    expect((await cli(['task', 'bulk', 'cancel', '--all', '--dry-run', ...at])).code).toBe(0)
  })

  it('tells what it would change, and changes nothing without a yes', async () => {
    const { at, calls } = await server()
    const asked = await cli(['task', 'bulk', 'cancel', '--queue', 'q', '--tag', 'spring', ...at])
    expect([asked.code, asked.out]).toEqual([2, ''])
    expect(asked.err).toContain('this would cancel 12 tasks (11 PENDING, 1 RUNNING)')
    expect(asked.err).toContain('--yes')
    const dry = await cli(['task', 'bulk', 'cancel', '--queue', 'q', '--dry-run', '--yes', ...at])
    expect(dry).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^would cancel 12 tasks.*\nTASK .*\ntask-1 .*\nand others\n$/),
    })
    expect(calls.map(({ body }) => body)).toEqual([
      { action: 'cancel', filter: { queue: 'q', tag: 'spring' }, dry_run: true },
      { action: 'cancel', filter: { queue: 'q' }, dry_run: true },
    ])
  })

  it('says that it has found none yet where its look stopped at its bound', async () => {
    const { at } = await server(undefined, { matched: 0, at_least: true, by_status: {}, samples: [] })
    const dry = await cli(['task', 'bulk', 'cancel', '--queue', 'q', '--dry-run', ...at])
    expect(dry.out).toBe('would cancel none of the newest tasks, which were looked at; older ones may fit\n')
  })

  it('shows how far it is, and how it ended', async () => {
    const { at, calls } = await server()
    const { code, out, err } = await cli(['task', 'bulk', 'cancel', '--queue', 'q', '--yes', ...at], {
      isInteractive: true,
    })
    expect(code).toBe(0)
    expect(err).toContain('[██████··············] 4/12 · 4 done')
    expect(err).toMatch(/\[█{20}\] 12\/12 · 11 done · 1 skipped · SUCCEEDED\n$/)
    expect(out).toMatch(/^operation +bulk-1\nstatus +SUCCEEDED\n/)
    expect(calls[1]?.body).toEqual({ action: 'cancel', filter: { queue: 'q' } })
  })

  it('shows a bar with an open end when only a part was counted, and numbers before anything else on a narrow screen', async () => {
    const watched = async (width: number, over: { command?: string[]; end?: object } = {}): Promise<string> => {
      const { at } = await server(over.end, { matched: 6, at_least: true })
      const command = over.command ?? ['task', 'bulk', 'cancel', '--queue', 'q', '--yes']
      const { err } = await cli([...command, ...at], { isInteractive: true, width })
      for (const line of err.split(/[\r\n]/)) expect(line.replace('\u001b[2K', '').length).toBeLessThan(width)
      return err
    }
    const wide = await watched(80)
    expect(wide).toContain('[████████████·······…] 4 of more than 6 · 4 done')
    expect(wide).toMatch(/\[█{20}\] 12\/12 · 11 done · 1 skipped · SUCCEEDED\n$/)
    const narrow = await watched(36, { end: { status: 'CANCELLED', matched: 12, done: 11, failed: 1 } })
    expect(narrow).toContain('\u001b[2K4 of more than 6 · 4 done')
    expect(narrow.endsWith('\u001b[2K12 of more than 12 · CANCELLED\n')).toBe(true)
    const later = await watched(80, { command: ['task', 'bulk', 'watch', 'bulk-1'] })
    expect(later).toContain('4 so far · 4 done')
    expect(later).not.toContain('[█')
  })

  it('tells its progress in whole lines where nobody sits before it', async () => {
    const { at } = await server(undefined, { matched: 6, at_least: true })
    const { err } = await cli(['task', 'bulk', 'cancel', '--queue', 'q', '--yes', ...at])
    for (const control of ['\r', '\u001b']) expect(err).not.toContain(control)
    expect(err).toMatch(
      /^\[█{12}·{7}…\] 4 of more than 6 · 4 done\n(.*\n)*\[█{20}\] 12\/12 · 11 done · 1 skipped · SUCCEEDED\n$/,
    )
  })

  it('with --json prints the record as the API tells it, and nothing else', async () => {
    const { at } = await server()
    const { code, out, err } = await cli(['task', 'bulk', 'cancel', '--all', '--yes', '--json', ...at])
    expect([code, err]).toEqual([0, ''])
    expect(JSON.parse(out)).toMatchObject({ bulk_id: 'bulk-1', status: 'SUCCEEDED', done: 11 })
  })

  it('ends with 1 when it did not come to its end, or some could not be changed', async () => {
    for (const end of [{ status: 'FAILED', error: 'x' }, { status: 'CANCELLED' }, { status: 'SUCCEEDED', failed: 1 }]) {
      const { at } = await server(end)
      expect((await cli(['task', 'bulk', 'retry', '--status', 'failed', '--yes', ...at])).code).toBe(1)
    }
  })

  it('can be left, followed and stopped', async () => {
    const { at, calls } = await server()
    const left = await cli(['task', 'bulk', 'cancel', '--queue', 'q', '--yes', '--detach', ...at])
    expect(left).toMatchObject({ code: 0, out: expect.stringContaining('bulk-1') })
    expect((await cli(['task', 'bulk', 'watch', 'bulk-1', ...at])).out).toContain('SUCCEEDED')
    expect((await cli(['task', 'bulk', 'stop', 'bulk-1', ...at])).code).toBe(0)
    expect(calls.at(-1)).toMatchObject({ method: 'POST', url: '/api/v1/bulk-operations/bulk-1/cancel' })
    expect((await cli(['task', 'bulk', 'list', ...at])).out).toMatch(/^OPERATION .*\nbulk-1 /)
  })

  it('on Ctrl-C says that it goes on, and how to follow and to stop it', async () => {
    const { at } = await server({ status: 'RUNNING', matched: 8, done: 8 })
    const listeners = process.listenerCount('SIGINT')
    let told = ''
    const running = cli(['task', 'bulk', 'cancel', '--queue', 'q', '--yes', ...at], {
      isInteractive: true,
      err: (text) => {
        told += text
        if (text.includes('4/12')) process.emit('SIGINT', 'SIGINT')
      },
    })
    expect((await running).code).toBe(130)
    expect(told).toContain(
      'The operation bulk-1 goes on. Follow it: duly task bulk watch bulk-1\nStop it: duly task bulk stop bulk-1\n',
    )
    expect(process.listenerCount('SIGINT')).toBe(listeners)
  })
})

describe('duly dlq', () => {
  it('shows groups and letters, and lets no error write to the terminal', async () => {
    const { at } = await server()
    const summary = await cli(['dlq', 'summary', ...at])
    expect(summary.out).toMatch(
      /^LETTERS .*\n7 +q +mail .*5e884898da280471 .*\n9 dead letters in the 1 largest of 2 groups\n$/,
    )
    expect(summary.err).toContain('duly dlq discard-all --fingerprint 5e884898da280471 --yes\n')
    const list = await cli(['dlq', 'list', '--error-class', 'E', ...at])
    expect(list.out).toMatch(/^TASK .*\ntask-1 .*…\n$/)
    expect(summary.out + list.out).not.toContain('\u001b')
    expect(JSON.parse((await cli(['dlq', 'list', '--json', ...at])).out)).toEqual({
      items: [letter],
      next_cursor: null,
    })
  })

  it('prints a list that may have no end one letter a line, page by page', async () => {
    const { at, calls } = await server()
    const { out } = await cli(['dlq', 'list', '--queue', 'long', '--all', '--json', ...at])
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([letter, letter])
    expect(calls).toHaveLength(2)
  })

  it('runs all of them again, or one group, after a yes', async () => {
    const { at, calls } = await server()
    const asked = await cli(['dlq', 'retry-all', '--fingerprint', '5e884898da280471', ...at])
    expect([asked.code, asked.err]).toEqual([
      2,
      expect.stringContaining('this would run at least 7 dead letters again'),
    ])
    expect((await cli(['dlq', 'retry-all', ...at])).err).toContain('this would run 9 dead letters again')
    expect(calls.every(({ method }) => method === 'GET')).toBe(true)
    expect((await cli(['dlq', 'retry-all', '--queue', 'q', '--yes', ...at])).code).toBe(0)
    expect(calls.find(({ method }) => method === 'POST')?.url).toBe('/api/v1/dlq/retry-all?queue=q')
  })

  it('discards all of them, or one group, after a yes', async () => {
    const { at, calls } = await server()
    expect(await cli(['dlq', 'discard-all', '--error-class', 'E', ...at])).toMatchObject({
      code: 2,
      err: expect.stringContaining('this would discard at least 7 dead letters, which could never be retried again'),
    })
    expect(calls.every(({ method }) => method === 'GET')).toBe(true)
    const flags = ['--fingerprint', '5e884898da280471', '--yes', '--detach']
    expect((await cli(['dlq', 'discard-all', ...flags, ...at])).code).toBe(0)
    expect(calls.find(({ method }) => method === 'POST')?.url).toBe(
      '/api/v1/dlq/discard-all?fingerprint=5e884898da280471',
    )
  })

  it('discards one after a yes', async () => {
    const { at, calls } = await server()
    expect(await cli(['dlq', 'discard', 'task-1', ...at])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--yes'),
    })
    expect(calls).toEqual([])
    expect((await cli(['dlq', 'discard', 'task-1', '--yes', '--json', ...at])).out).toContain('"discarded": true')
    expect(calls).toMatchObject([{ method: 'DELETE', url: '/api/v1/dlq/task-1' }])
  })
})
