import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isAlive } from '../postgres/postmaster-file.js'
import { plainEnvironment } from './plain-environment.js'

const PROGRAM = fileURLToPath(new URL('../../bin/duly.js', import.meta.url))

/** What it prints when all runs. */
interface DevFacts {
  readonly url: string
  readonly postgres: {
    readonly port: number
    readonly pid: number
    readonly data_dir: string
    readonly password_file: string
  }
  readonly database_url: string
  readonly worker: { readonly pid: number }
}

/** `duly dev` from the build, as the leader of a process group, on a free port. */
export class DevProcess {
  private constructor(
    readonly child: ChildProcess,
    readonly facts: DevFacts,
    readonly lines: readonly string[],
  ) {}

  /** Resolves when it says that all runs. */
  static async start(dataDir: string, args: readonly string[] = []): Promise<DevProcess> {
    const env = { ...plainEnvironment(), DULY_PORT: '0', DULY_DATA_DIR: dataDir, DULY_LOG_LEVEL: 'info' }
    const child = spawn(process.execPath, [PROGRAM, 'dev', '--json', ...args], {
      detached: true,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const lines: string[] = []
    createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => lines.push(line))
    const ready = once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
    // with all that it printed
    const ended = once(child, 'close').then(() => Promise.reject(new Error(`duly dev ended:\n${lines.join('\n')}`)))
    const [line] = await Promise.race([ready, ended])
    ended.catch(() => {})
    return new DevProcess(child, JSON.parse(String(line)), lines)
  }

  /** Its own pid, PostgreSQL's and the worker's. */
  get pids(): readonly number[] {
    return [this.child.pid as number, this.facts.postgres.pid, this.facts.worker.pid]
  }

  /** Signals its whole process group, as a terminal does, and returns the exit code; all that was printed has been read then. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode
    const ended = once(this.child, 'close')
    process.kill(-(this.child.pid as number), signal)
    await ended
    return this.child.exitCode
  }
}

/** Waits until something that other processes do has come about; fails after `limitMs`. */
export async function eventually(what: string, holds: () => Promise<boolean>, limitMs = 120_000): Promise<void> {
  const until = performance.now() + limitMs
  while (performance.now() < until) {
    if (await holds()) return
    await delay(25)
  }
  throw new Error(`not within ${limitMs} ms: ${what}`)
}

/** Is none of these processes there any more? */
export async function areGone(pids: readonly number[]): Promise<boolean> {
  return (await Promise.all(pids.map(isAlive))).every((alive) => !alive)
}
