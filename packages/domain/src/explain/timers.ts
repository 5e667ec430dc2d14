import type { TriggerRule } from '../workflow/index.js'
import { blockerDetails, type Cause, cause } from './cause.js'
import type { AttemptFacts, BlockerFacts, ExplainFacts } from './facts.js'
import { count, errorText, lengthOf, many, ruleText } from './words.js'

/** Of a SCHEDULED task: what it waits for. */
export function scheduled(facts: ExplainFacts): Cause[] {
  const { task, nowMs } = facts
  const { dueAtMs, snoozes, lastAttempt } = task
  if (dueAtMs === null) return []
  const inMs = dueAtMs - nowMs
  if (inMs <= 0) return overdue(facts, dueAtMs)
  const due = { dueAtMs, inMs }
  if (snoozes === 0 || lastAttempt?.outcome !== 'snoozed')
    return [cause('not_due', `It is due in ${lengthOf(inMs)}.`, due), ...withoutScheduler(facts)]
  const { delayMs } = lastAttempt
  const off = delayMs === null ? '' : ` by ${lengthOf(delayMs)}`
  const times = snoozes === 1 ? 'once' : `${count(snoozes)} times`
  const message = `Its handler put it off${off}, ${times} so far; it is due again in ${lengthOf(inMs)}.`
  return [cause('snoozed', message, { ...due, delayMs, snoozes }), ...withoutScheduler(facts)]
}

/** Of a RETRYING task: what went wrong, and how long it waits. */
export function retrying(facts: ExplainFacts): Cause[] {
  const { task, nowMs } = facts
  const { dueAtMs, failures, maxRetries, backoff, jitter, lastAttempt } = task
  if (dueAtMs === null) return []
  const inMs = dueAtMs - nowMs
  const message = `${failureText(facts)}${delayText(facts)}${inMs > 0 ? `, which is over in ${lengthOf(inMs)}` : ''}.`
  const { delayMs = null, error = null, attempt } = lastAttempt ?? {}
  const about = { ...(attempt === undefined ? {} : { attempt }), failures, maxRetries, backoff, jitter, error }
  const main = cause('retrying', message, { ...about, delayMs, delayFrom: delayFrom(lastAttempt), dueAtMs, inMs })
  return inMs > 0 ? [main, ...withoutScheduler(facts)] : [...overdue(facts, dueAtMs), main]
}

/** `max_retries: 3` allows four failures. */
function failureText({ task: { failures, maxRetries, lastAttempt } }: ExplainFacts): string {
  const what = lastAttempt?.outcome === 'timed_out' ? 'ran out of time' : 'failed'
  const which = lastAttempt === null ? 'An attempt' : `Attempt ${lastAttempt.attempt}`
  const why = lastAttempt?.error ? ` (${errorText(lastAttempt.error)})` : ''
  return `${which} ${what}${why}, failure ${failures} of the ${maxRetries + 1} that end it; `
}

function delayText({ task: { backoff, jitter, lastAttempt } }: ExplainFacts): string {
  const delayMs = lastAttempt?.delayMs ?? null
  if (delayMs === null) return 'it waits for its delay'
  const from = delayFrom(lastAttempt)
  if (from === 'handler') return `it waits for ${lengthOf(delayMs)}, as its handler asked`
  const how = from === null ? '' : ` (${backoff} backoff, ${jitter === 'none' ? 'no' : jitter} jitter)`
  return `it waits for a delay of ${lengthOf(delayMs)}${how}`
}

function delayFrom(last: AttemptFacts | null): 'backoff' | 'handler' | null {
  if (last === null || last.isDelayWished === null) return null
  return last.isDelayWished ? 'handler' : 'backoff'
}

/** Due, and not promoted yet: for an instant, or for want of a scheduler. */
function overdue(facts: ExplainFacts, dueAtMs: number): Cause[] {
  if (facts.schedulers.live === 0) return withoutScheduler(facts)
  const forMs = facts.nowMs - dueAtMs
  return [cause('due', `It was due ${lengthOf(forMs)} ago and is about to become ready.`, { dueAtMs, forMs })]
}

function withoutScheduler({ schedulers: { live, lastSeenAtMs }, nowMs }: ExplainFacts): Cause[] {
  if (live > 0) return []
  const last = lastSeenAtMs === null ? '' : `; the last was seen ${lengthOf(nowMs - lastSeenAtMs)} ago`
  return [
    cause('no_scheduler', `No scheduler node lives, so that nothing that is due becomes ready${last}.`, {
      lastSeenAtMs,
    }),
  ]
}

/** Of a BLOCKED task: whose ends it waits for. */
export function blocked({ blockers }: ExplainFacts): Cause[] {
  if (blockers === null) return []
  const code = blockers.kind === 'earlier' ? 'waits_for_earlier' : 'waits_for_dependencies'
  return [cause(code, blockersText(blockers), blockerDetails(blockers))]
}

function blockersText({ kind, count: all, tasks, rule }: BlockerFacts): string {
  if (all === 0) return 'What it waited for has ended: it becomes ready in an instant.'
  if (kind === 'earlier')
    return `It waits for the end of ${many(all, 'earlier task')} of its recurring task, told to stop.`
  const named = tasks.slice(0, 3).map(({ node, status }) => `${node ?? 'a task'} ${status}`)
  const more = all > named.length ? `, and ${count(all - named.length)} more` : ''
  return `It waits for ${dependencies(all)}: ${named.join(', ')}${more}.${runsOnce(rule)}`
}

/** When a task runs whose rule is not the default, which everybody expects. */
const runsOnce = (rule: TriggerRule | null): string =>
  rule === null || rule === 'all_succeeded' ? '' : ` By its trigger rule ${rule} it runs ${ruleText[rule]}.`

const dependencies = (n: number): string => (n === 1 ? '1 dependency' : `${count(n)} dependencies`)

/** What never started may end instead. */
export function expiry(facts: ExplainFacts): Cause[] {
  const { attempt, expiresAtMs } = facts.task
  if (expiresAtMs === null || attempt > 0) return []
  const inMs = expiresAtMs - facts.nowMs
  const message = expiresFirst(facts)
    ? `It ends CANCELLED (expired) in ${lengthOf(inMs)}, before it is due: as it stands it never starts.`
    : `It ends CANCELLED (expired) if it has not started in ${lengthOf(inMs)}.`
  return [cause('expires', message, { expiresAtMs, inMs })]
}

/** Whether it will have expired when its time comes: nothing else that keeps it from its start matters then. */
export function expiresFirst({ task: { status, attempt, dueAtMs, expiresAtMs }, nowMs }: ExplainFacts): boolean {
  if (status !== 'SCHEDULED' || attempt > 0 || dueAtMs === null || expiresAtMs === null) return false
  return expiresAtMs <= dueAtMs && nowMs < dueAtMs
}
