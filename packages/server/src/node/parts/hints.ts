import type { KeyRing } from '../../access/key-ring.js'
import { Signals } from '../../coordination/signals.js'
import type { CronDuty } from '../../cron/cron-duty.js'
import type { Dispatcher } from '../../dispatch/dispatcher.js'
import type { Sessions } from '../../dispatch/sessions.js'
import type { DueTimer } from '../../store/timer-store.js'
import { isSoon, type Promoter } from '../../timers/promoter.js'
import type { Duties } from '../duties.js'
import { Observers } from '../observers.js'
import type { Ground } from './ground.js'

/** Whom hints reach. They are made of parts that give hints, so that they are asked for when one comes. */
export interface Reached {
  readonly sessions: Sessions
  readonly dispatcher: Dispatcher
  readonly promoter: Promoter
  readonly cronDuty: CronDuty
  readonly duties: Duties
}

/** Hints from other nodes, and what each of them wakes. */
export function makeSignals(ground: Ground, ring: KeyRing, reached: () => Reached): Signals {
  const { config, membership, clock, log, waiters, logWaiters, others } = ground
  return new Signals({
    database: membership.database,
    url: config.databaseUrl,
    nodeId: membership.id,
    clock,
    log,
    others: () => others.count,
    onHints: (hints) => {
      const { sessions, dispatcher, promoter, duties } = reached()
      if (hints.joined) duties.membership.wake()
      waiters.finished(hints.finished)
      logWaiters.written(hints.lines)
      logWaiters.followedElsewhere(hints.follow)
      endedTasks(reached(), hints.finished)
      for (const session of hints.session) sessions.wake(session)
      for (const session of hints.drain) sessions.drained(session)
      if (hints.ready.length > 0) void dispatcher.readyElsewhere(hints.ready).catch(() => {})
      if (hints.cron) duties.cron?.wake()
      if (hints.freed) duties.membership.wake()
      if (hints.timers === null) return
      promoter.lookFor(hints.timers)
      duties.timers?.wake()
    },
    onRevoked: (key) => ring.revoked(key),
    onConnected: () => {
      const { sessions, promoter, duties } = reached()
      ring.doubtAll()
      promoter.lookFor()
      duties.lookNow()
      void sessions.wakeCancelled().catch(() => {})
    },
  })
}

/** A task of a recurring one may wait for one of these ends. */
function endedTasks({ cronDuty, duties }: Reached, ids: readonly string[]): void {
  if (cronDuty.ended(ids)) duties.cron?.wake()
}

/** What this node's commits tell its own parts and, as hints, other nodes. */
export function makeObservers(ground: Ground, signals: Signals, reached: () => Reached): Observers {
  const { metrics, recorder, waiters, storeNowMs } = ground
  const addTimer = (timer: DueTimer): void => {
    const { duties, promoter } = reached()
    if (!promoter.leads(timer.partition)) {
      if (isSoon(timer, storeNowMs())) signals.publishTimer(timer.wakeAtMs)
    } else if (promoter.add(timer)) duties.timers?.wake()
  }
  return new Observers({
    ...{ metrics, recorder, waiters, signals, addTimer, storeNowMs },
    dispatcher: () => reached().dispatcher,
    onEnded: (ids) => endedTasks(reached(), ids),
  })
}
