import type { Attempts } from '../../dispatch/attempts.js'
import type { Dispatcher } from '../../dispatch/dispatcher.js'
import { Promoter } from '../../timers/promoter.js'
import { Retention } from '../../upkeep/retention/retention.js'
import { Watchdog } from '../../upkeep/watchdog.js'
import type { Observers } from '../observers.js'
import type { Ground } from './ground.js'

export interface UpkeepParts {
  readonly observers: Observers
  readonly dispatcher: Dispatcher
  readonly attempts: Attempts
}

/** What promotes what is due, takes back what was lost, and removes what is old. */
export function makeUpkeep(ground: Ground, { observers, dispatcher, attempts }: UpkeepParts) {
  const { config, stores, clock, log, random, metrics, partitions, storeNowMs } = ground
  const promoter = new Promoter({
    store: stores.timers,
    clock,
    storeNowMs,
    partitions,
    reserve: (task) => dispatcher.reserve(task),
    onReady: observers.promoted,
    onExpired: observers.cancelled,
  })
  const watchdog = new Watchdog({
    store: stores.watch,
    attemptStore: stores.attempts,
    attempts,
    random,
    log,
    maxCrashes: config.maxCrashes,
    partitions,
    batch: 500,
    onLost: (tasks) => metrics.leasesLost(tasks),
    onTimedOut: (taskType) => metrics.taskTimedOut(taskType),
  })
  return { promoter, watchdog, retention: makeRetention(ground) }
}

function makeRetention({ config, clock, log, metrics }: Ground): Retention {
  return new Retention({
    url: config.databaseUrl,
    clock,
    log,
    days: config.retentionDays,
    share: 0.25,
    batch: 1_000,
    few: 1_000,
    listener: {
      removed: (kind, rows) => metrics.retentionRemoved(kind, rows),
      swap: (landed, ms) => metrics.retentionSwap(landed, ms),
      pass: (pass) => metrics.retentionPass(pass),
    },
  })
}
