import type { Uuid } from '@duly/domain'
import type { SessionState } from './session-state.js'

/** One entry a free slot, one worker after the other, so that no worker takes all while others idle. */
export function spread(
  states: readonly { readonly row: Pick<SessionState['row'], 'id'>; readonly free: number }[],
  limit: number,
): Uuid[] {
  const slots: Uuid[] = []
  let open = states.map((state) => ({ id: state.row.id, free: state.free })).filter((entry) => entry.free > 0)
  for (; open.length > 0 && slots.length < limit; open = open.filter((entry) => entry.free > 0)) {
    for (const entry of open) {
      if (slots.length === limit) break
      slots.push(entry.id)
      entry.free--
    }
  }
  return slots
}

/** How often each session occurs. */
export function countBySession(takes: Iterable<{ readonly sessions: readonly Uuid[] }>): Map<Uuid, number> {
  const counts = new Map<Uuid, number>()
  for (const { sessions } of takes) {
    for (const session of sessions) counts.set(session, (counts.get(session) ?? 0) + 1)
  }
  return counts
}
