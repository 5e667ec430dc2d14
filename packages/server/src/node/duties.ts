import type { Clock } from '@duly/domain'
import pg from 'pg'
import type { KeyUses } from '../access/key-uses.js'
import { Duty } from '../base/duty.js'
import type { BulkRunner } from '../bulk/runner.js'
import type { Leadership } from '../coordination/leadership.js'
import type { CronDuty } from '../cron/cron-duty.js'
import type { ZoneData } from '../cron/zone-data.js'
import type { Dispatcher } from '../dispatch/dispatcher.js'
import type { Sessions } from '../dispatch/sessions.js'
import type { Recorder } from '../stats/recorder.js'
import type { Summer } from '../stats/summer.js'
import { ensureDays } from '../store/days.js'
import type { DeadLetterStore } from '../store/dead-letter-store.js'
import type { LogStore } from '../store/log-store.js'
import type { TaskStore } from '../store/task-store.js'
import type { LogWaiters } from '../tasks/log-waiters.js'
import type { Waiters } from '../tasks/waiters.js'
import type { Logger } from '../telemetry/logger.js'
import type { Promoter } from '../timers/promoter.js'
import type { Retention } from '../upkeep/retention/retention.js'
import type { Watchdog } from '../upkeep/watchdog.js'
import type { NodeEnds } from '../workflows/node-ends.js'
import type { ServerConfig } from './config.js'
import type { Membership } from './join.js'

export interface DutyParts {
  readonly config: ServerConfig
  readonly membership: Membership
  readonly clock: Clock
  readonly log: Logger
  readonly sessions: Sessions
  readonly dispatcher: Dispatcher
  readonly waiters: Waiters
  readonly logWaiters: LogWaiters
  readonly tasks: TaskStore
  readonly logs: LogStore
  readonly promoter: Promoter
  /** Null without the role of a scheduler. */
  readonly leadership: Leadership | null
  readonly cronDuty: CronDuty
  readonly zoneData: ZoneData
  readonly bulkRunner: BulkRunner
  readonly deadLetters: DeadLetterStore
  readonly watchdog: Watchdog
  readonly retention: Retention
  readonly keyUses: KeyUses
  readonly nodeEnds: NodeEnds
  readonly recorder: Recorder
  readonly summer: Summer
  readonly onOthers: (others: number) => void
  readonly others: () => number
}

export interface Duties {
  readonly timers: Duty | null
  /** Fires recurring tasks. */
  readonly cron: Duty | null
  /** Works at operations on many tasks. */
  readonly bulk: Duty | null
  /** Says that the node lives and counts the others; of a scheduler, leads and marks the store as well. */
  readonly membership: Duty
  readonly all: readonly Duty[]
  /** Looks for what the watchdog is to end. */
  readonly watchdog: Duty | null
  /** Passes on ends in workflows that were left to be passed on. */
  readonly workflows: Duty | null
  /** Looks at once for all that hints may have told of. */
  lookNow(): void
  start(): void
  stop(): Promise<void>
}

/** The background duties of a node, by its roles: an idle node sends some statements a second, whatever waits. */
export function makeDuties(parts: DutyParts): Duties {
  const { leadership } = parts
  const membership = leadership ? pulseDuty(parts, leadership) : memberDuty(parts)
  const looks = lookDuties(parts)
  const zones = duty(parts, 'time zones', 10_000, (signal) => parts.zoneData.runOnce(signal))
  const duties = [clockDuty(parts), membership, statsDuty(parts), zones, ...looks]
  const timers = leadership ? duty(parts, 'timers', 100, () => parts.promoter.runOnce()) : null
  const watchdog = leadership ? watchDuty(parts) : null
  const cron = leadership ? duty(parts, 'cron', 1_000, () => parts.cronDuty.runOnce()) : null
  const bulk = leadership ? duty(parts, 'bulk operations', 1_000, (signal) => parts.bulkRunner.runOnce(signal)) : null
  const workflows = leadership ? workflowDuty(parts) : null
  const own = [timers, watchdog, cron, bulk, workflows].filter((each) => each !== null)
  if (leadership) duties.push(...own, ...schedulerDuties(parts))
  return {
    timers,
    cron,
    bulk,
    membership,
    all: duties,
    watchdog,
    workflows,
    lookNow: () => {
      for (const each of [membership, ...looks]) each.wake()
      timers?.wake()
      cron?.wake()
      bulk?.wake()
    },
    start: () => {
      for (const each of duties) each.start()
    },
    stop: async () => {
      await Promise.all(duties.map((each) => each.stop()))
    },
  }
}

