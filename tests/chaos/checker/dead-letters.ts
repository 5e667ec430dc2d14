import { type BulkCall, type Call, isOfTask } from './client-log.js'
import type { Finding } from './finding.js'
import type { TaskHistory } from './history.js'
import { TURN_MS } from './instants.js'

/**
 * Point 3: what was discarded was asked to be, is so for good, and is not run again; what was to be run again with all dead letters was.
 * @param isSure whether nothing stood in the way of running a dead task again
 */
export function checkDeadLetters(
  calls: readonly Call[],
  history: readonly TaskHistory[],
  isSure: (task: TaskHistory) => boolean,
): Finding[] {
  const discards = calls.filter(isOfTask).filter(({ verb, outcome }) => verb === 'discard' && outcome !== 'fail')
  const asked = new Set(discards.map(({ id }) => id))
  const accepted = new Set(discards.flatMap(({ id, outcome }) => (outcome === 'ok' ? [id] : [])))
  const retries = calls.filter((call): call is BulkCall => call.verb === 'bulk' && isOfLetters(call))
  return history.flatMap((task) => [
    ...checkDiscard(task, { isAsked: asked.has(task.id), isAccepted: accepted.has(task.id) }),
    ...(isSure(task) ? checkLeft(task, retries) : []),
  ])
}

const isOfLetters = ({ action, workflow }: BulkCall): boolean => action === 'retry' && workflow === null

function checkDiscard(
  { id, events, discardedAt }: TaskHistory,
  { isAsked, isAccepted }: { readonly isAsked: boolean; readonly isAccepted: boolean },
): Finding[] {
  const at = events.findIndex(({ transition }) => transition === 'discard')
  const isDiscarded = discardedAt !== null || at >= 0
  const findings: Finding[] = []
  if (isDiscarded && !isAsked) findings.push(finding('discarded, though nobody asked', id, ''))
  if (isAccepted && discardedAt === null) findings.push(finding('an accepted discard was lost', id, ''))
  if (at >= 0 && events.slice(at).some(({ transition }) => transition === 'replay'))
    findings.push(finding('what was discarded was run again', id, ''))
  return findings
}

/** It died before such a call began and was dead still when its operation had come to the end. */
function checkLeft(task: TaskHistory, retries: readonly BulkCall[]): Finding[] {
  const { status, completedAt, discardedAt } = task
  if (status !== 'DEAD' || completedAt === null || discardedAt !== null) return []
  const missed = retries.find(({ startedAt, doneAt }) => doneAt !== null && completedAt < startedAt - TURN_MS)
  return missed ? [finding('a retry of all dead letters left one', task.id, `dead since ${completedAt}`)] : []
}

function finding(rule: string, subject: string, detail: string): Finding {
  return { point: 3, rule, subject, detail }
}
