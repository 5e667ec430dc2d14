import type { TaskStatus } from '../statuses.js'
import { running, suspicion } from './attempts.js'
import type { Cause } from './cause.js'
import type { CauseCode } from './codes.js'
import { ended } from './ends.js'
import type { ExplainFacts } from './facts.js'
import { placeInLane } from './lanes.js'
import { blocked, expiresFirst, expiry, retrying, scheduled } from './timers.js'
import { hurdles, room } from './workers.js'

/** Why a task stands as it stands. */
export interface Explanation {
  readonly status: TaskStatus
  /** The cause that matters most, in a sentence. */
  readonly summary: string
  /** The one that matters most first; never empty. */
  readonly causes: readonly Cause[]
}

/** Explains how a task stands, from what the store says of it and around it: pure, nothing is guessed. */
export function explain(facts: ExplainFacts): Explanation {
  const causes = causesOf(facts)
  const { status } = facts.task
  return { status, summary: causes[0]?.message ?? `It is ${status}.`, causes }
}

function causesOf(facts: ExplainFacts): Cause[] {
  switch (facts.task.status) {
    case 'SCHEDULED':
      return expiresFirst(facts)
        ? [...expiry(facts), ...scheduled(facts), ...hurdles(facts)]
        : [...scheduled(facts), ...hurdles(facts), ...expiry(facts)]
    case 'RETRYING':
      return [...retrying(facts), ...hurdles(facts)]
    case 'BLOCKED':
      return [...blocked(facts), ...hurdles(facts), ...expiry(facts)]
    case 'PENDING':
      return [...hurdles(facts), ...inItsLane(facts), ...expiry(facts)]
    case 'RUNNING':
      return [...running(facts), ...suspicion(facts)]
    default:
      return ended(facts)
  }
}

/** What holds it up comes first; a free slot matters only to who is next. */
function inItsLane(facts: ExplainFacts): Cause[] {
  const rank = (code: CauseCode): number => {
    if (code === 'overflow') return 0
    if (code === 'slot_free') return facts.lane?.ahead === 0 ? 2 : 4
    return code === 'suspect_turn' || code === 'slots_busy' ? 1 : 3
  }
  return [...room(facts), ...placeInLane(facts), ...suspicion(facts)].sort((a, b) => rank(a.code) - rank(b.code))
}
