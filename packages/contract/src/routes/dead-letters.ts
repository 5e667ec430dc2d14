import { BulkOperation } from '../bulk.js'
import * as dlq from '../dead-letters.js'
import { Task, TaskParams } from '../tasks.js'
import { type ApiRouteGroup, apiBase } from './route.js'

const path = `${apiBase}/dlq`
const tag = 'dlq'
const one = { tag, params: TaskParams } as const

export const deadLetterRoutes = {
  listDeadLetters: {
    tag,
    method: 'GET',
    path,
    summary: 'List dead letters, the latest first',
    scope: 'read',
    description:
      'Tasks whose retries, crashes or snoozes are used up, until they are retried or discarded. All filters must fit. Tenant, queue and `fingerprint` have indexes; beside them a page looks at up to 10,000 letters, so it can be short, or empty, and yet have a `next_cursor`: only null is the end.',
    query: dlq.DeadLetterListQuery,
    responses: { 200: { description: 'A page.', schema: dlq.DeadLetterList } },
    problems: ['forbidden'],
  },
  summarizeDeadLetters: {
    tag,
    method: 'GET',
    path: `${path}/summary`,
    summary: 'Group the dead letters by their error',
    scope: 'read',
    description:
      'By queue, task type, class of the error, and its message without what varies. From counts that are kept as letters come and go, however many there are.',
    query: dlq.DeadLetterSummaryQuery,
    responses: { 200: { description: 'The largest groups first.', schema: dlq.DeadLetterSummary } },
    problems: ['forbidden'],
  },
  retryDeadLetter: {
    ...one,
    method: 'POST',
    path: `${path}/{task_id}/retry`,
    summary: 'Run a dead task again',
    scope: 'submit',
    description: 'It leaves the dead letters and becomes PENDING with its retries restored, under the same id.',
    responses: { 200: { description: 'The record as it stands now.', schema: Task } },
    problems: ['not_found', 'wrong_state', 'commit_unknown'],
  },
  retryDeadLetters: {
    tag,
    method: 'POST',
    path: `${path}/retry-all`,
    summary: 'Run all dead tasks again, or those of some filters',
    scope: 'submit',
    description:
      'In the background, the latest first: an operation that can be watched and cancelled. Tasks that die after the call are not touched. Without a filter it means all dead letters.',
    query: dlq.DeadLetterQuery,
    responses: { 202: { description: 'The operation.', schema: BulkOperation } },
    problems: ['forbidden', 'rate_limited', 'commit_unknown'],
  },
  discardDeadLetters: {
    tag,
    method: 'POST',
    path: `${path}/discard-all`,
    summary: 'Give all dead tasks up, or those of some filters',
    scope: 'submit',
    description:
      'In the background, the latest first: an operation that can be watched and cancelled. Each leaves the dead letters for good, as by `DELETE /dlq/{task_id}`. Tasks that die after the call are not touched. Without a filter it means all dead letters.',
    query: dlq.DeadLetterQuery,
    responses: { 202: { description: 'The operation.', schema: BulkOperation } },
    problems: ['forbidden', 'rate_limited', 'commit_unknown'],
  },
  discardDeadLetter: {
    ...one,
    method: 'DELETE',
    path: `${path}/{task_id}`,
    summary: 'Take a task out of the dead letters, for good',
    scope: 'submit',
    description:
      'The record stays, DEAD, with `discarded_at`; it is kept and removed like that of any finished task and can no longer be retried. Takes the scope `submit`, as cancelling does: whoever may retry a dead task and cancel it can give it up anyway, and this says so in its trail.',
    responses: { 204: { description: 'Discarded.' } },
    problems: ['not_found', 'commit_unknown'],
  },
} as const satisfies ApiRouteGroup
