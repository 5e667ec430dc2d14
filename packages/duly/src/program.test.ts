import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Terminal } from './cli/terminal.js'
import { buildProgram, runCli } from './program.js'

/** A port on which nothing listens: it is reserved. */
const NOBODY = 'http://127.0.0.1:1'

function screen(env: NodeJS.ProcessEnv = {}): Terminal & { outText: string; errText: string } {
  const terminal = {
    outText: '',
    errText: '',
    out: (text: string) => {
      terminal.outText += text
    },
    err: (text: string) => {
      terminal.errText += text
    },
    isInteractive: false,
    width: 80,
    env,
    readStdin: async () => '',
  }
  return terminal
}

async function run(args: readonly string[], env?: NodeJS.ProcessEnv) {
  const terminal = screen(env)
  const code = await runCli(args, terminal)
  return { code, out: terminal.outText, err: terminal.errText }
}

function leaves(command: Command, path: readonly string[] = []): string[][] {
  const children = command.commands.filter((child) => child.name() !== 'help')
  return children.length === 0 ? [[...path]] : children.flatMap((child) => leaves(child, [...path, child.name()]))
}

const commands = leaves(buildProgram({ terminal: screen(), setExit: () => {} }))

describe('every command', () => {
  it.each(commands.map((path) => [path.join(' '), path] as const))(
    '%s has help with an example, and --json',
    async (name, path) => {
      const { code, out } = await run([...path, '--help'])
      expect(code).toBe(0)
      expect(out).toContain('--json')
      expect(out).toMatch(new RegExp(`\\nExample:\\n  .*duly ${name}\\b`))
    },
  )

  it('of the specification is there', () => {
    const names = commands.map((path) => path.join(' '))
    const tasks = ['submit', 'get', 'cancel', 'retry', 'attempts', 'events'].map((name) => `task ${name}`)
    expect(names).toEqual(expect.arrayContaining(['worker', ...tasks]))
  })
})

describe('exit codes', () => {
  it('0 for help and version, with the codes themselves in the help', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), err: '' })
    const help = await run(['--help'])
    expect(help.code).toBe(0)
    expect(help.out).toMatch(/Exit codes:\n {2}0 {3}It was done/)
  })

  it.each([
    [['nonsense'], /unknown command/],
    [['task', 'get'], /missing required argument 'id'/],
    [['task', 'submit', 'a', '--nonsense'], /unknown option/],
    [['task', 'submit'], /name the type of the task, or a --file/],
    [['task', 'submit', 'a', '--progress'], /--progress goes with --file/],
    [['task', 'submit', 'a', '--delay', 'soon'], /not a duration/],
    [['task', 'submit', 'a', '--max-retries', 'many'], /--max-retries must be a whole number/],
    [['task', 'submit', 'a', '--payload', '{'], /--payload is not JSON/],
    [['task', 'submit', 'a', '--file', 'x.jsonl', '--priority', 'high'], /leave out the type a, --priority/],
    [['task', 'submit', '--file', 'no-such.jsonl'], /no-such\.jsonl does not exist/],
    [['task', 'get', 'task-1', '--url', 'ftp://x'], /not an http address/],
    [['worker', 'no-such.mjs'], /no-such\.mjs does not exist/],
  ])('2 for %j', async (args, message) => {
    const { code, out, err } = await run(args)
    expect(err).toMatch(message)
    expect({ code, out }).toEqual({ code: 2, out: '' })
  })

  it('3 when no server answers, with what to do; as JSON if asked', async () => {
    const { code, err } = await run(['task', 'submit', 'a', '--url', NOBODY])
    expect(code).toBe(3)
    expect(err).toContain('npx duly dev')
    const json = await run(['task', 'get', 'task-1', '--url', NOBODY, '--json'])
    expect(json.code).toBe(3)
    expect(JSON.parse(json.err)).toMatchObject({ error: { exit_code: 3, code: 'ECONNREFUSED' } })
  }, 30_000)
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
    const none = await run(['worker', await workerFile('export const x = 1\n')])
    expect(none).toMatchObject({
      code: 2,
      err: expect.stringMatching(/exports no worker\nExport a Worker, or a function/),
    })
    const broken = await run(['worker', await workerFile('throw new Error("my fault")\n')])
    expect(broken).toMatchObject({ code: 1, err: expect.stringContaining('my fault') })
  })
})
