import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cli } from '../testing/captured-cli.js'
import { DevProcess, eventually } from '../testing/dev-process.js'

let folder: string
let dev: DevProcess

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'duly-dev-'))
  await chmod(folder, 0o755) // run by root, PostgreSQL's own user must be able to pass through
  dev = await DevProcess.start(join(folder, 'data'))
})

afterAll(async () => {
  await dev.end('SIGTERM')
  await rm(folder, { recursive: true, force: true })
})

const task = (...args: string[]) => cli(['task', ...args, '--url', dev.facts.url])

it('tells the address of its database, and where the password stands', async () => {
  const { database_url: address, postgres } = dev.facts
  expect(address).toBe(`postgres://duly@127.0.0.1:${postgres.port}/duly`)
  const url = new URL(address)
  url.password = (await readFile(postgres.password_file, 'utf8')).trim()
  const { code, out } = await cli(['migrate', '--status', '--database-url', url.href])
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('0001') })
  expect(dev.lines.join('\n')).not.toContain(url.password)
})

describe('a task, from the command line to the example worker and back', () => {
  it('prints the result, which is there for real', async () => {
    const { code, out, err } = await task('submit', 'send_email', '--payload', '{"to":"ada@example.com"}', '--wait')
    expect(err).toMatch(/task-\w{26} SUCCEEDED in \d+ ms/)
    const result = JSON.parse(out)
    expect(result).toMatchObject({ message_id: expect.stringMatching(/^<task-\w{26}@duly\.example>$/) })
    expect(await readFile(result.file, 'utf8')).toMatch(/To: ada@example\.com\r\n[\s\S]*\r\n\r\nHello ada,/)
    expect(code).toBe(0)
  })

  it('is retried by its own rules, and every attempt is told', async () => {
    const done = await task(
      'submit',
      'flaky',
      '--retry-delay',
      '50ms',
      '--retry-jitter',
      'none',
      '--retry-backoff',
      'fixed',
      '--wait',
      '--json',
    )
    const record = JSON.parse(done.out)
    expect(record).toMatchObject({ status: 'SUCCEEDED', attempts: 3, failures: 2, retry_delay_seconds: 0.05 })
    const attempts = await task('attempts', record.task_id)
    expect(attempts.out.split('\n').map((line) => line.split(/ {2,}/)[1])).toEqual([
      'OUTCOME',
      'failed',
      'failed',
      'succeeded',
      undefined,
    ])
    const events = await task('events', record.task_id, '--json')
    const trail: readonly { readonly transition: string }[] = JSON.parse(events.out).items
    const tried = ['claim', 'retry', 'promote']
    expect(trail.map(({ transition }) => transition)).toEqual(['submit', ...tried, ...tried, 'claim', 'succeed'])
    const shown = await task('get', record.task_id)
    expect(shown.out).toMatch(/status +SUCCEEDED\n[\s\S]*attempts +3 \(2 failed, 0 lost\)/)
  })

  it('has a trail from its submission on, also when all went well at once', async () => {
    const trailOf = async (id: string) =>
      (await task('events', id)).out.split('\n').flatMap((line) => line.split(/ {2,}/)[1] ?? [])
    const done = JSON.parse((await task('submit', 'hash_file', '--wait', '--json')).out)
    expect(await trailOf(done.task_id)).toEqual(['TRANSITION', 'submit', 'claim', 'succeed'])
    const later = JSON.parse((await task('submit', 'hash_file', '--delay', '1h', '--json')).out)
    expect(await trailOf(later.task_id)).toEqual(['TRANSITION', 'submit'])
  })

  it('takes every field from flags', async () => {
    const flags = [
      '--priority',
      'high',
      '--delay',
      '1h',
      '--tags',
      'a',
      'b',
      '--tenant',
      'acme',
      '--correlation-id',
      'r1',
      '--max-retries',
      '7',
      '--timeout',
      '5m',
    ]
    const submitted = await task('submit', 'send_email', ...flags, '--json')
    const { task_id: id } = JSON.parse(submitted.out)
    const record = JSON.parse((await task('get', id, '--json')).out)
    expect(record).toMatchObject({
      status: 'SCHEDULED',
      priority: 'high',
      tags: ['a', 'b'],
      max_retries: 7,
      timeout_seconds: 300,
    })
    expect(record.metadata).toEqual({ tenant_id: 'acme', correlation_id: 'r1' })
    expect((await task('cancel', id)).out).toBe(`${id}  CANCELLED\n`)
    expect((await task('retry', id)).out).toMatch(/status +(PENDING|RUNNING|FAILED)/)
  })

  it('tells what cannot be, each with its exit code', async () => {
    const failed = await task(
      'submit',
      'always_fails',
      '--payload',
      '{"permanent":true,"message":"no such account"}',
      '--wait',
    )
    expect(failed).toMatchObject({ code: 1, out: '', err: expect.stringContaining('FAILED') })
    expect(failed.err).toContain('PermanentError: no such account')
    const id = /task-\w{26}/.exec(failed.err)?.[0] ?? ''
    expect((await task('cancel', id)).code).toBe(5)
    expect(
      (
        await task(
          'get',
          id.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
        )
      ).code,
    ).toBe(4)
    expect((await task('get', 'task-1')).code).toBe(2)
    const wrong = await task('submit', 'a b', '--priority', 'urgent')
    expect(wrong).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^duly: <type> must be .*\n--priority must be /),
    })
  })

  it('goes once per idempotency key', async () => {
    const key = ['--idempotency-key', 'once', '--delay', '1h']
    const first = JSON.parse((await task('submit', 'send_email', ...key, '--json')).out)
    const second = await task('submit', 'send_email', ...key)
    expect(second.out).toContain(`${first.task_id}  SCHEDULED  (submitted before, with the same key)`)
    expect((await task('submit', 'send_email', ...key, '--priority', 'low')).code).toBe(5)
  })
})

