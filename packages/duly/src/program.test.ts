import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as server from '@duly/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { processTerminal } from './cli/terminal.js'
import { buildProgram } from './program.js'
import { leaves, pathOf, renderCommandLine } from './reference.js'
import { cli } from './testing/captured-cli.js'

/** A port on which nothing listens: it is reserved. */
const NOBODY = 'http://127.0.0.1:1'

const commands = leaves(buildProgram({ terminal: processTerminal(), setExit: () => {} }, server)).map((command) =>
  pathOf(command).split(' ').slice(1),
)

describe('every command', () => {
  it.each(commands.map((path) => [path.join(' '), path] as const))(
    '%s has help with an example, and --json',
    async (name, path) => {
      const { code, out } = await cli([...path, '--help'])
      expect(code).toBe(0)
      expect(out).toContain('--json')
      expect(out).toMatch(new RegExp(`\\nExample:\\n  .*duly ${name}\\b`))
    },
  )

  it.each(commands.map((path) => [path.join(' '), path] as const))('help %s shows the same', async (_, path) => {
    expect(await cli(['help', ...path])).toEqual(await cli([...path, '--help']))
  })

  it('stands in the reference page with its help, whatever the width of the terminal that makes it', async () => {
    const page = await renderCommandLine()
    for (const path of commands)
      expect(page).toContain(`\n## duly ${path.join(' ')}\n\n\`\`\`text\nUsage: duly ${path.join(' ')}`)
    expect(page).toContain('| 4 | not_found |')
  })

  it('of the specification is there', () => {
    const names = commands.map((path) => path.join(' '))
    const tasks = ['submit', 'get', 'cancel', 'retry', 'attempts', 'events'].map((name) => `task ${name}`)
    const once = ['create', 'list', 'get', 'update', 'pause', 'resume', 'trigger', 'preview', 'fire-times', 'delete']
    const crons = [...once, 'import'].map((name) => `cron ${name}`)
    const queues = ['list', 'get', 'pause', 'resume', 'purge'].map((name) => `queue ${name}`)
    const workers = ['worker', 'worker list', 'worker drain']
    const keys = ['create', 'list', 'revoke'].map((name) => `key ${name}`)
    expect(names).toEqual(
      expect.arrayContaining(['dev', 'serve', 'migrate', 'config', ...tasks, ...crons, ...queues, ...workers, ...keys]),
    )
  })
})

