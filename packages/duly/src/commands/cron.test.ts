import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openStore, startHttpNode } from '../../../server/src/dispatch/testing/http-node.js'
import { cli } from '../testing/captured-cli.js'

let at: readonly string[]
beforeAll(async () => {
  at = ['--url', (await startHttpNode((await openStore()).url)).url]
})

const cron = (...args: string[]) => cli(['cron', ...args, ...at])

async function json(...args: string[]) {
  const { code, out, err } = await cron(...args, '--json')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

const ZONED =
  /^\w{3} \d{4}-\d\d-\d\d 09:00:00 -0[45]:00 {2}\d{4}-\d\d-\d\dT1[34]:00:00Z {2}(?:now|in \d+ (?:s|min|h|d))$/gm

describe('duly cron create', () => {
  it('prints the schedule in words and the next five fire times, in its zone and in UTC', async () => {
    const { code, out } = await cron('create', 'report', 'mail', '0 9 * * 1-5', '--timezone', 'America/New_York')
    expect(code).toBe(0)
    expect(out).toMatch(/\nschedule +At 09:00, Monday to Friday, in America\/New_York\.\n/)
    expect(out).toMatch(/\nAMERICA\/NEW_YORK +UTC +WHEN\n/)
    expect(out.match(ZONED)).toHaveLength(5)
  })

  it('takes the fields of a task and of a schedule from flags, with their digits', async () => {
    const task = [
      '--payload',
      '{"n":1.0}',
      '--priority',
      'high',
      '--max-retries',
      '2',
      '--timeout',
      '5m',
      '--tags',
      'a',
    ]
    const named = ['--metadata', '{"m":12345678901234567890}', '--tenant', 'acme', '--correlation-id', 'r1']
    const rules = ['--overlap', 'cancel-running', '--misfire', 'skip', '--misfire-grace', '2m', '--jitter', '1.5']
    const times = ['--every', '90m', '--starts-at', '2100-01-01T00:00:00Z', '--ends-at', '2200-01-01T00:00:00Z']
    const { out } = await cron('create', 'all', 'mail', ...task, ...named, ...rules, ...times, '--paused', '--json')
    expect(JSON.parse(out)).toMatchObject({
      ...{ name: 'all', status: 'PAUSED', every_seconds: 5_400, cron_expression: null, task_type: 'mail' },
      ...{ overlap_policy: 'cancel_running', misfire_policy: 'skip', misfire_grace_seconds: 120, jitter_seconds: 1.5 },
      ...{ starts_at: '2100-01-01T00:00:00.000Z', ends_at: '2200-01-01T00:00:00.000Z', tags: ['a'] },
      ...{ tenant_id: 'acme', priority: 'high', max_retries: 2, timeout_seconds: 300 },
    })
    const exact = out.replaceAll(/\s/g, '')
    expect(exact).toContain('"payload":{"n":1.0}')
    expect(exact).toContain('"metadata":{"m":12345678901234567890,"tenant_id":"acme","correlation_id":"r1"}')
  })

  it('refuses a name that is taken; with --replace, twice is as once, and what was paused stays so', async () => {
    const first = await json('create', 'again', 'mail', '@daily', '--paused')
    const taken = await cron('create', 'again', 'mail', '@hourly')
    expect(taken).toMatchObject({ code: 5, out: '', err: expect.stringContaining('\nWith --replace, ') })
    expect(await json('create', 'again', 'mail', '@daily', '--replace')).toEqual(first)
    const other = await json('create', 'again', 'letter', '@hourly', '--replace')
    expect(other).toMatchObject({ cron_id: first.cron_id, status: 'PAUSED', task_type: 'letter' })
  })

  it('names the flags and arguments that are wrong', async () => {
    const wrong = ['0 25 * * *', '--timezone', 'Mars/X', '--overlap', 'maybe', '--max-retries', '101']
    const { code, err } = await cron('create', 'wrong', 'mail', ...wrong)
    expect(code).toBe(2)
    expect(err).toMatch(
      /^duly: (?=[\s\S]*--overlap must)(?=[\s\S]*<expression> hour: 25)(?=[\s\S]*--timezone "Mars\/X")/,
    )
    expect(err).toContain('--max-retries must')
    const never = await cron('create', 'never', 'mail', '0 0 30 2 *')
    expect(never).toMatchObject({ code: 2, err: expect.stringContaining('can never fire') })
  })
})

describe('a recurring task', () => {
  it('is changed, paused, resumed, triggered and deleted by its name or its id', async () => {
    const { cron_id: id } = await json(
      'create',
      'one',
      'mail',
      '@daily',
      '--payload',
      '[1.0]',
      '--ends-at',
      '2100-01-01T00:00:00Z',
    )
    const changed = await json('update', 'one', '--timezone', 'Asia/Tokyo', '--priority', 'low', '--ends-at', 'none')
    expect(changed).toMatchObject({ cron_id: id, timezone: 'Asia/Tokyo', priority: 'low', ends_at: null, payload: [1] })
    expect(await json('update', id, '--every', '5m')).toMatchObject({ cron_expression: null, every_seconds: 300 })
    expect((await cron('pause', 'one')).out).toMatch(/\nstatus +PAUSED\n/)
    expect((await cron('resume', id)).out).toMatch(/\nstatus +ACTIVE\n[\s\S]*\nASIA\/TOKYO +UTC +WHEN\n/)
    const { task_id: task } = await json('trigger', 'one')
    expect((await cron('firings', 'one')).out).toMatch(new RegExp(` {2}triggered {2}${task}\n`))
    expect((await cron('get', 'one')).out).toMatch(new RegExp(`\nlast +.*: ${task}\n`))
    await json('trigger', 'one')
    const { out, err } = await cron('firings', 'one', '--limit', '1')
    const [, cursor = ''] = /^There may be more: give --limit, or go on with --cursor (\S+)\n$/.exec(err) ?? []
    const rest = await cron('firings', 'one', '--cursor', cursor)
    expect([out, rest.out].map((text) => text.split('\n').length)).toEqual([3, 3])
    expect(rest).toMatchObject({ err: '', out: expect.stringContaining(task) })
    expect((await json('fire-times', 'one', '--count', '3')).fire_times).toHaveLength(3)
    expect((await cron('delete', 'one')).out).toMatch(/^one \(cron-\w+\) deleted.* The 2 tasks that it made stay/)
    expect((await cron('get', 'one')).code).toBe(4)
    expect((await cron('get', id)).code).toBe(4)
    expect((await cli(['task', 'get', task, ...at])).code).toBe(0)
  })

  it('whose name several tenants have is asked for with --tenant', async () => {
    for (const tenant of ['a', 'b']) await json('create', 'shared', 'mail', '@daily', '--tenant', tenant)
    expect(await cron('pause', 'shared')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/tenants.*b, a\n.*--tenant/),
    })
    expect(await json('pause', 'shared', '--tenant', 'b')).toMatchObject({ tenant_id: 'b', status: 'PAUSED' })
    expect(await json('get', 'shared', '--tenant', 'a')).toMatchObject({ tenant_id: 'a', status: 'ACTIVE' })
  })

  it('is shown with all that it has, with its share of the jitter and how its last task stands', async () => {
    const task = ['--max-retries', '2', '--retry-backoff', 'fixed', '--timeout', '90', '--result-ttl', '1h']
    const rules = ['--jitter', '30m', '--misfire', 'fire_all', '--expires-at', '2100-01-01T00:00:00Z']
    const { out } = await cron('create', 'full', 'mail', '@daily', ...task, ...rules, '--concurrency-key', 'k')
    const { jitter_offset_seconds: offset } = await json('get', 'full')
    expect(offset).toBeGreaterThanOrEqual(0)
    expect(offset).toBeLessThanOrEqual(1_800)
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual(
      expect.arrayContaining([
        ['jitter', `below 1800 s: fires ${offset} s after each time`],
        ['note', expect.stringContaining('--overlap queue makes all')],
        ['max retries', '2 (fixed, 60 s to 3600 s)'],
        ['time limit', '90 s an attempt'],
        ['expires', '2100-01-01T00:00:00Z'],
        ['result', 'kept for 3600 s'],
        ['concurrency key', 'k'],
      ]),
    )
    expect(out).not.toContain('last task')
    await cron('trigger', 'full')
    expect((await cron('get', 'full')).out).toMatch(/\nlast task +PENDING\n/)
    const queued = (await cron('update', 'full', '--overlap', 'queue', '--max-retries', '0', '--jitter', '0')).out
    expect(queued).toMatch(/\nmax retries +0\n/)
    expect(queued).not.toMatch(/\n(?:note|jitter) /)
  })

  it('stands in a list, with its schedule and when it comes', async () => {
    await json('create', 'list-1', 'mail', '0 0 1 1 *', '--timezone', 'Europe/Paris')
    await json('create', 'list-2', 'mail', '--every', '36h', '--paused')
    const { out, err } = await cron('list', '--name-prefix', 'list-')
    expect(out).toMatch(/^NAME +SCHEDULE +ZONE +NEXT +LAST +STATUS +TYPE +TENANT +ID\n/)
    expect(out).toMatch(
      /\nlist-1 +0 0 1 1 \* +Europe\/Paris +(?:now|in \d+ \w+) +- +ACTIVE +mail +default +cron-\w{26}\n/,
    )
    expect(out).toMatch(/\nlist-2 +every 36h +UTC +- +- +PAUSED /)
    expect(err).toBe('')
    const page = await json('list', '--name-prefix', 'list-', '--limit', '1')
    expect(page).toEqual({ items: [expect.objectContaining({ name: 'list-2' })], next_cursor: expect.any(String) })
    const rest = await json('list', '--name-prefix', 'list-', '--cursor', page.next_cursor)
    expect(rest.items.map(({ name }: { name: string }) => name)).toEqual(['list-1'])
    expect((await json('list', '--status', 'paused', '--name', 'list-2')).items).toHaveLength(1)
  })
})

