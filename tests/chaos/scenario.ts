import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { cleanUpLater } from '../support/clean-up.js'
import { createDatabase } from '../support/database.js'
import { startServer, startWorker, type TestServer, untilReady } from '../support/processes.js'
import type { TestProcess } from '../support/test-process.js'
import { check } from './checker/check.js'
import type { Call } from './checker/client-log.js'
import type { Finding } from './checker/finding.js'
import { type HandlerRecord, readHandlerLog } from './checker/handler-log.js'
import { checkInvariants } from './checker/invariants.js'

const WORKER_FILE = fileURLToPath(new URL('./worker.mjs', import.meta.url))
const DRAIN_LIMIT_MS = 60_000
/** Counters are written once a second; twice that is quiet enough for all. */
const QUIET_LIMIT_MS = 5_000

/** `npm test` gives each fault 20 s; `npm run test:long` ten minutes. */
export const isLong = process.env.DULY_LONG === '1'
export const faultMs = isLong ? 600_000 : 20_000
/** Room for start, drain and check around the faults. */
export const testLimitMs = faultMs + 150_000

export interface ScenarioOptions {
  /** A database of its own by default; one that the test stops and starts otherwise. */
  readonly databaseUrl?: string
  readonly serverEnv?: Readonly<Record<string, string>>
}

/** One server, any number of workers, the logs that they leave, and the checker at the end. */
export class Scenario {
  readonly databaseUrl: string
  readonly handlerLogFile: string
  /** Every process that was ever started here. */
  readonly processes: TestProcess[] = []
  readonly #serverEnv: Readonly<Record<string, string>>
  #server: TestServer

  private constructor(parts: {
    databaseUrl: string
    folder: string
    server: TestServer
    serverEnv: Readonly<Record<string, string>>
  }) {
    this.databaseUrl = parts.databaseUrl
    this.handlerLogFile = join(parts.folder, 'handlers.jsonl')
    this.#server = parts.server
    this.#serverEnv = parts.serverEnv
    this.processes.push(parts.server.process)
  }

  static async start({ databaseUrl, serverEnv = {} }: ScenarioOptions = {}): Promise<Scenario> {
    const folder = await mkdtemp(join(tmpdir(), 'duly-chaos-'))
    cleanUpLater(() => rm(folder, { recursive: true, force: true }))
    const url = databaseUrl ?? (await createDatabase()).url
    const server = await startServer({ databaseUrl: url, env: serverEnv })
    return new Scenario({ databaseUrl: url, folder, server, serverEnv })
  }

  get url(): string {
    return this.#server.url
  }

  get server(): TestProcess {
    return this.#server.process
  }

  get handlerLog(): readonly HandlerRecord[] {
    return readHandlerLog(this.handlerLogFile)
  }

  /** Starts the server again, on the same port, and waits until it is ready. */
  async restartServer(): Promise<void> {
    this.#server = await startServer({ databaseUrl: this.databaseUrl, port: this.#server.port, env: this.#serverEnv })
    this.processes.push(this.#server.process)
  }

  untilReady(limitMs?: number): Promise<void> {
    return untilReady(this.server, this.url, limitMs)
  }

  /** @param url where it finds the server; a proxy perhaps */
  addWorker(env: Readonly<Record<string, string>> = {}, url = this.url): TestProcess {
    const worker = startWorker({ url, file: WORKER_FILE, env: { DULY_CHAOS_LOG: this.handlerLogFile, ...env } })
    this.processes.push(worker)
    return worker
  }

  /** Waits until a handler has written a line that fits; those written already count. */
  async untilHandler(fits: (record: HandlerRecord) => boolean, limitMs = 30_000): Promise<HandlerRecord> {
    const giveUpAt = performance.now() + limitMs
    for (;;) {
      const found = this.handlerLog.find(fits)
      if (found) return found
      if (performance.now() > giveUpAt)
        throw new Error(['no such handler line; the processes say:', ...this.#lastWords()].join('\n'))
      await delay(20)
    }
  }

  /** Waits until nothing is open, so that the checker judges a store at rest; what never ends is its finding. */
  async untilDrained(limitMs = DRAIN_LIMIT_MS): Promise<void> {
    await this.#untilNone('select count(*)::int as left from open_tasks', limitMs)
  }

  /** Drains, lets the store come to rest, and asks the checker. */
  async finish(clientLog: readonly Call[]): Promise<readonly Finding[]> {
    await this.untilDrained()
    await this.#untilQuiet()
    const findings = await check({
      clientLog,
      handlerLog: this.handlerLog,
      db: this.databaseUrl,
      processes: this.processes,
    })
    return findings
  }

  /** Runs one query on the store. */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const client = new pg.Client({ connectionString: this.databaseUrl })
    await client.connect()
    try {
      return (await client.query<Row>(text, [...values])).rows
    } finally {
      await client.end()
    }
  }

  async #untilNone(text: string, limitMs: number): Promise<void> {
    const giveUpAt = performance.now() + limitMs
    while (performance.now() < giveUpAt) {
      const [row] = await this.query<{ left: number }>(text)
      if (row?.left === 0) return
      await delay(100)
    }
  }

  async #untilQuiet(): Promise<void> {
    const client = new pg.Client({ connectionString: this.databaseUrl })
    await client.connect()
    const giveUpAt = performance.now() + QUIET_LIMIT_MS
    while ((await checkInvariants(client)).length > 0 && performance.now() < giveUpAt) await delay(100)
    await client.end()
  }

  #lastWords(): readonly string[] {
    return this.processes.map((each) => each.describe(each.isRunning ? 'runs' : 'has ended'))
  }
}
