import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { cleanUpLater } from '../support/clean-up.js'
import { createDatabase } from '../support/database.js'
import { startServer, startWorker, type TestServer } from '../support/processes.js'
import type { TestProcess } from '../support/test-process.js'
import { check, type Evidence } from './checker/check.js'
import type { Call } from './checker/client-log.js'
import type { Finding } from './checker/finding.js'
import { type HandlerRecord, readHandlerLog } from './checker/handler-log.js'
import { checkInvariants } from './checker/invariants.js'

const WORKER_FILE = fileURLToPath(new URL('./worker.mjs', import.meta.url))
/** Nothing has ended for so long while something is open: it is stuck. Leases, retries, delays and time limits of a load are shorter. */
const STUCK_MS = 120_000
/** Counters are written once a second; the rest is for a machine that has other things to do. */
const QUIET_LIMIT_MS = 120_000

const LEFT = `select (select count(*)::int from open_tasks) as open, (select count(*)::int from outcomes) as ended,
  (select count(*)::int from bulk_operations where status = 'RUNNING') as operations`

/** `npm test` gives each fault 20 s; `npm run test:long` ten minutes, or as many seconds as DULY_FAULT_SECONDS says. */
export const isLong = process.env.DULY_LONG === '1'
export const faultMs = isLong ? Number(process.env.DULY_FAULT_SECONDS ?? 600) * 1_000 : 20_000
/** Room for start, drain and check around the faults. */
export const testLimitMs = faultMs + 420_000

export interface ScenarioOptions {
  /** A database of its own by default; one that the test stops and starts otherwise. */
  readonly databaseUrl?: string
  readonly serverEnv?: Readonly<Record<string, string>>
  /** One by default. */
  readonly servers?: number
  /** What one server has beside that. */
  readonly envOf?: (server: number) => Readonly<Record<string, string>>
}

/** Servers, any number of workers, the logs that they leave, and the checker at the end. */
export class Scenario {
  readonly databaseUrl: string
  readonly handlerLogFile: string
  /** Every process that was ever started here. */
  readonly processes: TestProcess[] = []
  readonly #envOf: (server: number) => Readonly<Record<string, string>>
  readonly #servers: TestServer[] = []

  private constructor(
    databaseUrl: string,
    folder: string,
    envOf: (server: number) => Readonly<Record<string, string>>,
  ) {
    this.databaseUrl = databaseUrl
    this.handlerLogFile = join(folder, 'handlers.jsonl')
    this.#envOf = envOf
  }

  /** Starts the servers on one store, one after the other, and waits until each is ready. */
  static async start(options: ScenarioOptions = {}): Promise<Scenario> {
    const { databaseUrl, serverEnv = {}, servers = 1, envOf = () => ({}) } = options
    const folder = await mkdtemp(join(tmpdir(), 'duly-chaos-'))
    cleanUpLater(() => rm(folder, { recursive: true, force: true }))
    const env = (server: number) => ({ ...serverEnv, ...envOf(server) })
    const scenario = new Scenario(databaseUrl ?? (await createDatabase()).url, folder, env)
    for (let index = 0; index < servers; index += 1) await scenario.restartServer(index)
    return scenario
  }

  /** The address of the first server. */
  get url(): string {
    return this.urlOf(0)
  }

  get server(): TestProcess {
    return this.serverAt(0)
  }

  get handlerLog(): readonly HandlerRecord[] {
    return readHandlerLog(this.handlerLogFile)
  }

  urlOf(index: number): string {
    return this.#serverOf(index).url
  }

  serverAt(index: number): TestProcess {
    return this.#serverOf(index).process
  }

  /** Starts a server again, on the same port, and waits until it is ready. */
  async restartServer(index = 0): Promise<void> {
    const before = this.#servers[index]
    const place = before ? { port: before.port } : {}
    const name = `server ${index}`
    const server = await startServer({ databaseUrl: this.databaseUrl, env: this.#envOf(index), name, ...place })
    this.#servers[index] = server
    this.processes.push(server.process)
  }

  /** @param url where it finds the server; a proxy perhaps */
  addWorker(env: Readonly<Record<string, string>> = {}, url = this.url): TestProcess {
    const worker = startWorker({ url, file: WORKER_FILE, env: { DULY_CHAOS_LOG: this.handlerLogFile, ...env } })
    this.processes.push(worker)
    return worker
  }

  /** Waits until a handler has written a line that fits; those written already count. */
  async untilHandler(fits: (record: HandlerRecord) => boolean, limitMs = 120_000): Promise<HandlerRecord> {
    const giveUpAt = performance.now() + limitMs
    for (;;) {
      const found = this.handlerLog.find(fits)
      if (found) return found
      if (performance.now() > giveUpAt)
        throw new Error(['no such handler line; the processes say:', ...this.#lastWords()].join('\n'))
      await delay(20)
    }
  }

  /** How many tasks are open. */
  readonly open = async (): Promise<number> => (await this.#left()).open

  /**
   * Waits until nothing is open and no operation is under way, so that the checker judges a store at rest: as long as anything ends, on a
   * machine of any speed. What is stuck is its finding.
   */
  async untilDrained(): Promise<void> {
    let [before, changedAt] = ['', performance.now()]
    while (performance.now() < changedAt + STUCK_MS) {
      const { open, operations, ended } = await this.#left()
      if (open + operations === 0) return
      const now = `${open} ${operations} ${ended}`
      if (now !== before) [before, changedAt] = [now, performance.now()]
      await delay(100)
    }
  }

  /** Drains, lets the store come to rest, and asks the checker. */
  async finish(
    clientLog: readonly Call[],
    workflows: Pick<Evidence, 'workflowLog' | 'launched'> = {},
  ): Promise<readonly Finding[]> {
    await this.untilDrained()
    await this.#untilQuiet()
    const findings = await check({
      clientLog,
      ...workflows,
      handlerLog: this.handlerLog,
      db: this.databaseUrl,
      processes: this.processes,
    })
    return findings
  }

  /** Waits until a query gives a row. */
  async untilRow(text: string, limitMs = 120_000): Promise<void> {
    const giveUpAt = performance.now() + limitMs
    while ((await this.query(text)).length === 0) {
      if (performance.now() > giveUpAt)
        throw new Error([`no row for ${text}; the processes say:`, ...this.#lastWords()].join('\n'))
      await delay(20)
    }
  }

  /** Runs one query on the store. */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const client = new pg.Client({ connectionString: this.databaseUrl })
    client.on('error', () => {}) // the store may be stopped under a question, which is refused then
    await client.connect()
    try {
      return (await client.query<Row>(text, [...values])).rows
    } finally {
      await client.end()
    }
  }

  #serverOf(index: number): TestServer {
    const server = this.#servers[index]
    if (!server) throw new Error(`there is no server ${index}`)
    return server
  }

  async #left(): Promise<{ readonly open: number; readonly operations: number; readonly ended: number }> {
    const [left] = await this.query<{ open: number; operations: number; ended: number }>(LEFT)
    if (!left) throw new Error('a count gave no row')
    return left
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