it('previews a schedule over a change of the clocks, and stores nothing', async () => {
  // one of them a line
  const count = async () => (await cron('list', '--all', '--json')).out.split('\n').filter(Boolean).length
  const before = await count()
  const asked = ['0 9 * * 1-5', '--timezone', 'Europe/Paris', '--after', '2026-03-27T10:00:00Z', '--count', '2']
  const { out } = await cron('preview', ...asked)
  expect(out).toMatch(/^At 09:00, Monday to Friday, in Europe\/Paris\.\n\nEUROPE\/PARIS +UTC +WHEN\n/)
  expect(out).toContain('Mon 2026-03-30 09:00:00 +02:00  2026-03-30T07:00:00Z')
  expect((await json('preview', ...asked)).fire_times).toEqual(['2026-03-30T07:00:00.000Z', '2026-03-31T07:00:00.000Z'])
  expect(await count()).toBe(before)
})

const CRONTAB = [
  '# m h dom mon dow user command',
  'MAILTO=ops@example.com',
  '30 2 * * * root /usr/bin/backup --full',
  '@reboot root /usr/bin/warm-up',
  '',
  'CRON_TZ=Asia/Tokyo',
  '@daily ada report',
].join('\n')

describe('duly cron import', () => {
  const crontab = { readStdin: async () => CRONTAB }
  const load = (prefix: string, ...args: string[]) =>
    cli(['cron', 'import', '-', '--system', '--name-prefix', prefix, ...args, ...at], crontab)

  it('tells of each line what became of it, with its name and its next time', async () => {
    for (const [args, word] of [
      [['--dry-run'], 'would_import'],
      [[], 'created'],
      [[], 'unchanged'],
    ] as const) {
      const { code, out } = await load('web/', ...args)
      expect(code).toBe(8)
      expect(out).toMatch(
        new RegExp(`\n3 +${word} +web/usr-bin-backup-full-\\w+ +\\d{4}-\\d\\d-\\d\\dT02:30:00Z, (?:in|now) ?`),
      )
      expect(out).toMatch(new RegExp(`\n7 +${word} +web/report-\\w+ +\\d{4}-\\d\\d-\\d\\dT15:00:00Z, (?:in|now) ?`))
      expect(out).toMatch(/\n4 +refused +- +- +.*"@reboot" is not taken/)
      expect(out).toMatch(/\n2 +ignored +- +- +variable: no mail is sent/)
      expect(out).toMatch(new RegExp(`\n\n2 taken \\(2 ${word}\\), 1 refused\n$`))
      expect((await json('list', '--name-prefix', 'web/')).items).toHaveLength(word === 'would_import' ? 0 : 2)
    }
  })

  it('makes of a line a task of a command', async () => {
    await load('job/', '--task-type', 'shell', '--paused', '--metadata', '{"m":1.0}', '--tenant', 'acme')
    const names = (await json('list', '--name-prefix', 'job/')).items.map(({ name }: { name: string }) => name)
    const { out } = await cron(
      'get',
      names.find((name: string) => name.includes('report')),
      '--json',
    )
    expect(JSON.parse(out)).toMatchObject({
      ...{ task_type: 'shell', status: 'PAUSED', timezone: 'Asia/Tokyo', tenant_id: 'acme' },
      payload: { command: 'report', user: 'ada' },
    })
    expect(out.replaceAll(/\s/g, '')).toContain('"metadata":{"m":1.0,"tenant_id":"acme"}')
    expect((await load('job/', '--task-type', 'shell', '--tenant', 'acme', '--metadata', '{"m":1.0}')).out).toMatch(
      / {2}PAUSED /,
    )
  })

  it('gives all lines the same rules and fields, and shows a tab as a blank', async () => {
    const rules = ['--overlap', 'queue', '--jitter', '10m', '--max-retries', '0', '--timeout', '6h', '--queue', 'ops']
    const tabbed = { readStdin: async () => '17 *\t* * *\t/usr/bin/hourly\n' }
    const { out } = await cli(['cron', 'import', '-', '--name-prefix', 'ops/', ...rules, ...at], tabbed)
    expect(out).toMatch(/ {2}17 \* \* \* \* \/usr\/bin\/hourly\n/)
    const [made] = (await json('list', '--name-prefix', 'ops/')).items
    expect(made).toMatchObject({
      ...{ overlap_policy: 'queue', jitter_seconds: 600, max_retries: 0, timeout_seconds: 21_600, queue: 'ops' },
      ...{ task_type: 'run_command', cron_expression: '17 * * * *' },
    })
  })

  it('of a file without a wrong line ends with 0, and prints as JSON what the API answers', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'duly-crontab-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'crontab')
    await writeFile(file, '@hourly echo hello\n')
    expect(await json('import', file)).toEqual({
      lines: [expect.objectContaining({ line: 1, text: '@hourly echo hello', result: 'created', message: null })],
      ...{ imported: 1, refused: 0 },
    })
    const wrong = await cron('import', file, '--timezone', 'Mars/X')
    expect(wrong).toMatchObject({ code: 2, err: expect.stringMatching(/^duly: --timezone "Mars/) })
  })
})
