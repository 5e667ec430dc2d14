import { randomFillSync } from 'node:crypto'
import { type Clock, DulyError, IdMinter } from '@duly/domain'
import { Database } from '../store/database.js'
import { migrate } from '../store/migrations.js'
import { NodeStore } from '../store/node-store.js'
import { StoreClock } from '../store/store-clock.js'
import type { Logger } from '../telemetry/logger.js'
import type { ServerConfig } from './config.js'

/** How long a starting node waits for its database before it gives up. */
const patienceMs = 60_000

/** A node's place in its deployment. */
export interface Membership {
  readonly database: Database
  readonly nodes: NodeStore
  readonly storeClock: StoreClock
  readonly minter: IdMinter
  readonly id: string
  readonly number: number
}

/** What a node joins with. */
export interface JoinParts {
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
  /** Ends the wait for a database that cannot be reached. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Connects, migrates, learns the store's clock and takes a number among the nodes. Waits up to {@link patienceMs} for a
 * database that cannot be reached yet; when the signal aborts meanwhile, it rejects with the signal's reason at once.
 */
export async function joinDeployment(config: ServerConfig, parts: JoinParts): Promise<Membership> {
  const { clock, log, version, signal } = parts
  if (config.databaseUrl === '') {
    const detail =
      'No database is configured: set DULY_DATABASE_URL (or --database-url), or use `duly dev`, which brings its own.'
    throw new DulyError('invalid_request', detail)
  }
  await patiently(parts, () => migrate(config.databaseUrl, { log: (line) => log.info(line) }))
  signal?.throwIfAborted()
  const database = new Database({
    url: config.databaseUrl,
    hotConnections: config.hotConnections,
    generalConnections: config.generalConnections,
    applicationName: 'duly',
    statementTimeoutMs: config.statementTimeoutMs,
    onError: (error) => log.debug({ err: error }, 'an idle database connection broke'),
  })
  try {
    const nodes = new NodeStore(database)
    const storeClock = new StoreClock(database, clock)
    await storeClock.sync()
    await checkPartitions(nodes, config.partitions)
    const { partitions } = config
    const minter = new IdMinter({
      nowMs: () => storeClock.nowMs(),
      random: (bytes) => void randomFillSync(bytes),
      partitions,
    })
    const id = minter.mint()
    return {
      database,
      nodes,
      storeClock,
      minter,
      id,
      number: await nodes.join(id, config.roles, version, config.retentionDays),
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** The number of partitions is part of every id: it can't change under a deployment. */
async function checkPartitions(nodes: NodeStore, partitions: number): Promise<void> {
  const stored = await nodes.fact('partitions', String(partitions))
  if (stored === String(partitions)) return
  throw new DulyError(
    'invalid_request',
    `This deployment has ${stored} partitions, not ${partitions}: set DULY_PARTITIONS=${stored}.`,
  )
}

/** Tries until it succeeds, the patience ends or the signal aborts. The wait is told once: each try would say the same. */
async function patiently({ clock, log, signal }: JoinParts, work: () => Promise<unknown>): Promise<void> {
  const beganMs = clock.monotonicMs()
  let isTold = false
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
    signal?.throwIfAborted()
    try {
      await unlessAborted(work(), signal)
      return
    } catch (error) {
      signal?.throwIfAborted()
      if (!isPassing(error) || clock.monotonicMs() - beganMs > patienceMs) throw error
      if (!isTold) log.warn({ why: reasonOf(error) }, 'the database cannot be reached yet; trying again for a minute')
      isTold = true
      await clock.sleep(pauseMs, signal)
    }
  }
}

/** The work's outcome, or the signal's reason as soon as it aborts: a connection may hang long on a silent address. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Where every address of a name refused, the error has a code but no words. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message || ('code' in error ? String(error.code) : error.name)
}

/** A database that starts, restarts or is full for a moment; wrong passwords and names do not pass. */
function isPassing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return (
    /^(ECONN|ETIMEDOUT|EAI_AGAIN|ENOENT|57P0|53|08)/.test(code) ||
    /terminated unexpectedly|timeout expired/.test(String(error))
  )
}