describe('exit codes', () => {
  it('0 for help and version, with the codes themselves in the help', async () => {
    expect(await cli(['--version'])).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), err: '' })
    const help = await cli(['--help'])
    expect(help.code).toBe(0)
    expect(help.out).toMatch(/Exit codes:\n {2}0 {3}It was done/)
  })

  it.each([
    [['nonsense'], /unknown command/],
    [['task', 'get'], /missing required argument 'id'/],
    [['task', 'submit', 'a', '--nonsense'], /unknown option/],
    [['task', 'submit'], /name the type of the task, or a --file/],
    [['task', 'submit', 'a', '--progress'], /--progress goes with --file/],
    [['task', 'submit', 'a', '--delay', 'soon'], /--delay: "soon" is not a duration/],
    [['task', 'submit', 'a', '--max-retries', 'many'], /--max-retries must be a whole number/],
    [['task', 'submit', 'a', '--payload', '{'], /--payload is not JSON/],
    [['task', 'submit', 'a', '--file', 'x.jsonl', '--priority', 'high'], /leave out the type a, --priority/],
    [['task', 'submit', '--file', 'no-such.jsonl'], /no-such\.jsonl does not exist/],
    [['task', 'get', 'task-1', '--url', 'ftp://x'], /^duly: --url: not an http address/],
    [['task', 'list', '--url', 'http://a:1,'], /^duly: --url: an address is empty/],
    [['task', 'submit', 'a', '--metadata', '[1]', '--tenant', 'x'], /^duly: --metadata must be an object/],
    [['task', 'submit', 'a', '--metadata', '7'], /^duly: --metadata must be an object/],
    [['help', 'task', 'nonsense'], /there is no command `duly task nonsense`/],
    [['worker', 'no-such.mjs'], /no-such\.mjs does not exist/],
    [['dev', '--worker', 'no-such.mjs'], /no-such\.mjs does not exist/],
    [['serve'], /no database is named\nSet DULY_DATABASE_URL/],
    [['serve', '--port', 'x', '--roles', 'y'], /--port must be a whole number from 0 to 65535; --roles must be/],
    [['dev', '--host', '::'], /listens on this machine only: :: is no loopback address\n.*`duly serve`/],
    [['dev', '--host', '0.0.0.0', '--open'], /no loopback address/],
    [
      ['key', 'create', '--name', 'a', '--scopes', 'read,write'],
      /--scopes: write is none of submit, read, work, admin/,
    ],
    [['cron', 'create', 'a', 'mail'], /say when: an expression or --every/],
    [['cron', 'create', 'a', 'mail', '@daily', '--every', '5m'], /an expression or --every, not both/],
    [['cron', 'create', 'a', 'mail', '--every', 'soon'], /--every: "soon" is not a duration/],
    [['cron', 'create', 'a', 'mail', '@daily', '--delay', '5m'], /unknown option '--delay'/],
    [['cron', 'update', 'a', '--tenant', 'x'], /say what to change/],
    [['cron', 'preview'], /say when/],
    [
      ['cron', 'preview', '0', '9', 'README.md', 'docs', '1-5'],
      /too many[^\n]*\nQuote the expression: '0 9 \* \* 1-5'\./,
    ],
    [['cron', 'get', 'a', 'b'], /too many(?![\s\S]*Quote)/],
    [['cron', 'preview', '@daily', '--count', '0'], /--count must be a whole number from 1/],
    [['cron', 'import', 'no-such.tab'], /no-such\.tab does not exist/],
    [['cron', 'import', '-', '--metadata', '[1]'], /--metadata must be an object/],
    [['key', 'list', '--database-url'], /no database is named/],
    [['config', '--config', 'no-such.json'], /no-such\.json does not exist/],
    [['migrate'], /no database is named/],
    [
      ['migrate', '--database-url', 'mysql://u:hunter2@db/x'],
      /^duly: --database-url must be a postgres:\/\/ URL\n(?!.*hunter2)/,
    ],
    [['key', 'list', '--database-url', 'db:5432'], /^duly: --database-url must be a postgres:\/\/ URL/],
    [['migrate', '--status', '--verify'], /ask one at a time/],
  ])('2 for %j', async (args, message) => {
    const { code, out, err } = await cli(args)
    expect(err).toMatch(message)
    expect({ code, out }).toEqual({ code: 2, out: '' })
  })

  it('2 with one line of JSON, if asked, also for a flag or a command that there is not', async () => {
    for (const [args, message] of [
      [['task', 'get'], "missing required argument 'id'"],
      [['cron', 'list', '--statsu', 'ENDED'], "unknown option '--statsu'\n(Did you mean --status?)"],
      [['cron', 'crate'], "unknown command 'crate'\n(Did you mean create?)"],
    ] as const) {
      const { code, out, err } = await cli([...args, '--json'])
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toMatch(/^\{.*\}\n$/)
      expect(JSON.parse(err)).toEqual({ error: { exit_code: 2, exit: 'usage', message } })
    }
  })

  it('2 for a variable that names no database', async () => {
    const { code, err } = await cli(['migrate'], { env: { DULY_DATABASE_URL: 'db' } })
    expect([code, err]).toEqual([2, expect.stringContaining('DULY_DATABASE_URL must be a postgres:// URL')])
  })

  it('1 when no database answers, with what to do and without its password', async () => {
    const { port } = new URL(NOBODY)
    const { code, err } = await cli(['migrate', '--database-url', `postgres://duly:secret@127.0.0.1:${port}/duly`])
    expect(code).toBe(1)
    expect(err).toMatch(/the database cannot be reached: .*ECONNREFUSED.*\n.*--database-url or DULY_DATABASE_URL/)
    expect(err).not.toContain('secret')
  })

  it('3 when no server answers, with what to do; as JSON if asked', async () => {
    const { code, err } = await cli(['task', 'submit', 'a', '--url', NOBODY])
    expect(code).toBe(3)
    expect(err).toContain('npx duly dev')
    const json = await cli(['task', 'get', 'task-1', '--url', NOBODY, '--json'])
    expect(json.code).toBe(3)
    expect(JSON.parse(json.err)).toMatchObject({ error: { exit_code: 3, code: 'ECONNREFUSED' } })
  })
})

