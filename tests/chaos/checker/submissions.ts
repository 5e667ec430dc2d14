import type { Uuid } from '@duly/domain'
import { type Call, isSubmission, type SubmitCall } from './client-log.js'
import type { Finding } from './finding.js'
import { groupBy } from './group-by.js'
import type { TaskHistory } from './history.js'

/** What the clients did and heard about one mark, over all its calls. */
interface Submission {
  readonly answered: ReadonlySet<Uuid>
  /** Some call may have made it: answered ok, or left unknown. */
  readonly mayExist: boolean
}

/**
 * Point 1: every accepted task is there, under the id that was answered; no key and no repeated call makes a second one; a
 * refused one left nothing; nothing exists that nobody submitted. What recurring tasks made is judged by their fire times,
 * what belongs to workflows with these.
 */
export function checkSubmissions(calls: readonly Call[], history: readonly TaskHistory[]): Finding[] {
  const submissions = collect(calls.filter(isSubmission))
  const stored = groupBy(history, (task) => task.mark ?? '')
  const unasked = history.filter(
    ({ cronId, workflowId, mark }) =>
      cronId === null && workflowId === null && (mark === null || !submissions.has(mark)),
  )
  return [
    ...[...submissions].flatMap(([mark, submission]) => judge(mark, submission, stored.get(mark) ?? [])),
    ...unasked.map(({ id, mark }) => finding('a task that nobody submitted', id, `its mark is ${mark}`)),
  ]
}

/** Point 1, after healing and quiet time: nothing is left open. */
export function checkDrained(history: readonly TaskHistory[]): Finding[] {
  return history
    .filter(({ isOpen }) => isOpen)
    .map(({ id, status, plan, attempt }) =>
      finding('a task never finished', id, `${plan} is ${status}, attempt ${attempt}`),
    )
}

function collect(calls: readonly SubmitCall[]): ReadonlyMap<string, Submission> {
  const submissions = new Map<string, { answered: Set<Uuid>; mayExist: boolean }>()
  for (const call of calls) {
    call.marks.forEach((mark, index) => {
      const submission = submissions.get(mark) ?? { answered: new Set(), mayExist: false }
      submissions.set(mark, submission)
      const id = call.ids[index]
      if (id !== undefined) submission.answered.add(id)
      submission.mayExist ||= call.outcome !== 'fail'
    })
  }
  return submissions
}

function judge(mark: string, { answered, mayExist }: Submission, stored: readonly TaskHistory[]): Finding[] {
  const ids = stored.map(({ id }) => id)
  const findings = [...answered]
    .filter((id) => !ids.includes(id))
    .map((id) =>
      finding('an accepted task is missing', id, `mark ${mark}; stored under it: ${ids.join(', ') || 'nothing'}`),
    )
  if (answered.size > 1)
    findings.push(finding('one submission was answered with two ids', mark, [...answered].join(', ')))
  if (ids.length > 1) findings.push(finding('one submission made several tasks', mark, ids.join(', ')))
  if (!mayExist && ids.length > 0) findings.push(finding('a refused submission made a task', mark, ids.join(', ')))
  return findings
}

function finding(rule: string, subject: string, detail: string): Finding {
  return { point: 1, rule, subject, detail }
}
