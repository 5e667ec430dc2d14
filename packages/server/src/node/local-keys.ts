import { randomFillSync } from 'node:crypto'
import { DulyError, IdMinter, systemClock } from '@duly/domain'
import type { Keys } from '../access/keys.js'
import { Database } from '../store/database.js'
import { KeyStore } from '../store/key-store.js'
import { migrationStatus } from '../store/migrations.js'
import { StoreClock } from '../store/store-clock.js'
import { createLogger } from '../telemetry/logger.js'
import { makeAccess } from './make-access.js'

/**
 * Makes, lists and revokes API keys straight in the database, without a node: whoever can read and write that needs no key. So the
 * first key of a deployment is made.
 * @throws DulyError `invalid_request` when the database is not up to date; it is not migrated here, beside nodes that may run
 */
export async function withKeysOf<T>(databaseUrl: string, work: (keys: Keys) => Promise<T>): Promise<T> {
  const migrations = await migrationStatus(databaseUrl)
  if (migrations.some(({ state }) => state !== 'applied')) {
    throw new DulyError('invalid_request', 'The database is not up to date: run `duly migrate` first.')
  }
  const database = new Database({
    url: databaseUrl,
    hotConnections: 1,
    generalConnections: 1,
    applicationName: 'duly key',
    statementTimeoutMs: 15_000,
    onError: () => {},
  })
  try {
    return await work(await keysOf(database))
  } finally {
    await database.close()
  }
}

async function keysOf(database: Database): Promise<Keys> {
  const clock = systemClock
  const storeClock = new StoreClock(database, clock)
  await storeClock.sync()
  const storeNowMs = (): number => storeClock.nowMs()
  const minter = new IdMinter({ nowMs: storeNowMs, random: (bytes) => void randomFillSync(bytes), partitions: 1 })
  const store = new KeyStore(database, null)
  return makeAccess({ store, clock, storeNowMs, mint: () => minter.mint(), log: createLogger({ level: 'silent' }) })
    .keys
}
