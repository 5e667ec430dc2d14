import type { Finding } from '../chaos/checker/finding.js'
import type { TaskHistory } from '../chaos/checker/history.js'
import { attemptKey, type Ledger, type Verb } from './ledger.js'

const maxCrashes = 3

/** How an attempt stands in the records that ended by that word. */
const recordsOf: Readonly<Record<Exclude<Verb, 'succeed'>, readonly string[]>> = {
  ...{ fail: ['failed'], retry: ['failed'], timeOut: ['timed_out'], snooze: ['snoozed'], release: ['released'] },
  stop: ['cancelled', 'failed'],
}

/** Each accepted word is what the store keeps of that attempt, there is one of them, and each end has its reason. */
export function checkProgram(ledger: Ledger, history: readonly TaskHistory[]): Finding[] {
  return [...checkAccepted(ledger, history), ...history.flatMap((task) => checkEnd(ledger, task))]
}

function checkAccepted({ accepted }: Ledger, history: readonly TaskHistory[]): Finding[] {
  const byId = new Map<string, TaskHistory>(history.map((task) => [task.id, task]))
  return [...accepted].flatMap(([key, verbs]) => {
    const [id = '', attempt] = key.split(' ')
    const task = byId.get(id)
    const [verb, ...more] = verbs
    const told = `attempt ${attempt}: ${[...verbs]}`
    if (more.length > 0) return [finding('an attempt with two accepted ends', id, told)]
    if (!task || !verb) return [finding('an accepted report of no task', id, told)]
    const record = task.attempts.find((each) => each.attempt === Number(attempt))?.outcome
    const isKept =
      verb === 'succeed'
        ? task.status === 'SUCCEEDED' && task.attempt === Number(attempt) && record === undefined
        : record !== undefined && recordsOf[verb].includes(record)
    return isKept ? [] : [finding('an accepted report that the store does not have', id, `${told}, kept: ${record}`)]
  })
}

function checkEnd({ said, calls }: Ledger, task: TaskHistory): Finding[] {
  const { id, status, attempt, failures, crashes, maxRetries } = task
  const words = said.get(attemptKey(id, attempt)) ?? new Set<Verb>()
  const isAsked = calls.some((call) => call.verb === 'cancel' && call.id === id && call.outcome !== 'fail')
  const isRight = {
    SUCCEEDED: words.has('succeed'),
    FAILED: words.has('fail') || words.has('stop'),
    CANCELLED: isAsked,
    DEAD: crashes >= maxCrashes || failures === maxRetries + 1,
  }
  const isFine = status !== null && (isRight as Record<string, boolean>)[status] === true
  return isFine ? [] : [finding('an end without its reason', id, `${status}, attempt ${attempt}, said: ${[...words]}`)]
}

function finding(rule: string, subject: string, detail: string): Finding {
  return { point: 3, rule, subject, detail }
}
