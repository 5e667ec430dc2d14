import { CronDuty, idleMs } from '../../cron/cron-duty.js'
import { CronTasks } from '../../cron/cron-tasks.js'
import { type Fired, Firer } from '../../cron/firer.js'
import { Trigger } from '../../cron/trigger.js'
import { ZoneData } from '../../cron/zone-data.js'
import type { Names } from '../../intake/names.js'
import type { Duties } from '../duties.js'
import type { Ground } from './ground.js'
import type { TaskParts } from './tasks.js'

export interface CronParts extends TaskParts {
  readonly names: Names
  readonly duties: () => Duties
  /** The version of the runtime's rules of time zones. */
  readonly timeZoneData: string
}

/** Definitions of one transaction: some 50 ms of work, so that what is due together drains in order and nobody waits long. */
const batch = 200

/** What a node has of recurring tasks: the service of the API, the duty that fires them, and the one that keeps their times right. */
export interface MadeCron {
  readonly cron: CronTasks
  readonly cronDuty: CronDuty
  readonly zoneData: ZoneData
}

export function makeCron(ground: Ground, parts: CronParts): MadeCron {
  const { config, membership, stores, clock, metrics, log, storeNowMs } = ground
  const { observers, signals, names, duties } = parts
  const { database, minter } = membership
  const shared = { database, store: stores.firings, intake: stores.intake, minter }
  const firer = new Firer({
    ...shared,
    clock,
    batch,
    onFired: (fired) => tell(ground, { ...parts, duty: cronDuty }, fired),
  })
  const cronDuty: CronDuty = new CronDuty({ firer, store: stores.firings, batch, onUnblocked: observers.promoted })
  const trigger = new Trigger({
    ...shared,
    // most connections stay with what is not done by hand
    atOnce: Math.max(1, Math.floor(config.hotConnections / 5)),
    onTriggered: (row, placed) => {
      metrics.cronFirings('triggered', 1)
      observers.committed([row], [placed], null)
    },
  })
  const onScheduled = (wakeAtMs: number): void => {
    if (cronDuty.isSooner(wakeAtMs)) duties().cron?.wake()
    if (wakeAtMs - storeNowMs() < idleMs) signals.publishCron()
  }
  const cron = new CronTasks({
    ...{ store: stores.cron, trigger, minter, partitions: config.partitions, storeNowMs, limit: config.cronTasksMax },
    ensureNames: (template) => names.ensure([template]),
    onScheduled,
  })
  const zoneData = new ZoneData({
    ...{ store: stores.zones, log, node: membership.id, own: parts.timeZoneData, batch, onScheduled },
    renews: config.roles.includes('scheduler'),
  })
  return { cron, cronDuty, zoneData }
}

/** Lanes that have work now, ends and cancellations, figures, and what could not be evaluated. */
function tell(
  { metrics, log }: Ground,
  { observers, signals, dispatch, duty }: CronParts & { readonly duty: CronDuty },
  fired: Fired,
): void {
  duty.fired(fired)
  for (const { outcome } of fired.firings) metrics.cronFirings(outcome, 1)
  for (const ms of fired.latenessMs) metrics.cronLateness(ms)
  if (fired.errors.length > 0) metrics.cronErrors(fired.errors.length)
  for (const { due, error } of fired.errors) {
    // once, not at each look
    if (due.error === error) continue
    log.warn({ cron: due.id, name: due.name, tenant: due.tenant, error }, 'a recurring task cannot be evaluated')
  }
  observers.committed(fired.rows, fired.placed, null)
  if (fired.cancelled.length > 0) observers.cancelled(fired.cancelled)
  for (const { session } of fired.stopping.filter(({ isNew }) => isNew)) {
    dispatch.sessions.wake(session)
    signals.publish('session', session)
  }
}
