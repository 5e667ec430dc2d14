import { encodeLease } from '@duly/domain'
import type { HeartbeatAnswer } from '../model.js'
import type { HeldLease } from '../store/session-store.js'
import type { SessionState } from './session-state.js'

/** What one session was told is remembered so far. */
const maxTold = 10_000

export interface Tidings {
  /** Something of it was not told before. */
  readonly isNews: boolean
  readonly answer: HeartbeatAnswer
}

/**
 * What a beat's answer says: of the leases that the worker named those which it has lost, of those that it holds those which
 * it shall cancel, and whether it shall drain.
 */
export function tell(state: SessionState, claimed: readonly string[], held: readonly HeldLease[]): Tidings {
  const leases = new Set(held.map(encodeLease))
  const lost = claimed.filter((lease) => !leases.has(lease))
  const cancel = held
    .filter((lease) => lease.cancelReason !== null)
    .map((lease) => ({ lease: encodeLease(lease), reason: lease.cancelReason ?? 'cancel_requested' }))
  if (state.told.size > maxTold) state.told.clear()
  const drain = state.isDraining ? ['drain'] : []
  let isNews = false
  for (const lease of [...drain, ...lost, ...cancel.map((entry) => entry.lease)]) {
    if (!state.told.has(lease)) isNews = true
    state.told.add(lease)
  }
  return { isNews, answer: { cancel, lost, drain: state.isDraining } }
}
