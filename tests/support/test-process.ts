import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { cleanUpLater } from './clean-up.js'

/** Far more than any line takes that comes at all: under other tests a machine can be thirty times as slow as by itself. */
const LINE_LIMIT_MS = 120_000

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ProcessOptions {
  /** How it is called in messages. */
  readonly name: string
  readonly env?: Readonly<Record<string, string>>
}

const started = new Set<TestProcess>()
// Should the test's own process end before its clean-up.
process.on('exit', () => {
  for (const each of started) each.signal('SIGKILL')
})

/** A process of ours: the built command line, with all that it printed. */
export class TestProcess {
  readonly name: string
  readonly pid: number
  readonly exited: Promise<Exit>
  /** It was paused at least once: what it did afterwards may have been decided long before. */
  wasPaused = false
  /** It has ended, and all that it printed has been read; the end alone comes before its last lines. */
  #isClosed = false
  readonly #child: ChildProcess
  readonly #lines: string[] = []
  readonly #waiting = new Set<() => void>()

  constructor(child: ChildProcess, name: string) {
    if (child.pid === undefined) throw new Error(`${name} could not be started`)
    this.name = name
    this.pid = child.pid
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) this.#collect(stream)
    this.exited = once(child, 'close').then(([code, signal]: unknown[]) => {
      started.delete(this)
      this.#isClosed = true
      this.#wake()
      return { code: code as number | null, signal: signal as NodeJS.Signals | null }
    })
    started.add(this)
    cleanUpLater(() => this.kill('SIGKILL'))
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Everything printed so far, both streams, line by line. */
  get output(): readonly string[] {
    return this.#lines
  }

  /** Waits for a printed line; those printed already count. */
  async line(pattern: RegExp, limitMs = LINE_LIMIT_MS): Promise<RegExpExecArray> {
    const giveUpAt = performance.now() + limitMs
    for (let read = 0; ; ) {
      for (; read < this.#lines.length; read += 1) {
        const found = pattern.exec(this.#lines[read] ?? '')
        if (found) return found
      }
      const left = giveUpAt - performance.now()
      if (left <= 0 || this.#isClosed) throw new Error(this.describe(`did not print ${pattern}`))
      await this.#change(left)
    }
  }

  /** Sends a signal, by pid; nothing happens when the process is gone. */
  signal(signal: NodeJS.Signals): void {
    if (!this.isRunning) return
    if (signal === 'SIGSTOP') this.wasPaused = true
    this.#child.kill(signal)
  }

  /** Sends a signal that ends the process, and waits for its end. A paused one is woken for any signal but SIGKILL. */
  async kill(signal: NodeJS.Signals): Promise<Exit> {
    this.signal(signal)
    if (signal !== 'SIGKILL') this.signal('SIGCONT')
    return this.exited
  }

  /** A message with the last lines of the output, for a test that fails. */
  describe(what: string): string {
    return [`${this.name} (pid ${this.pid}) ${what}; its last lines:`, ...this.#lines.slice(-30)].join('\n  ')
  }

  #collect(stream: NodeJS.ReadableStream | null): void {
    let rest = ''
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      const parts = `${rest}${chunk}`.split('\n')
      rest = parts.pop() ?? ''
      this.#lines.push(...parts)
      this.#wake()
    })
    stream?.on('end', () => {
      if (rest !== '') this.#lines.push(rest)
    })
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  async #change(limitMs: number): Promise<void> {
    const timer = new AbortController()
    const changed = new Promise<void>((resolve) => this.#waiting.add(resolve))
    await Promise.race([changed, delay(limitMs, undefined, { signal: timer.signal }).catch(() => {})])
    timer.abort()
  }
}

/**
 * Starts `node …`. On Linux it also dies with the test's own process, so that a killed test run leaves nothing behind.
 * Ended at the latest when the test file is done.
 */
export function startNode(args: readonly string[], options: ProcessOptions): TestProcess {
  const command = [process.execPath, ...args]
  const guarded = process.platform === 'linux' ? ['setpriv', '--pdeathsig', 'KILL', '--', ...command] : command
  const [file = '', ...rest] = guarded
  const child = spawn(file, rest, {
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, HOME: tmpdir(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return new TestProcess(child, options.name)
}