describe('a payload', () => {
  const LATER = ['--delay', '1h', '--json']
  const rowOf = (name: string, out: string) => new RegExp(`^${name} +(.*)$`, 'm').exec(out)?.[1]
  const EXACT = '{"z":12345678901234567890,"a":[1.0,-0,1E2,0.1000],"m":{"2":1,"1":2}}'

  it('is stored and shown as it was written', async () => {
    const { task_id: id } = JSON.parse((await task('submit', 'sums', '--payload', EXACT, ...LATER)).out)
    expect(rowOf('payload', (await task('get', id)).out)).toBe(EXACT)
    const shown = await task('get', id, '--json')
    expect(shown.out.replaceAll(/\s/g, '')).toContain(`"payload":${EXACT}`)
    expect(shown.out).toMatch(/^\{\n {2}"task_id": "task-/)
    expect((await task('submit', 'sums', '--payload', '12345678901234567890', '--delay', '1h')).code).toBe(0)
  })

  it('of a file too', async () => {
    const file = join(folder, 'exact.jsonl')
    const key = 'exact-1'
    await writeFile(file, `{"payload": ${EXACT}, "task_type":"sums","delay_seconds":3600,"idempotency_key":"${key}"}\n`)
    expect((await task('submit', '--file', file)).code).toBe(0)
    const again = await task('submit', 'sums', '--payload', EXACT, '--idempotency-key', key, '--delay', '1h', '--json')
    const { task_id: id, replayed } = JSON.parse(again.out)
    expect(replayed).toBe(true)
    expect(rowOf('payload', (await task('get', id)).out)).toBe(EXACT)
  })

  it.each(['{"a":1e400}', '{"a":1,"a":2}'])('that the server refuses is told: %s', async (text) => {
    const one = await task('submit', 'sums', '--payload', text)
    expect(one).toMatchObject({ code: 2, out: '', err: expect.stringContaining('payload') })
    const file = join(folder, 'refused.jsonl')
    await writeFile(file, `{"task_type":"sums","payload":${text}}\n`)
    expect(await task('submit', '--file', file)).toMatchObject({ code: 2, err: expect.stringContaining('payload') })
  })
})

describe('a file of tasks', () => {
  async function fileOf(tasks: readonly object[]): Promise<string> {
    const file = join(folder, `${tasks.length}.jsonl`)
    await writeFile(file, tasks.map((one) => `${JSON.stringify(one)}\n`).join(''))
    return file
  }

  it('is submitted in batches and followed until every task has ended', async () => {
    const emails = Array.from({ length: 510 }, (_, n) => ({
      task_type: 'send_email',
      payload: { to: `u${n}@example.com` },
    }))
    const others = [
      { task_type: 'hash_file', payload: { path: 'worker.mjs' }, delay_seconds: 0.5 },
      { task_type: 'fetch_url', payload: null, priority: 'high' },
      { task_type: 'send_email', payload: { to: 'twice@example.com' }, idempotency_key: 'k' },
      { task_type: 'send_email', payload: { to: 'twice@example.com' }, idempotency_key: 'k' },
    ]
    const { code, out, err } = await task('submit', '--file', await fileOf([...emails, ...others]), '--progress')
    expect(out).toMatch(/^514 submitted as 513 tasks .*all finished in [\d.]+ s: 513 SUCCEEDED\n$/)
    expect(err).toMatch(/513\/513 finished · 513 succeeded\n$/)
    expect(code).toBe(0)
  })

  it('fails as a command when a task of it fails, and refuses what is wrong before anything runs', async () => {
    const failing = [
      { task_type: 'always_fails', payload: { permanent: true } },
      { task_type: 'hash_file', payload: null },
    ]
    const { code, out } = await task('submit', '--file', await fileOf(failing), '--progress', '--json')
    expect({ code, summary: JSON.parse(out) }).toMatchObject({
      code: 1,
      summary: { tasks: 2, statuses: { SUCCEEDED: 1, FAILED: 1 } },
    })
    const refused = await task('submit', '--file', await fileOf([{ task_type: 'a', priority: 'urgent' }]), '--progress')
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toMatch(/tasks 1 to 1 of the file were not accepted[\s\S]*priority[\s\S]*Nothing was submitted/)
  })
})

describe('a second one on the same data', () => {
  it('shares the database, and leaves it running when it ends', async () => {
    const second = await DevProcess.start(join(folder, 'data'))
    expect(second.facts.postgres.pid).toBe(dev.facts.postgres.pid)
    expect(second.facts.url).not.toBe(dev.facts.url)
    expect(await second.end('SIGINT')).toBe(0)
    const log = second.lines.join('\n')
    expect(log).toContain('left PostgreSQL running: another process started it')
    expect(log).not.toContain('stopped PostgreSQL')
    expect((await task('submit', 'hash_file', '--wait')).code).toBe(0)
  })

  it('on the same port is told what to do, and makes no database', async () => {
    const { port } = new URL(dev.facts.url)
    const refused = DevProcess.start(join(folder, 'none'), ['--port', port])
    await expect(refused).rejects.toThrow(/EADDRINUSE[\s\S]*--port or DULY_PORT/)
    expect(existsSync(join(folder, 'none'))).toBe(false)
  })

  it('in a folder that can not be made is told so, and ends', async () => {
    const refused = DevProcess.start('/proc/duly/data')
    await expect(refused).rejects.toThrow(/could not make its data folder[\s\S]*choose another folder/)
  })
})

describe('the database of duly dev', () => {
  it('is migrated, exactly to this version', async () => {
    const { port, data_dir: dataDir } = dev.facts.postgres
    const password = (await readFile(join(dataDir, 'postgres', 'duly.password'), 'utf8')).trim()
    const env = { DULY_DATABASE_URL: `postgres://duly:${password}@127.0.0.1:${port}/duly` }
    expect(await cli(['migrate'], { env })).toMatchObject({ code: 0, out: expect.stringContaining('up to date') })
    expect(await cli(['migrate', '--status'], { env })).toMatchObject({
      code: 0,
      out: expect.stringContaining('applied'),
    })
    expect(await cli(['migrate', '--verify', '--json'], { env })).toMatchObject({
      code: 0,
      out: expect.stringContaining('"ok": true'),
    })
  })

  it('comes back at the same place when it is killed, and so does the worker', async () => {
    const { postgres, worker } = dev.facts
    process.kill(postgres.pid, 'SIGKILL')
    process.kill(worker.pid, 'SIGKILL')
    await eventually('a task runs again', async () => {
      const { code } = await task('submit', 'send_email', '--payload', '{"to":"b@example.com"}', '--wait')
      return code === 0
    })
    const said = () => dev.lines.join('\n')
    await eventually('both ends are told', async () =>
      ['PostgreSQL ended unexpectedly', 'the worker ended unexpectedly'].every((line) => said().includes(line)),
    )
  })
})
