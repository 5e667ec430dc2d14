import { type Cause, cause } from './cause.js'
import type { ExplainFacts, RunningFacts } from './facts.js'
import { count, lengthOf, workerText } from './words.js'

/** Of a RUNNING task: what is wrong first, then who runs it. */
export function running(facts: ExplainFacts): Cause[] {
  const { running: run } = facts.task
  if (run === null) return []
  const { nowMs } = facts
  return [
    ...silent(run, nowMs),
    ...cancelling(run, nowMs),
    ...late(run, nowMs),
    runs(facts, run),
    ...unacknowledged(run),
    ...(run.isDraining
      ? [cause('worker_draining', 'Its worker is draining: it finishes what it holds.', { workers: 1 })]
      : []),
    ...progress(facts),
  ]
}

function runs({ task, nowMs }: ExplainFacts, run: RunningFacts): Cause {
  const { workerId, workerName, startedAtMs, deadlineAtMs, isLeaseLive, lastHeartbeatAtMs } = run
  const forMs = nowMs - startedAtMs
  const inMs = deadlineAtMs - nowMs
  const left = inMs > 0 ? `; its time limit is in ${lengthOf(inMs)}` : ''
  const who = workerText(workerName, workerId)
  const message = `${capital(who)} has run attempt ${task.attempt} for ${lengthOf(forMs)}${left}.`
  const { attempt, failures, maxRetries } = task
  const lease = { workerId, workerName, isLeaseLive, lastHeartbeatAtMs }
  return cause('running', message, { ...lease, attempt, failures, maxRetries, startedAtMs, forMs, deadlineAtMs, inMs })
}

/** A beat that is late by one more is a worker in trouble. */
function silent(run: RunningFacts, nowMs: number): Cause[] {
  const { isLeaseLive, lastHeartbeatAtMs, heartbeatMs, workerId, workerName } = run
  const quietMs = lastHeartbeatAtMs === null ? null : nowMs - lastHeartbeatAtMs
  if (isLeaseLive && (quietMs === null || quietMs <= 2 * heartbeatMs)) return []
  const heard = quietMs === null ? 'Its worker is gone' : `Its worker was not heard for ${lengthOf(quietMs)}`
  const next = isLeaseLive
    ? 'when its lease is over, the task is taken back'
    : 'its lease is over, and the task is about to be taken back'
  const details = { workerId, workerName, isLeaseLive, lastHeartbeatAtMs }
  return [cause('worker_silent', `${heard}; ${next}.`, quietMs === null ? details : { ...details, forMs: quietMs })]
}

function cancelling({ cancelRequestedAtMs, cancelReason, endsAtMs }: RunningFacts, nowMs: number): Cause[] {
  if (cancelRequestedAtMs === null) return []
  const forMs = nowMs - cancelRequestedAtMs
  const inMs = endsAtMs - nowMs
  const left = inMs > 0 ? `, and ends in ${lengthOf(inMs)} at the latest` : ', and is about to end'
  const message = `Its cancellation was requested ${lengthOf(forMs)} ago: its worker was told to stop it${left}.`
  return [cause('cancel_requested', message, { cancelRequestedAtMs, forMs, endsAtMs, inMs, reason: cancelReason })]
}

function late({ cancelRequestedAtMs, deadlineAtMs, endsAtMs }: RunningFacts, nowMs: number): Cause[] {
  const forMs = nowMs - deadlineAtMs
  if (forMs <= 0 || cancelRequestedAtMs !== null) return []
  const inMs = endsAtMs - nowMs
  const left = inMs > 0 ? `in ${lengthOf(inMs)}` : 'in an instant'
  const message = `Its time limit passed ${lengthOf(forMs)} ago: the attempt is ended ${left}, should its worker not do so.`
  return [cause('past_deadline', message, { deadlineAtMs, forMs, endsAtMs, inMs })]
}

function unacknowledged({ isAcknowledged, workerId, workerName }: RunningFacts): Cause[] {
  if (isAcknowledged) return []
  const message = 'Its worker has not said yet that it got the task: it is given again if the answer was lost.'
  return [cause('unacknowledged', message, { workerId, workerName })]
}

function progress({ task: { progress: told }, nowMs }: ExplainFacts): Cause[] {
  if (told === null) return []
  const { percent, note, updatedAtMs } = told
  const forMs = nowMs - updatedAtMs
  const said = note === null ? '' : ` (${note})`
  return [
    cause('progress', `Its handler was at ${Math.floor(percent)} %${said} ${lengthOf(forMs)} ago.`, {
      percent,
      note,
      updatedAtMs,
      forMs,
    }),
  ]
}

/** Of a task that stands apart since workers were lost with it. */
export function suspicion({ task, maxCrashes, nowMs }: ExplainFacts): Cause[] {
  const { crashes, undelivered, lastLoss } = task
  if (crashes + undelivered === 0) return []
  const counts = { crashes, maxCrashes, undelivered }
  const last =
    lastLoss === null
      ? {}
      : { attempt: lastLoss.attempt, endedAtMs: lastLoss.endedAtMs, workerName: lastLoss.workerName }
  const who = lastLoss === null ? 'A worker' : capital(workerText(lastLoss.workerName, null))
  const when = lastLoss === null ? '' : ` in attempt ${lastLoss.attempt}, ${lengthOf(nowMs - lastLoss.endedAtMs)} ago`
  const sum =
    crashes === 0
      ? `${count(undelivered)} of its grants did not arrive`
      : `${count(crashes)} of the ${count(maxCrashes)} crashes that end it`
  const how = task.status === 'RUNNING' ? 'it runs' : 'it waits for its turn'
  const message = `${who} was lost with it${when} (${sum}): ${how} as a suspect, of which a worker holds one at a time.`
  return [cause('suspect', message, { ...counts, ...last })]
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
