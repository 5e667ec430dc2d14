import { gates, type Priority, priorityName } from '../lane.js'
import { defaultPriorityWeights } from '../selection.js'
import { type Cause, cause, type WaitEstimate } from './cause.js'
import type { ExplainFacts, LaneFacts, TaskFacts } from './facts.js'
import { count, lengthOf, percent } from './words.js'

/** Of a PENDING task: where it stands in its lane, and which lanes share the starts with it. */
export function placeInLane(facts: ExplainFacts): Cause[] {
  const { lane, task } = facts
  if (lane === null) return []
  const shares = sharesOf(lane.priorities)
  const share = shareOf(lane, task.priority, shares)
  const estimate = mayStart(facts) && hasGone(facts, lane) ? estimateOf(lane, share) : null
  return [...gateCause(task), position(lane, task, estimate), ...otherLanes(lane, shares, share)]
}

/** What a queue did before it was paused, or lost its last worker, says nothing of how long that lasts. */
const mayStart = ({ queue, workers }: ExplainFacts): boolean =>
  !queue.isPaused && (workers === null || workers.fitting > 0)

/** From here on what fills the slots of workers at first is small against the rest. */
const settledMs = 60_000

/** That workers filled their slots a moment ago does not say how fast these become free. */
const hasGone = ({ workers }: ExplainFacts, { starts, windowMs }: LaneFacts): boolean =>
  windowMs >= settledMs || starts > (workers?.running ?? 0)

/** Why it stands in a gate that is not every task's. */
function gateCause({ gate, taskType, queue }: TaskFacts): Cause[] {
  if (gate === gates.overflow) {
    const message = `It was taken while its queue ${queue} was nearly full, and is served once the queue is below half of its cap.`
    return [cause('overflow', message, { queue, gate })]
  }
  if (gate !== taskType) return []
  const message = `It was set aside into a gate of its type ${taskType}, since workers of its queue that do not serve the type would have to read past it.`
  return [cause('set_aside', message, { queue, taskType, gate })]
}

function position(lane: LaneFacts, task: TaskFacts, estimate: WaitEstimate | null): Cause {
  const { ahead, isAheadExact, depth } = lane
  const about =
    estimate === null || ahead === 0 ? '' : `: ${isAheadExact ? 'about' : 'at least'} ${estimateText(estimate)}`
  const message = `${aheadText(lane)}${about}.`
  const { queue, priority, tenant, gate } = task
  return cause('lane_position', message, { queue, priority, tenant, gate, ahead, isAheadExact, depth, estimate })
}

function aheadText({ ahead, isAheadExact }: LaneFacts): string {
  if (ahead === 0) return 'It is the next of its lane'
  if (!isAheadExact) return `More than ${count(ahead)} tasks of its lane are ahead of it`
  return ahead === 1 ? '1 task of its lane is ahead of it' : `${count(ahead)} tasks of its lane are ahead of it`
}

const estimateText = ({ waitMs, startsPerSecond, startsOf, windowMs, share }: WaitEstimate): string =>
  `${lengthOf(waitMs)}, if its lane gets ${percent(share)} of the ${rateText(startsPerSecond)} a second that ${startsOf === 'queue' ? 'its queue had' : 'its tenant had in this queue'} in the last ${lengthOf(windowMs)}`

const rateText = (rate: number): string =>
  `${rate >= 10 ? count(Math.round(rate)) : Number(rate.toPrecision(2))} starts`

/** What is ahead over the starts that the lane gets; null when nothing was started of late. */
function estimateOf({ ahead, starts, startsOf, windowMs }: LaneFacts, share: number): WaitEstimate | null {
  if (starts <= 0 || windowMs <= 0) return null
  const startsPerSecond = starts / (windowMs / 1_000)
  return { waitMs: Math.round((ahead / (startsPerSecond * share)) * 1_000), startsPerSecond, startsOf, windowMs, share }
}

interface PriorityShare {
  readonly priority: Priority
  readonly share: number
}

/** How the starts of a queue are shared among the priorities that have work, as `LaneSelector` does it by default. */
function sharesOf(priorities: readonly Priority[]): PriorityShare[] {
  const weightOf = (priority: Priority): number =>
    defaultPriorityWeights === 'strict' ? 1 : defaultPriorityWeights[priority]
  const all = priorities.reduce((sum, priority) => sum + weightOf(priority), 0)
  return priorities.map((priority) => ({ priority, share: weightOf(priority) / all }))
}

/** Within its priority tenants share alike, within its tenant gates. */
function shareOf(
  { tenants, gates: gateCount }: LaneFacts,
  priority: Priority,
  shares: readonly PriorityShare[],
): number {
  const ofPriority = shares.find((each) => each.priority === priority)?.share ?? 1
  return ofPriority / Math.max(1, tenants ?? 1) / Math.max(1, gateCount)
}

function otherLanes(lane: LaneFacts, priorities: readonly PriorityShare[], share: number): Cause[] {
  const { tenants, gates: gateCount } = lane
  const parts = [
    priorities.length > 1 ? `priorities by weight (${priorities.map(priorityText).join(', ')})` : null,
    tenants !== null && tenants > 1 ? `${count(tenants)} tenants of its priority alike` : null,
    gateCount > 1 ? `${count(gateCount)} gates of its tenant alike` : null,
  ].filter((part) => part !== null)
  if (parts.length === 0) return []
  const message = `Its lane gets about ${percent(share)} of the starts of its queue, which are shared among ${parts.join(', and ')}.`
  return [cause('other_lanes', message, { priorities, tenants, gates: gateCount, share })]
}

const priorityText = ({ priority, share }: PriorityShare): string => `${priorityName(priority)} ${percent(share)}`
