import { type ChildProcess, spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { LoopStall } from './loop-probe.js'

/** The command line, from the build. */
export const program = fileURLToPath(new URL('../../packages/duly/bin/duly.js', import.meta.url))

export interface ServerOptions {
  readonly databaseUrl: string
  /** Holds the server's log. */
  readonly folder: string
  readonly nodeArguments: readonly string[]
  /** It can be asked how long its event loop stood still, which costs a timer every 2 ms. */
  readonly watchesLoop?: boolean
  /** It asks for no keys; true if absent. */
  readonly isOpen?: boolean
  /** Further settings, as in its environment. */
  readonly settings?: Readonly<Record<string, string>>
}

/** `duly serve` in a process of its own. */
export class Server {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  /** Resolves when it says that it is ready. */
  static async start({
    databaseUrl,
    folder,
    nodeArguments,
    watchesLoop = false,
    isOpen = true,
    settings = {},
  }: ServerOptions): Promise<Server> {
    const port = await freePort()
    const log = join(folder, 'server.log')
    const file = openSync(log, 'a')
    const probe = watchesLoop ? ['--import', new URL('loop-probe.js', import.meta.url).href] : []
    const child = spawn(process.execPath, [...nodeArguments, ...probe, program, 'serve'], {
      cwd: folder,
      env: {
        ...process.env,
        DULY_DATABASE_URL: databaseUrl,
        DULY_HOST: '127.0.0.1',
        DULY_PORT: String(port),
        DULY_OPEN: String(isOpen),
        DULY_DRAIN_DELAY_SECONDS: '0',
        ...settings,
      },
      stdio: ['ignore', file, file, ...(watchesLoop ? (['ipc'] as const) : [])],
    })
    const server = new Server(child, `http://127.0.0.1:${port}`)
    await server.#untilReady(log)
    return server
  }

  get pid(): number {
    const { pid } = this.#child
    if (pid === undefined) throw new Error('the server did not start')
    return pid
  }

  /** The longest time since this was asked last in which it answered nobody. Of a server that was started to be watched. */
  loopStall(): Promise<LoopStall> {
    const answer = new Promise<LoopStall>((resolve) =>
      this.#child.once('message', (stall) => resolve(stall as LoopStall)),
    )
    this.#child.send('stall')
    return answer
  }

  /** As an operator stops it. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGTERM')
    await gone
  }

  async #untilReady(log: string): Promise<void> {
    const deadline = performance.now() + 30_000
    while (performance.now() < deadline && this.#child.exitCode === null) {
      const answer = await fetch(`${this.url}/readyz`).catch(() => null)
      if (answer?.ok) return
      await delay(20)
    }
    await this.stop()
    throw new Error(`the server did not become ready:\n${readFileSync(log, 'utf8').split('\n').slice(-20).join('\n')}`)
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}
