import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { root } from '../repo/files.js'
import { cleanUpLater } from '../support/clean-up.js'

const START_LIMIT_MS = 150_000
const COMMAND_LIMIT_MS = 300_000

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A Duly that the samples run against: what the README's first command starts, on a free port and in a folder of its own. */
export class Playground {
  private constructor(
    readonly url: string,
    readonly databaseUrl: string,
    readonly folder: string,
  ) {}

  /** Ends with the test file. */
  static async start(command: string): Promise<Playground> {
    const folder = await mkdtemp(join(tmpdir(), 'duly-docs-'))
    await chmod(folder, 0o755) // run by root, PostgreSQL's own user must be able to pass through
    const dataDir = join(folder, '.duly')
    const job = new Job(command, { DULY_PORT: '0', DULY_DATA_DIR: dataDir })
    cleanUpLater(() => rm(folder, { recursive: true, force: true }))
    cleanUpLater(() => job.stop())
    const [, url = ''] = await job.printed(/API +(http:\/\/\S+)\/api\/v1/, START_LIMIT_MS)
    const [, address = ''] = await job.printed(/PostgreSQL +(\S+:\d+),/, START_LIMIT_MS)
    const password = (await readFile(join(dataDir, 'postgres', 'duly.password'), 'utf8')).trim()
    return new Playground(url, `postgres://duly:${password}@${address}/duly`, folder)
  }

  /** What samples find in their environment. */
  get env(): Readonly<Record<string, string>> {
    return {
      DULY_URL: this.url,
      DULY_DATABASE_URL: this.databaseUrl,
      DULY_PORT: '0',
      DULY_DATA_DIR: join(this.folder, '.duly'),
      TMPDIR: this.folder,
    }
  }

  /** A sample for this server: its address, its database, its programs in place of those that readers have. */
  fitted(text: string): string {
    return text
      .replaceAll('127.0.0.1:7070', new URL(this.url).host)
      .replaceAll('https://duly.example', this.url)
      .replaceAll(/postgres:\/\/[^\s'"]+/g, this.databaseUrl)
      .replaceAll(/\bnpx duly\b/g, 'duly')
  }
}

/** A shell command of its own process group, in the folder of the checkout. */
export class Job {
  readonly ended: Promise<number | null>
  readonly #child: ChildProcess
  readonly #texts = { out: '', err: '' }
  readonly #heard = new Set<() => void>()
  /** It has ended, and all that it printed has been read. */
  #isClosed = false

  constructor(
    readonly command: string,
    env: Readonly<Record<string, string>>,
  ) {
    const path = [join(root, 'node_modules', '.bin'), dirname(process.execPath), process.env.PATH].join(delimiter)
    this.#child = spawn('sh', ['-c', command], {
      cwd: root,
      env: { HOME: tmpdir(), ...env, PATH: path },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const [stream, name] of [
      [this.#child.stdout, 'out'],
      [this.#child.stderr, 'err'],
    ] as const) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.#texts[name] += chunk
        this.#wake()
      })
    }
    this.ended = once(this.#child, 'close').then(([code]) => {
      process.off('exit', this.#kill)
      this.#isClosed = true
      this.#wake()
      return code as number | null
    })
    process.on('exit', this.#kill)
  }

  get output(): string {
    return `${this.#texts.out}${this.#texts.err}`
  }

  /** Waits until something like this was printed. */
  async printed(pattern: RegExp, limitMs: number): Promise<RegExpExecArray> {
    const timer = AbortSignal.timeout(limitMs)
    for (;;) {
      const found = pattern.exec(this.output)
      if (found) return found
      if (timer.aborted || this.#isClosed)
        throw new Error(`\`${this.command}\` did not print ${pattern}:\n${this.output}`)
      await new Promise<void>((resolve) => {
        this.#heard.add(resolve)
        timer.addEventListener('abort', () => resolve(), { once: true })
      })
    }
  }

  /** Waits for its end; one that takes far too long is ended. */
  async result(): Promise<Ran> {
    const timer = setTimeout(this.#kill, COMMAND_LIMIT_MS)
    const code = await this.ended
    clearTimeout(timer)
    return { code, ...this.#texts }
  }

  /** Asks it to stop, as a terminal does for all of its processes, and gives its exit code. */
  async stop(): Promise<number | null> {
    if (!this.#hasEnded) process.kill(-(this.#child.pid as number), 'SIGTERM')
    return (await this.result()).code
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  readonly #kill = (): void => {
    if (!this.#hasEnded) process.kill(-(this.#child.pid as number), 'SIGKILL')
  }

  #wake(): void {
    for (const wake of this.#heard) wake()
    this.#heard.clear()
  }
}
