import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RunningNode, ServerConfig } from '@duly/server'
import { CliError } from '../cli/cli-error.js'
import type { StopStep } from '../cli/shutdown.js'
import type { Terminal } from '../cli/terminal.js'
import { type EmbeddedPostgres, passwordFile, startPostgres } from '../postgres/index.js'
import type { DevFacts } from './dev-banner.js'
import { type KeptPart, keepRunning } from './keep-running.js'
import { lineLog } from './line-log.js'
import type { Starter } from './run-until-signal.js'
import { readableLog } from './server-log.js'
import { keepHeapSmall } from './small-heap.js'
import { startWorkerProcess, type WorkerProcess } from './worker-process.js'

/** In a checkout; an installed package has none. */
const EXAMPLE_WORKER = fileURLToPath(new URL('../../../../examples/worker.mjs', import.meta.url))

export interface DevOptions {
  readonly server: typeof import('@duly/server')
  readonly config: ServerConfig
  readonly dataDir: string
  /** A worker file; false: none; undefined: the example. */
  readonly worker: string | false | undefined
  readonly terminal: Terminal
  readonly asJson: boolean
}

/**
 * What `duly dev` runs: PostgreSQL (unless a database is named), the server in this process, a worker in a process of its own, as
 * in production. PostgreSQL and the worker are started again if they end by themselves. Stopped, the worker goes first, while
 * there is a server to report to; then the server drains, while there is a database; PostgreSQL goes last.
 */
export class DevTree {
  readonly starters: readonly Starter[]
  readonly log: (line: string) => void
  readonly #options: DevOptions
  #postgres: KeptPart<EmbeddedPostgres> | undefined
  #node: RunningNode | undefined
  #worker: KeptPart<WorkerProcess> | undefined
  readonly #workerFile: string | undefined

  constructor(options: DevOptions) {
    this.#options = options
    this.#workerFile = chooseWorker(options.worker)
    this.log = lineLog(options.terminal, { name: 'duly', asJson: options.asJson }).info
    this.starters = [
      () => this.#checkPort(),
      () => this.#startPostgres(),
      (signal) => this.#startServer(signal),
      () => this.#startWorker(),
    ]
  }

  /** What runs where. */
  get facts(): DevFacts {
    const { env } = this.#options.terminal
    const postgres = this.#postgres?.current
    const worker = this.#worker?.current
    return {
      url: this.#node?.url ?? '',
      databaseUrl: this.#shownDatabaseUrl(postgres?.url),
      postgres: postgres
        ? {
            ...{ port: postgres.port, pid: postgres.pid, dataDir: postgres.dataDir },
            passwordFile: passwordFile(postgres.dataDir),
          }
        : null,
      worker: worker
        ? {
            file: relative('', this.#workerFile ?? ''),
            pid: worker.pid,
            mailDir: env.DULY_MAIL_DIR || join(this.#options.dataDir, 'mail'),
          }
        : null,
    }
  }

  /** Without a password: this goes to logs and screens. */
  #shownDatabaseUrl(embedded: string | undefined): string {
    const { server, config } = this.#options
    if (embedded === undefined) return server.describeConfig(config).DULY_DATABASE_URL ?? ''
    const url = new URL(embedded)
    url.password = ''
    return url.href
  }

  /** Ends at once the processes that are not ours alone to end. The database recovers at its next start. */
  kill(): void {
    this.#worker?.current.kill()
    if (this.#postgres && !this.#postgres.current.reused) process.kill(this.#postgres.current.pid, 'SIGQUIT')
  }

  /** First of all: who has to choose another port is told before a database is made. */
  async #checkPort(): Promise<undefined> {
    const { host, port } = this.#options.config
    if (port === 0) return
    const trial = createServer().listen({ host, port })
    await once(trial, 'listening')
    await new Promise((resolve) => trial.close(resolve))
  }

  async #startPostgres(): Promise<StopStep | undefined> {
    if (this.#options.config.databaseUrl !== '') return undefined
    const { dataDir } = this.#options
    const start = (before?: EmbeddedPostgres) => startPostgres({ dataDir, port: before?.port ?? 0, log: this.log })
    const kept = await keepRunning({ name: 'PostgreSQL', start, log: this.log })
    this.#postgres = kept
    return {
      name: 'PostgreSQL',
      stop: () => kept.stop(),
      told: () => (kept.current.owned ? 'stopped PostgreSQL' : 'left PostgreSQL running: another process started it'),
    }
  }

  async #startServer(signal: AbortSignal): Promise<StopStep> {
    const { server, config, terminal, asJson } = this.#options
    keepHeapSmall()
    const destination = asJson
      ? { write: (line: string) => terminal.err(line) }
      : readableLog(lineLog(terminal, { name: 'server', asJson }))
    const logger = server.createLogger({ level: config.logLevel, destination })
    const databaseUrl = this.#postgres?.current.url ?? config.databaseUrl
    const node = await server.startNode({ ...config, databaseUrl }, { logger, signal, isOpenKnown: true })
    this.#node = node
    return { name: 'the server', stop: () => node.stop() }
  }

  async #startWorker(): Promise<StopStep | undefined> {
    const file = this.#workerFile
    if (file === undefined) return undefined
    const { config, dataDir, terminal, asJson } = this.#options
    const env = {
      ...terminal.env,
      DULY_URL: this.#node?.url,
      DULY_DATA_DIR: resolve(dataDir),
      DULY_LOG_LEVEL: config.logLevel,
    }
    const kept = await keepRunning({
      name: 'the worker',
      start: () => startWorkerProcess(file, { env, asJson }),
      log: this.log,
      howEnded: (exit) =>
        Array.isArray(exit) && exit[0] === 0 ? 'has left, as a drained one does' : 'ended unexpectedly',
    })
    this.#worker = kept
    return { name: 'the worker', stop: () => kept.stop() }
  }
}

function chooseWorker(chosen: string | false | undefined): string | undefined {
  if (typeof chosen === 'string') {
    if (existsSync(chosen)) return resolve(chosen)
    throw new CliError('usage', `--worker: the file ${chosen} does not exist`)
  }
  return chosen === undefined && existsSync(EXAMPLE_WORKER) ? EXAMPLE_WORKER : undefined
}