describe('duly config', () => {
  it('shows what is in force, flags over environment over file, and no secret', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'duly-config-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'duly.json')
    await writeFile(file, '{"port": 1111, "host": "10.0.0.1", "logLevel": "warn"}')
    const env = {
      DULY_PORT: '2222',
      DULY_HOST: '10.0.0.2',
      DULY_OPEN: 'true',
      DULY_DATABASE_URL: 'postgres://u:hunter2@db/x',
      DULY_API_KEY: 'hunter3',
    }
    const { code, out } = await cli(['config', '--json', '--port', '3333', '--config', file], { env })
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      DULY_PORT: '3333',
      DULY_HOST: '10.0.0.2',
      DULY_LOG_LEVEL: 'warn',
      DULY_API_KEY: '***',
    })
    expect(out).not.toMatch(/hunter/)
  })
})

describe('a variable that is misspelt', () => {
  it.each(['config', 'serve', 'dev'])('is told by duly %s, once, and hinders nothing', async (command) => {
    const env = { DULY_RETENTION_DAY: '3', DULY_PORT: '7071', DULY_HOST: '0.0.0.0' }
    const { code, err } = await cli([command], { env })
    // this far only: the one wants a database, the other one listens on loopback alone
    expect(code).toBe(command === 'config' ? 0 : 2)
    expect(err.match(/^duly: warning: .*$/gm)).toEqual([
      'duly: warning: DULY_RETENTION_DAY is no setting and has no effect; did you mean DULY_RETENTION_DAYS?',
    ])
  })
})

describe('a warning', () => {
  it('is a line of JSON where that is asked for', async () => {
    const env = { DULY_RETENTION_DAY: '3', DULY_PORT: 'tcp://10.0.0.7:7070' }
    const { code, out, err } = await cli(['config', '--json'], { env })
    expect(code).toBe(0)
    const told = err
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).warning)
    expect(told).toMatchObject([
      { code: 'unknown_variable', variable: 'DULY_RETENTION_DAY', nearest: 'DULY_RETENTION_DAYS' },
      { code: 'service_link', variable: 'DULY_PORT', message: expect.stringContaining('enableServiceLinks: false') },
    ])
    expect(JSON.parse(out)).toMatchObject({ DULY_PORT: '7070' })
  })
})

describe('a wrong setting', () => {
  it('is told with the flag, the variable or the file that it stands in', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'duly-config-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'duly.json')
    await writeFile(file, '{"leaseSeconds": "long", "prot": 1}')
    const flags = ['--config', file, '--max-crashes', '2.5']
    for (const command of ['config', 'serve', 'dev']) {
      const { code, err } = await cli([command, ...flags], { env: { DULY_PORT: 'http' } })
      expect(code).toBe(2)
      expect(err).toContain(`${file}: prot is not a setting`)
      expect(err).toContain(`${file}: leaseSeconds must be seconds`)
      expect(err).toMatch(/--max-crashes must be .*DULY_PORT must be|DULY_PORT must be .*--max-crashes must be/)
    }
  })
})

describe('the log level in force', () => {
  const levelOf = async (args: readonly string[], env = {}) =>
    /DULY_LOG_LEVEL +(.*)/.exec((await cli(['config', ...args], { env })).out)?.[1]

  it('is told for both kinds of node where nobody set it, else as it was set', async () => {
    expect(await levelOf([])).toBe('info (duly dev: warn)')
    expect(await levelOf([], { DULY_LOG_LEVEL: 'info' })).toBe('info')
    expect(await levelOf(['--log-level', 'debug'], { DULY_LOG_LEVEL: 'info' })).toBe('debug')
  })
})

describe('worker files', () => {
  async function workerFile(text: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'duly-worker-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'worker.mjs')
    await writeFile(file, text)
    return file
  }

  it('that export none, or cannot be loaded, are refused by name', async () => {
    const none = await cli(['worker', await workerFile('export const x = 1\n')])
    expect(none).toMatchObject({
      code: 2,
      err: expect.stringMatching(/exports no worker\nExport a Worker, or a function/),
    })
    const broken = await cli(['worker', await workerFile('throw new Error("my fault")\n')])
    expect(broken).toMatchObject({ code: 1, err: expect.stringContaining('my fault') })
  })
})
