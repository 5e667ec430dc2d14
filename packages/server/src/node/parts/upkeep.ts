import { encodeId } from '@duly/domain'
import type { Leadership } from '../../coordination/leadership.js'
import type { Attempts } from '../../dispatch/attempts.js'
import type { Dispatcher } from '../../dispatch/dispatcher.js'
import { Promoter } from '../../timers/promoter.js'
import { Retention } from '../../upkeep/retention/retention.js'
import { Watchdog } from '../../upkeep/watchdog.js'
import type { NodeEnds } from '../../workflows/node-ends.js'
import type { Observers } from '../observers.js'
import type { Ground } from './ground.js'

export interface UpkeepParts {
  readonly observers: Observers
  readonly dispatcher: Dispatcher
  readonly attempts: Attempts
  readonly nodeEnds: NodeEnds
  /** Null without the role of a scheduler; asked for when it is needed, since it tells of what it gains. */
  readonly leadership: () => Leadership | null
}

/** What promotes what is due, takes back what was lost, and removes what is old. */
export function makeUpkeep(ground: Ground, { observers, dispatcher, attempts, nodeEnds, leadership }: UpkeepParts) {
  const { config, stores, clock, log, random, metrics, storeNowMs } = ground
  const promoter = new Promoter({
    store: stores.timers,
    clock,
    storeNowMs,
    partitions: config.partitions,
    led: () => leadership()?.led() ?? new Map(),
    reserve: (task) => dispatcher.reserve(task),
    onReady: observers.promoted,
    onExpired: observers.cancelled,
    expireNodes: (ids) => nodeEnds.expire(ids),
    onLate: (latenessMs) => metrics.promoted(latenessMs),
    onRefused: ({ id, queue }, error) =>
      log.error(
        { task: encodeId('task', id), queue, err: error },
        'the store refuses to promote a task; it is tried again',
      ),
  })
  const watchdog = new Watchdog({
    store: stores.watch,
    attemptStore: stores.attempts,
    attempts,
    random,
    log,
    maxCrashes: config.maxCrashes,
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
