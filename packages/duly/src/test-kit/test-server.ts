import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeId } from '@duly/domain'
import { Duly, type Duration, toMs, type Worker } from '@duly/sdk'
import { checkOptions, namesOf } from '@duly/sdk/names'
import { startVirtualNode, type VirtualNode } from '@duly/server/testing'
import { type EmbeddedPostgres, startPostgres } from '../postgres/index.js'

export interface TestServerOptions {
  /** Where time stands at first; 2026-01-01T00:00:00Z unless given. */
  readonly at?: Date | string
  /**
   * An empty database in place of an embedded PostgreSQL of its own, which takes a second or two to start. It is the test
   * server's from then on: its clock is replaced for ever. Dropping it is up to you.
   */
  readonly databaseUrl?: string
  /** Finished tasks go so many days after their end, as in production; unless given, nothing ever goes. */
  readonly retentionDays?: number
  /** How long, in real time, tasks that are due may take without one of them getting on, before `advance` rejects; 4 s unless given. */
  readonly patience?: Duration
  /** Least level of the server's log lines on stdout; `error` unless given. */
  readonly logLevel?: 'silent' | 'error' | 'warn' | 'info' | 'debug'
}

export interface AdvanceOptions {
  /** In place of the server's. */
  readonly patience?: Duration
}

/** A Duly for tests: the whole engine in this process, on a time that stands still until the test lets it pass. */
export interface TestServer {
  /** `http://127.0.0.1:<port>`; it asks for no API key. */
  readonly url: string
  /** A client of it, for submissions and workers; closed by `stop`. */
  readonly client: Duly
  /** The present instant. It passes by `advance` alone; handlers see it too. */
  now(): Date
  /**
   * Lets so much time pass. It goes from one instant at which something is due to the next: start times, fire times of
   * recurring tasks, retries, snoozes, expiries. At each, handlers of connected workers run and report, and what they submit for a time before the end is run on
   * its turn. Resolves with the new present when all that was due by then has come to rest; tasks that no connected worker
   * serves rest where they are. Time in between is skipped: a year without anything to do takes no longer than a second.
   * Workers stay alive, however far time leaps. Calls run one after the other.
   *
   * @throws RestlessError that names the tasks which did not come to rest; time stands at the instant at which they are due
   */
  advance(duration: Duration, options?: AdvanceOptions): Promise<Date>
  /** As `advance`, up to an instant; one that has passed only runs what is due. */
  advanceTo(instant: Date | string, options?: AdvanceOptions): Promise<Date>
  /** Runs what is due now, without letting time pass. As `advance` otherwise. */
  runUntilIdle(options?: AdvanceOptions): Promise<void>
  /**
   * Lets a worker be gone as if its machine had lost power: the server hears nothing of it any more. What it holds stays RUNNING until
   * its lease is over (15 s; three of its heartbeats, if it was given one), by `advance`; then it is a lost attempt, and waits for another worker. The worker itself is
   * stopped, its handlers' signals abort, and what they still do reaches nobody.
   *
   * @throws Error when the worker is not connected to this server
   */
  loseWorker(worker: Worker): Promise<void>
  /** Stops server and database, and removes its files. Stop your workers first. */
  stop(): Promise<void>
}

const optionNames = namesOf<TestServerOptions>({
  ...{ at: true, databaseUrl: true, retentionDays: true, patience: true, logLevel: true },
})

const defaultAt = '2026-01-01T00:00:00Z'
const defaultPatience = '4s'

/**
 * Starts a Duly for tests on a free port. One for all tests of a file is usual: it takes some seconds to start.
 *
 * @throws TypeError for an option that there is not; RangeError when one is wrong; EmbeddedPostgresError; Error when the database is not empty
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  checkOptions('startTestServer', options, { names: optionNames })
  const at = instantOf(options.at ?? defaultAt)
  const patience = options.patience ?? defaultPatience
  toMs(patience)
  const place = await openDatabase(options.databaseUrl)
  try {
    const { retentionDays = null, logLevel = 'error' } = options
    const node = await startVirtualNode({ databaseUrl: place.url, at, retentionDays, logLevel })
    return serverOf(node, { patience, closeDatabase: place.close })
  } catch (error) {
    await place.close()
    throw error
  }
}

interface ServerParts {
  readonly patience: Duration
  readonly closeDatabase: () => Promise<void>
}

function serverOf(node: VirtualNode, { patience, closeDatabase }: ServerParts): TestServer {
  const { url, time } = node
  const client = new Duly({ url })
  const now = () => new Date(time.nowMs)
  const patienceOf = (options: AdvanceOptions) => ({ patienceMs: toMs(options.patience ?? patience) })
  let stopped: Promise<void> | null = null
  const stop = async () => {
    client.close()
    await node.stop().finally(closeDatabase)
  }
  return {
    ...{ url, client, now },
    async advance(duration, options = {}) {
      const ms = toMs(duration)
      await time.passTo((nowMs) => nowMs + ms, patienceOf(options))
      return now()
    },
    async advanceTo(instant, options = {}) {
      const target = instantOf(instant).getTime()
      await time.passTo(() => target, patienceOf(options))
      return now()
    },
    async loseWorker(worker) {
      const { workerId } = worker
      if (workerId === null) throw new Error('This worker is not connected: start it first.')
      await node.lose(decodeId('worker', workerId))
      await worker.stop({ graceMs: 0 })
    },
    runUntilIdle: (options = {}) => time.settle(patienceOf(options)),
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

interface TestDatabase {
  readonly url: string
  close(): Promise<void>
}

async function openDatabase(url: string | undefined): Promise<TestDatabase> {
  if (url !== undefined) return { url, close: async () => {} }
  const dataDir = join(tmpdir(), `duly-test-${randomUUID()}`)
  const postgres = await startPostgres({ dataDir })
  return { url: postgres.url, close: () => removeDatabase(postgres, dataDir) }
}

/** Nothing of it is wanted any more: it need not be written out. */
async function removeDatabase(postgres: EmbeddedPostgres, wanted: string): Promise<void> {
  await postgres.stop('immediate')
  for (const folder of new Set([postgres.dataDir, wanted])) await rm(folder, { recursive: true, force: true })
}

function instantOf(given: Date | string): Date {
  const instant = new Date(given)
  if (Number.isNaN(instant.getTime()))
    throw new RangeError(`not an instant: ${given} (write it like 2026-01-01T00:00:00Z)`)
  return instant
}
