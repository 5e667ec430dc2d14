import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { plainEnvironment } from '../../testing/plain-environment.js'

/** What the other process tells about the server it holds. */
export interface Told {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly reused: boolean
}

export interface Elsewhere {
  readonly child: ChildProcess
  readonly told: Told
  /** The next line it prints. */
  line(): Promise<string>
  /** Has it stop the server and end. */
  end(): Promise<void>
  /** Kills it without a word to anyone, and waits until it is gone. */
  kill(): Promise<void>
}

const BUILD = new URL('../../../dist/postgres/index.js', import.meta.url)

const SCRIPT = `
import { startPostgres } from ${JSON.stringify(BUILD.href)}
const postgres = await startPostgres({ dataDir: process.argv[1] })
const { url, port, pid, reused } = postgres
process.on('SIGTERM', async () => {
  const { probe } = await import(${JSON.stringify(new URL('./probe.js', BUILD).href)})
  console.log(await probe(port))
  await postgres.stop()
  process.exit(0)
})
setInterval(() => {}, 1000)
console.log(JSON.stringify({ url, port, pid, reused }))
`

/**
 * Starts PostgreSQL from another process, in a process group of its own, and waits until it is ready there. At SIGTERM that
 * process prints what the server answers at that moment, stops it and ends.
 * @param options.prefix a program that starts it, e.g. one that changes the user
 */
export async function startElsewhere(
  dataDir: string,
  options: { prefix?: string[]; path?: string } = {},
): Promise<Elsewhere> {
  if (!existsSync(fileURLToPath(BUILD))) throw new Error('This test runs the build: `npm run build` first.')
  const command = [...(options.prefix ?? []), process.execPath, '--input-type=module', '-e', SCRIPT, dataDir]
  const env = { ...plainEnvironment(), PATH: options.path ?? process.env.PATH }
  const child = spawn(command[0] as string, command.slice(1), {
    detached: true,
    cwd: '/',
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  const line = async () => String((await lines.next()).value)
  const told: Told = JSON.parse(await line())
  const signal = async (name: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(name)
    await ended
  }
  return { child, told, line, end: () => signal('SIGTERM'), kill: () => signal('SIGKILL') }
}
