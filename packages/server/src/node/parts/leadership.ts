import type { Leadership } from '../../coordination/leadership.js'
import { RowLeadership, type Standing } from '../../coordination/row-leadership.js'
import type { Signals } from '../../coordination/signals.js'
import type { Promoter } from '../../timers/promoter.js'
import type { Watchdog } from '../../upkeep/watchdog.js'
import type { Duties } from '../duties.js'
import type { Ground } from './ground.js'

export interface LeadershipParts {
  readonly signals: Signals
  readonly promoter: Promoter
  readonly watchdog: Watchdog
  readonly duties: () => Duties
}

/** Who leads timer partitions, as far as this node is concerned; null for a node that is no scheduler. */
export function makeLeadership(ground: Ground, parts: LeadershipParts): Leadership | null {
  const { config, membership, stores, clock, metrics } = ground
  if (!config.roles.includes('scheduler')) return null
  const { signals, promoter, duties } = parts
  const leadership = new RowLeadership({
    ...{ node: membership.id, partitions: config.partitions, store: stores.leaders, clock },
    renew: () => pulse(ground, parts),
    onGained: () => {
      promoter.lookFor()
      duties().timers?.wake()
    },
    onFreed: () => signals.publishFreed(),
  })
  metrics.ask({ led: () => leadership.led().size })
  return leadership
}

/** The one write of a scheduler at rest. What it tells goes to whom it concerns. */
async function pulse({ config, membership, others }: Ground, parts: LeadershipParts): Promise<Standing> {
  const { id, number, nodes } = membership
  const marked = await parts.watchdog.mark(id)
  others.count = marked.others
  if (marked.isAwaited) parts.duties().watchdog?.wake()
  if (marked.isBulkAwaited) parts.duties().bulk?.wake()
  if (marked.isUnsettled) parts.duties().workflows?.wake()
  // forgotten while it was away
  if (!marked.isKnown) await nodes.seen(id, number, config.roles, config.retentionDays)
  return marked
}
