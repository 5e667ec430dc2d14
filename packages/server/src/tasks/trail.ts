import { encodeId, type TaskStatus } from '@duly/domain'
import type { EventRecord } from '../model.js'
import type { Claimed, TrailFacts } from '../store/trail-store.js'

/**
 * Every transition of a task, each once, in the order in which they happened: those that were written down, and those that
 * its timestamps tell. A direct hand-off is told as the two steps that it joins, through PENDING, as its 202 is; so a
 * promotion is told at the due time, when the task became ready by the store's clock (but never after the step that follows).
 */
export function trailOf(facts: TrailFacts): EventRecord[] {
  const steps = withUnblocks(inOrder(facts), facts)
  const dueAfter = new Map(facts.claims.map(({ attempt, dueAtMs }) => [attempt, dueAtMs]))
  const schedules = schedulesOf(facts)
  let dueAtMs: number | null = null
  return steps.flatMap((step, place) => {
    const next = steps[place + 1]
    if (step.transition === 'submit' || step.transition === 'reschedule') dueAtMs = schedules.shift() ?? null
    else if (step.attempt !== null) dueAtMs = dueAfter.get(step.attempt) ?? null
    const isPromoted = waitsForTime(step.toStatus) && (next?.fromStatus ?? facts.status) === 'PENDING'
    if (!isPromoted) return [step]
    const at = dueAtMs ?? step.at
    return [step, promoted(step.toStatus, Math.min(at, next?.at ?? at))]
  })
}

const derived = { attempt: null, reason: null }

/** What waits for others goes on when they have ended: told between a step that leads to BLOCKED and one that begins elsewhere. */
function withUnblocks(steps: readonly EventRecord[], facts: TrailFacts): EventRecord[] {
  return steps.flatMap((step, place) => {
    const next = steps[place + 1]
    const after = next?.fromStatus ?? facts.status
    if (step.toStatus !== 'BLOCKED' || after === 'BLOCKED') return [step]
    const toStatus = facts.isDelayed || after === 'SCHEDULED' ? 'SCHEDULED' : 'PENDING'
    const at = Math.max(step.at, Math.min(facts.unblockedAtMs ?? step.at, next?.at ?? Number.POSITIVE_INFINITY))
    const unblocked = { transition: 'unblock', fromStatus: 'BLOCKED', toStatus, actor: 'dependency' } as const
    return [step, { ...derived, at, ...unblocked }]
  })
}

/** Each `scheduled_at` that the task had: of its submission, then of each reschedule; the last one is in its record. */
function schedulesOf({ written, scheduledAtMs }: TrailFacts): (number | null)[] {
  const replaced = written.flatMap((event) => (event.transition === 'reschedule' ? [event.previousAtMs] : []))
  return [...replaced, scheduledAtMs]
}

const waitsForTime = (status: TaskStatus): boolean => status === 'SCHEDULED' || status === 'RETRYING'

/**
 * All but the promotions. What tells the order is the order of writing and the numbers of the attempts, not the clock: a
 * statement's time is that of its begin, so one that waited for a row can carry an earlier time than what it waited for.
 */
function inOrder(facts: TrailFacts): EventRecord[] {
  const steps = [submitted(facts)]
  const claims = [...facts.claims]
  const claimUpTo = (attempt: number): void => {
    const later = claims.findIndex((claim) => claim.attempt > attempt)
    for (const claim of claims.splice(0, later < 0 ? claims.length : later)) steps.push(claimed(claim))
  }
  for (const event of facts.written) {
    if (event.attempt !== null) claimUpTo(event.attempt)
    steps.push(event)
  }
  claimUpTo(Number.POSITIVE_INFINITY)
  if (facts.success) steps.push(succeeded(facts.success))
  return steps
}

function submitted(facts: TrailFacts): EventRecord {
  const { createdAtMs, createdBy, submittedBy } = facts
  const [scheduledAtMs = null] = schedulesOf(facts)
  const actor = submittedBy === null ? createdBy : `${createdBy}:${encodeId('key', submittedBy)}`
  const isLater = scheduledAtMs !== null && scheduledAtMs > createdAtMs
  const toStatus = facts.wasBlocked ? 'BLOCKED' : isLater ? 'SCHEDULED' : 'PENDING'
  return { ...derived, at: createdAtMs, transition: 'submit', fromStatus: null, toStatus, actor }
}

const promoted = (fromStatus: TaskStatus, at: number): EventRecord => ({
  ...derived,
  ...{ at, transition: 'promote', fromStatus, toStatus: 'PENDING', actor: 'timer' },
})

const claimed = ({ attempt, startedAtMs }: Claimed): EventRecord => ({
  ...derived,
  ...{ at: startedAtMs, transition: 'claim', fromStatus: 'PENDING', toStatus: 'RUNNING', attempt, actor: 'dispatcher' },
})

const succeeded = ({ atMs, attempt, session }: NonNullable<TrailFacts['success']>): EventRecord => ({
  ...derived,
  ...{ at: atMs, transition: 'succeed', fromStatus: 'RUNNING', toStatus: 'SUCCEEDED', attempt },
  actor: encodeId('worker', session),
})