function duty(
  { clock, log }: DutyParts,
  name: string,
  retryMs: number,
  runOnce: (signal: AbortSignal) => Promise<number>,
): Duty {
  return new Duty({ name, clock, log, retryMs, runOnce })
}

function clockDuty(parts: DutyParts): Duty {
  return duty(parts, 'store clock', 1_000, async () => {
    await parts.membership.storeClock.sync()
    return 10_000
  })
}

function statsDuty(parts: DutyParts): Duty {
  return duty(parts, 'stats', 1_000, async () => {
    await parts.recorder.flush()
    return 5_000
  })
}

/** One statement a second that renews the node and its leadership, marks the store, and says what else there is to do. */
function pulseDuty(parts: DutyParts, leadership: Leadership): Duty {
  return duty(parts, 'pulse', 1_000, async () => {
    await leadership.runOnce()
    return 1_000
  })
}

/** Runs when the pulse says so; now and then in any case, since nothing rests on a hint alone (I3). */
function watchDuty({ watchdog, ...parts }: DutyParts): Duty {
  return duty({ ...parts, watchdog }, 'watchdog', 1_000, async () => ((await watchdog.act()) ? 0 : 60_000))
}

/** As the watchdog's: what is left over is passed on at once by the node that left it, so that this is for one that died. */
function workflowDuty({ nodeEnds, ...parts }: DutyParts): Duty {
  return duty({ ...parts, nodeEnds }, 'workflows', 1_000, async () => ((await nodeEnds.settle()) ? 0 : 60_000))
}

function memberDuty(parts: DutyParts): Duty {
  const { membership, onOthers, config } = parts
  return duty(parts, 'membership', 1_000, async () => {
    onOthers(await membership.nodes.seen(membership.id, membership.number, config.roles, config.retentionDays))
    return 2_000
  })
}

function lookDuties(parts: DutyParts): Duty[] {
  const { dispatcher, sessions, waiters, logWaiters, tasks, logs, keyUses, others } = parts
  return [
    duty(parts, 'slow look', 500, async () => {
      await dispatcher.look()
      await sessions.saveAcknowledgements()
      return 1_000
    }),
    duty(parts, 'waiters', 500, async () => {
      const { ids } = waiters
      if (ids.length > 0) waiters.finished(await tasks.finishedOf(ids))
      if (logWaiters.ids.length > 0) logWaiters.looked(await logs.written(logWaiters.ids))
      // alone, a node hears of everything by itself; this is for words that were lost
      return others() > 0 ? 250 : 2_000
    }),
    duty(parts, 'key uses', 5_000, async () => {
      await keyUses.save()
      return 5_000
    }),
  ]
}

function schedulerDuties(parts: DutyParts): Duty[] {
  const { retention, config, summer, deadLetters } = parts
  return [
    duty(parts, 'sums of stats', 10_000, async () => {
      await summer.runOnce()
      return 60_000
    }),
    duty(parts, 'days', 10_000, async () => {
      await makeDays(config.databaseUrl)
      return 3_600_000
    }),
    // what nodes of the version before buried: none, mostly
    duty(parts, 'dead letters', 60_000, async () => ((await deadLetters.fill(500)) ? 100 : 3_600_000)),
    duty(parts, 'retention', 60_000, (signal) => retention.runOnce(signal)),
  ]
}

async function makeDays(url: string): Promise<void> {
  const client = new pg.Client({
    ...{ connectionString: url, application_name: 'duly days', connectionTimeoutMillis: 5_000, query_timeout: 60_000 },
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await ensureDays(client)
  } finally {
    await client.end().catch(() => {})
  }
}
