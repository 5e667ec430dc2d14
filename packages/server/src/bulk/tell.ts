import type { Lane, Uuid } from '@duly/domain'
import type { EndedTask } from '../model.js'
import type { BulkEffects } from '../store/bulk-store.js'

/** Who wants to know what an operation on many tasks did. */
export interface BulkListener {
  /** Tasks that ended while they waited. */
  readonly onCancelled: (tasks: readonly EndedTask[]) => void
  /** Running attempts of this session were marked: its worker must be told at once. */
  readonly onCancelRequested: (session: Uuid) => void
  readonly onReady: (lane: Lane) => void
  /** An operation has ended; somebody may wait for that. */
  readonly onEnded: (id: Uuid) => void
}

/** Tells each lane and each session once. */
export function tellEffects(listener: BulkListener, { cancelled, marked, replayed }: BulkEffects): void {
  if (cancelled.length > 0) listener.onCancelled(cancelled)
  for (const session of new Set(marked)) listener.onCancelRequested(session)
  const lanes = new Map(
    replayed.map(({ queue, priority, tenant, gate }) => [
      [queue, priority, tenant, gate].join(' '),
      { queue, priority, tenant, gate },
    ]),
  )
  for (const lane of lanes.values()) listener.onReady(lane)
}
