import { systemClock, type Uuid } from '@duly/domain'
import pg from 'pg'
import { assemble, type NodeParts } from '../node/assemble.js'
import { resolveConfig, type ServerConfig } from '../node/config.js'
import { joinDeployment } from '../node/join.js'
import { stopNode } from '../node/stop-node.js'
import { version } from '../node/version.js'
import { createLogger, type LogLevel } from '../telemetry/logger.js'
import { LostWorkers } from './lost-workers.js'
import { OrderedIds } from './ordered-ids.js'
import { StoreTime } from './store-time.js'
import { TimeLapse } from './time-lapse.js'
import { ToldClock } from './told-clock.js'

export interface VirtualNodeOptions {
  /** An empty database of the test's own: its time is changed for ever. */
  readonly databaseUrl: string
  /** The first instant. */
  readonly at: Date
  /** Finished tasks go so many days after their end, each midnight; null: nothing ever goes. */
  readonly retentionDays: number | null
  readonly logLevel: LogLevel
}

/** A whole node, all roles, in this process, on a store whose time stands still until it is told to pass. */
export interface VirtualNode {
  readonly url: string
  readonly time: TimeLapse
  /** Hears no more of this worker, which is not told either; its lease ends when it would end now. Rejects when it is not there. */
  lose(session: Uuid): Promise<void>
  stop(): Promise<void>
}

/** While the node joins, the store's time stands still. */
const stillClock = { ...systemClock, monotonicMs: () => 0 }

/** Duties that go by days and by minutes: the time lapse does them when their time has come. */
const stepped: ReadonlySet<string> = new Set(['store clock', 'days', 'retention', 'stats', 'sums of stats'])

/**
 * Starts the engine as it is in production, but for three things: its database tells a time of its own, its ids increase from
 * one to the next, and what it does once in a while it does when the time lapse says so.
 */
export async function startVirtualNode(options: VirtualNodeOptions): Promise<VirtualNode> {
  await checkEmpty(options.databaseUrl)
  const storeTime = await StoreTime.install(options.databaseUrl, { at: options.at })
  try {
    return await startOn(storeTime, options)
  } catch (error) {
    await storeTime.close()
    throw error
  }
}

async function startOn(storeTime: StoreTime, options: VirtualNodeOptions): Promise<VirtualNode> {
  const config = configOf(options)
  const log = createLogger({ level: config.logLevel })
  const membership = await joinDeployment(config, { clock: stillClock, log, version })
  const storeClock = new ToldClock(membership.database, membership.storeClock.nowMs())
  const minter = new OrderedIds(() => storeClock.nowMs())
  const parts = assemble(config, { ...membership, storeClock, minter }, log)
  const time = new TimeLapse({ storeTime, storeClock, parts, hasRetention: options.retentionDays !== null })
  const lost = new LostWorkers(parts.api)
  const lose = async (session: Uuid): Promise<void> => {
    if (!(await storeTime.lose(session))) throw new Error('This worker is not connected to this server.')
    lost.add(session)
  }
  const stopParts = () => stopNode(parts, { clock: systemClock, drainMs: config.drainMs })
  try {
    startDuties(parts)
    const url = await parts.api.listen({ host: config.host, port: config.port })
    const stop = async (): Promise<void> => {
      time.close()
      await stopParts()
      await storeTime.close()
    }
    return { url, time, lose, stop }
  } catch (error) {
    await stopParts()
    throw error
  }
}

/** It would be spoilt for anything else. */
async function checkEmpty(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client
    .query(`select 1 from pg_tables where schemaname not in ('pg_catalog', 'information_schema') limit 1`)
    .finally(() => client.end())
  if (rows.length > 0) throw new Error('The database of a test server has to be empty: make a new one for each.')
}

function startDuties({ duties }: NodeParts): void {
  for (const duty of duties.all) if (!stepped.has(duty.name)) duty.start()
}

function configOf({ databaseUrl, retentionDays, logLevel }: VirtualNodeOptions): ServerConfig {
  const flags = { databaseUrl, logLevel, host: '127.0.0.1', port: 0, open: true, partitions: 1, drainSeconds: 2 }
  return resolveConfig({ flags: { ...flags, drainDelaySeconds: 0, retentionDays: retentionDays ?? 3_650 } })
}
