import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from './ports.js'
import { type ProcessOptions, startNode, type TestProcess } from './test-process.js'

const DULY = fileURLToPath(new URL('../../packages/duly/bin/duly.js', import.meta.url))
const BUILD = fileURLToPath(new URL('../../packages/duly/dist/main.js', import.meta.url))
/** Far more than any start takes that is not stuck: under other tests a machine can be thirty times as slow as by itself. */
const READY_LIMIT_MS = 120_000

/** Starts `duly …` from the build. */
export function startProcess(args: readonly string[], options: ProcessOptions): TestProcess {
  if (!existsSync(BUILD)) throw new Error('The build is missing: run `npm run build` first.')
  return startNode([DULY, ...args], options)
}

export interface ServerOptions {
  readonly databaseUrl: string
  /** A free one if absent; give the same again to restart a server in its place. */
  readonly port?: number
  readonly env?: Readonly<Record<string, string>>
  readonly name?: string
}

export interface TestServer {
  readonly process: TestProcess
  readonly url: string
  readonly port: number
}

/** Starts `duly serve` and resolves when `/readyz` says yes. */
export async function startServer(options: ServerOptions): Promise<TestServer> {
  const port = options.port ?? (await freePort())
  const env = {
    DULY_DATABASE_URL: options.databaseUrl,
    DULY_HOST: '127.0.0.1',
    DULY_PORT: String(port),
    DULY_LOG_LEVEL: 'info',
    // without keys, unless a test is about them
    DULY_OPEN: 'true',
    DULY_DRAIN_DELAY_SECONDS: '0',
    ...options.env,
  }
  const server = startProcess(['serve'], { name: options.name ?? 'server', env })
  const url = `http://127.0.0.1:${port}`
  await untilReady(server, url)
  return { process: server, url, port }
}

/** Asks `/readyz` until it answers 200. */
export async function untilReady(server: TestProcess, url: string, limitMs = READY_LIMIT_MS): Promise<void> {
  const giveUpAt = performance.now() + limitMs
  while (server.isRunning && performance.now() < giveUpAt) {
    const ready = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
    await ready?.arrayBuffer().catch(() => {})
    if (ready?.ok) return
    await delay(25)
  }
  throw new Error(server.describe('did not become ready'))
}

export interface WorkerOptions {
  readonly url: string
  /** A module whose handlers the worker runs. */
  readonly file: string
  readonly env?: Readonly<Record<string, string>>
  readonly name?: string
}

/** Starts `duly worker <file>`; it connects by itself, also to a server that comes up later. */
export function startWorker(options: WorkerOptions): TestProcess {
  return startProcess(['worker', options.file], {
    name: options.name ?? 'worker',
    env: { DULY_URL: options.url, DULY_LOG_LEVEL: 'info', ...options.env },
  })
}
