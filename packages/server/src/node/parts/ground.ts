import type { Clock } from '@duly/domain'
import { Recorder } from '../../stats/recorder.js'
import { LogWaiters } from '../../tasks/log-waiters.js'
import { Waiters } from '../../tasks/waiters.js'
import type { Logger } from '../../telemetry/logger.js'
import { createMetrics, type Metrics } from '../../telemetry/metrics.js'
import type { ServerConfig } from '../config.js'
import type { Membership } from '../join.js'
import { makeStores, type Stores } from '../stores.js'

export interface NodeSetup {
  readonly config: ServerConfig
  readonly membership: Membership
  readonly clock: Clock
  readonly log: Logger
}

/** What all parts of a node are made on. */
export interface Ground extends NodeSetup {
  readonly stores: Stores
  readonly metrics: Metrics
  readonly waiters: Waiters
  readonly logWaiters: LogWaiters
  readonly recorder: Recorder
  readonly storeNowMs: () => number
  readonly random: () => number
  /** The deployment's other nodes, as they were last counted. */
  readonly others: { count: number }
}

export function makeGround(setup: NodeSetup): Ground {
  const { config, membership } = setup
  const { database, storeClock, id, number } = membership
  const stores = makeStores(database, { nodeNumber: number, graceMs: config.graceMs, node: id })
  return {
    ...setup,
    stores,
    metrics: createMetrics(),
    waiters: new Waiters(),
    logWaiters: new LogWaiters(setup.clock),
    recorder: new Recorder({ store: stores.stats, storeNowMs: () => storeClock.knownMs() }),
    storeNowMs: () => storeClock.nowMs(),
    random: Math.random,
    // until it has counted: a hint too many costs a statement, one too few some seconds
    others: { count: 1 },
  }
}
