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

/** Connects, migrates, learns the store's clock and takes a number among the nodes. */
export async function joinDeployment(
  config: ServerConfig,
  parts: { clock: Clock; log: Logger; version: string },
): Promise<Membership> {
  const { clock, log, version } = parts
  if (config.databaseUrl === '') {
    const detail =
      'No database is configured: set DULY_DATABASE_URL (or --database-url), or use `duly dev`, which brings its own.'
    throw new DulyError('invalid_request', detail)
  }
  await patiently(clock, log, () => migrate(config.databaseUrl, { log: (line) => log.info(line) }))
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
    return { database, nodes, storeClock, minter, id, number: await nodes.join(id, config.roles, version) }
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

async function patiently(clock: Clock, log: Logger, work: () => Promise<unknown>): Promise<void> {
  const beganMs = clock.monotonicMs()
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
    try {
      await work()
      return
    } catch (error) {
      if (!isPassing(error) || clock.monotonicMs() - beganMs > patienceMs) throw error
      log.warn({ err: error }, 'the database cannot be reached yet; trying again')
      await clock.sleep(pauseMs)
    }
  }
}

/** A database that starts, restarts or is full for a moment; wrong passwords and names do not pass. */
function isPassing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return (
    /^(ECONN|ETIMEDOUT|EAI_AGAIN|ENOENT|57P0|53|08)/.test(code) ||
    /terminated unexpectedly|timeout expired/.test(String(error))
  )
}
