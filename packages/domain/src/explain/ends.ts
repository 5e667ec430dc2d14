import { blockerDetails, type Cause, cause } from './cause.js'
import type { BlockerFacts, EndFacts, ErrorFacts, ExplainFacts, TaskFacts } from './facts.js'
import { count, errorText, lengthOf, many, ruleText, workerText } from './words.js'

/** Of a task that has ended: how and why, and what is left of it. */
export function ended(facts: ExplainFacts): Cause[] {
  const { task } = facts
  const { end } = task
  if (end === null) return []
  switch (task.status) {
    case 'SUCCEEDED':
      return [succeeded(facts, end)]
    case 'FAILED':
      return [failed(facts, end)]
    case 'DEAD':
      return [died(facts, end), ...afterlife(facts, end)]
    default:
      return [cancelled(facts, end)]
  }
}

const ago = ({ nowMs }: ExplainFacts, { completedAtMs }: EndFacts): string => `${lengthOf(nowMs - completedAtMs)} ago`

/** What every end has. */
function common({ task }: ExplainFacts, end: EndFacts) {
  const { completedAtMs, workerId, workerName, reason, actor } = end
  return { completedAtMs, workerId, workerName, reason, actor, attempt: task.attempt }
}

const because = (error: ErrorFacts | null): string => (error === null ? '' : `: ${errorText(error)}`)

function succeeded(facts: ExplainFacts, end: EndFacts): Cause {
  const { startedAtMs, completedAtMs, workerId, workerName } = end
  const took = startedAtMs === null ? '' : ` after ${lengthOf(completedAtMs - startedAtMs)}`
  const message = `Attempt ${facts.task.attempt} succeeded${took} on ${workerText(workerName, workerId)}, ${ago(facts, end)}.`
  return cause('succeeded', message, { ...common(facts, end), startedAtMs })
}

function failed(facts: ExplainFacts, end: EndFacts): Cause {
  const { error } = end
  if (end.reason === 'dependency') {
    const message = `It was not run ${ago(facts, end)}, since ${endedText(facts.blockers)} ended otherwise than ${demand(facts.blockers)}.`
    return cause('dependency_failed', message, { ...common(facts, end), error, ...blockersOf(facts) })
  }
  const message = `Attempt ${facts.task.attempt} ended it with a permanent error ${ago(facts, end)}${because(error)}.`
  return cause('failed', message, { ...common(facts, end), error })
}

function died(facts: ExplainFacts, end: EndFacts): Cause {
  const { task, maxCrashes } = facts
  const { failures, maxRetries, crashes, snoozes } = task
  const { error } = end
  const details = { ...common(facts, end), error, failures, maxRetries, crashes, maxCrashes, snoozes }
  switch (lastOutcome(task)) {
    case 'lost':
    case 'undelivered':
      return cause(
        'crashes_exhausted',
        `${many(crashes, 'worker')} went down with it, the last one ${ago(facts, end)}.`,
        details,
      )
    case 'snoozed':
      return cause(
        'snoozes_exhausted',
        `Its handler put it off ${count(snoozes)} times, the last time ${ago(facts, end)}.`,
        details,
      )
    default: {
      const times = failures === 1 ? 'once' : `${count(failures)} times`
      const message = `It failed ${times}, with ${maxRetries === 1 ? '1 retry' : `${maxRetries} retries`} to spend, the last time ${ago(facts, end)}${because(error)}.`
      return cause('retries_exhausted', message, details)
    }
  }
}

const lastOutcome = ({ lastAttempt }: TaskFacts): string | null => lastAttempt?.outcome ?? null

function afterlife({ nowMs }: ExplainFacts, end: EndFacts): Cause[] {
  const { discardedAtMs, discardActor: actor, isDeadLetter, completedAtMs } = end
  if (discardedAtMs !== null) {
    const forMs = nowMs - discardedAtMs
    const message = `It was discarded ${lengthOf(forMs)} ago${byWhom({ actor })}: its record is kept, and it runs no more.`
    return [cause('discarded', message, { endedAtMs: discardedAtMs, forMs, actor })]
  }
  if (!isDeadLetter) return []
  return [cause('dead_letter', 'It lies in the dead letters, to be retried or discarded.', { completedAtMs })]
}

function cancelled(facts: ExplainFacts, end: EndFacts): Cause {
  const details = common(facts, end)
  const when = ago(facts, end)
  switch (end.reason) {
    case 'expired':
      return cause('expired', `It had not started when it was to have, and expired ${when}.`, details)
    case 'skipped':
      return cause('skipped', `It was skipped ${when}: ${unmet(facts.blockers)}.`, {
        ...details,
        ...blockersOf(facts),
      })
    case 'purged':
      return cause('purged', `Its queue was emptied ${when}${byWhom(end)}.`, details)
    case 'overlap':
      return cause('overlapped', `A later task of its recurring task took its place ${when}.`, details)
    case 'workflow_cancelled':
      return cause('cancelled', `It was cancelled with its workflow ${when}${byWhom(end)}.`, details)
    case 'workflow_failed':
      return cause('cancelled', `It was cancelled ${when}, since another task of its workflow failed.`, details)
    default:
      return cause('cancelled', `It was cancelled ${when}${byWhom(end)}.`, details)
  }
}

const unmet = (blockers: BlockerFacts | null): string => {
  const rule = blockers?.rule ?? null
  return rule === null
    ? 'its trigger rule can not be met'
    : `by its trigger rule ${rule} it runs ${ruleText[rule]}, which can not be any more`
}

/** How what it depended on must have ended. */
const demand = (blockers: BlockerFacts | null): string => {
  const rule = blockers?.rule ?? null
  return rule === null || rule === 'all_succeeded' ? 'it must' : `its trigger rule ${rule} asks`
}

/** What it depended on and what ended without success, the first three by their names. */
function endedText(blockers: BlockerFacts | null): string {
  if (blockers === null || blockers.tasks.length === 0) return 'a task that it depends on'
  const named = blockers.tasks.slice(0, 3).map(({ node, status }) => `${node ?? 'a task'} (${status})`)
  const more = blockers.count - named.length
  return more > 0 ? `${named.join(', ')} and ${count(more)} more` : named.join(', ')
}

const blockersOf = ({ blockers }: ExplainFacts) => (blockers === null ? {} : blockerDetails(blockers))

const byWhom = ({ actor }: Pick<EndFacts, 'actor'>): string => (actor === null ? '' : `, by ${actor}`)
