import { type ErrorCode, limits } from '@duly/domain'
import { closed } from '../common.js'
import { Explanation } from '../explain.js'
import * as lists from '../task-lists.js'
import * as logs from '../task-logs.js'
import * as tasks from '../tasks.js'
import { type ApiRouteGroup, apiBase } from './route.js'

const task = { tag: 'tasks', params: tasks.TaskParams } as const
const submit: readonly ErrorCode[] = [
  'idempotency_conflict',
  'too_large',
  'rate_limited',
  'queue_full',
  'commit_unknown',
]
const replayed = { 'Idempotency-Replayed': 'true when an earlier submission made the task' }

export const taskRoutes = {
  submitTask: {
    method: 'POST',
    path: `${apiBase}/tasks`,
    tag: 'tasks',
    summary: 'Submit a task',
    scope: 'submit',
    description: 'The answer comes after the commit: an accepted task is never lost.',
    headers: tasks.TaskHeaders,
    body: tasks.SubmitTask,
    bodyLimit: 'single',
    responses: {
      202: { description: 'Accepted: a new task.', schema: tasks.SubmittedTask },
      200: {
        description: 'The same key and the same request made this task before.',
        schema: tasks.SubmittedTask,
        headers: replayed,
      },
    },
    problems: submit,
  },
  submitBatch: {
    method: 'POST',
    path: `${apiBase}/tasks/batch`,
    tag: 'tasks',
    summary: 'Submit up to 10,000 tasks, all or none',
    scope: 'submit',
    headers: closed({ traceparent: tasks.TaskHeaders.properties.traceparent }),
    body: tasks.SubmitBatch,
    bodyLimit: 'batch',
    responses: {
      202: { description: 'Accepted, in the order given.', schema: tasks.SubmittedBatch },
      200: { description: 'All of them were replays.', schema: tasks.SubmittedBatch, headers: replayed },
    },
    problems: [...submit, 'batch_spans_shards'],
  },
  listTasks: {
    method: 'GET',
    path: `${apiBase}/tasks`,
    tag: 'tasks',
    summary: 'List tasks, newest first',
    scope: 'read',
    description:
      'Open and finished ones together; all filters must fit. Payload, result and stack are in the record alone. A task that ' +
      'fits during the whole crawl is listed exactly once, whatever comes, goes, moves or is edited meanwhile. Tenant, status, ' +
      'workflow and cron task have indexes; for the other filters a page looks at up to 10,000 tasks, so it can be short, or ' +
      'empty, and yet have a `next_cursor`: only null is the end.',
    query: lists.TaskListQuery,
    responses: { 200: { description: 'A page.', schema: lists.TaskSummaryList } },
    problems: ['forbidden'],
  },
  getTask: {
    ...task,
    method: 'GET',
    path: `${apiBase}/tasks/{task_id}`,
    summary: 'Read a task',
    scope: 'read',
    description: 'With `wait_seconds` the answer is held until the task has ended, at most that long.',
    query: tasks.TaskQuery,
    responses: { 200: { description: 'The whole record.', schema: tasks.Task } },
    problems: ['not_found'],
  },
  editTask: {
    ...task,
    method: 'PATCH',
    path: `${apiBase}/tasks/{task_id}`,
    summary: 'Edit a task that waits',
    scope: 'submit',
    description:
      'Possible while it is SCHEDULED or PENDING; of BLOCKED and RETRYING tasks, all but `scheduled_at`. What starts after the ' +
      'answer runs as edited. A task that enters another lane (queue, priority) joins it at its end. The idempotency key goes ' +
      'on standing for the request that was sent first.',
    body: tasks.EditTask,
    bodyLimit: 'single',
    responses: { 200: { description: 'The record as it stands now.', schema: tasks.Task } },
    problems: ['not_found', 'wrong_state', 'unprocessable', 'commit_unknown'],
  },
  cancelTask: {
    ...task,
    method: 'POST',
    path: `${apiBase}/tasks/{task_id}/cancel`,
    summary: 'Cancel a task',
    scope: 'submit',
    description: 'A waiting task is CANCELLED at once. A running one is marked and its worker is told.',
    responses: {
      200: { description: 'CANCELLED.', schema: tasks.CancelledTask },
      202: { description: 'RUNNING and marked.', schema: tasks.CancelledTask },
    },
    problems: ['not_found', 'wrong_state', 'commit_unknown'],
  },
  retryTask: {
    ...task,
    method: 'POST',
    path: `${apiBase}/tasks/{task_id}/retry`,
    summary: 'Run a finished task again',
    scope: 'submit',
    description: 'FAILED, DEAD and CANCELLED tasks become PENDING with their retries restored.',
    responses: { 200: { description: 'The record as it stands now.', schema: tasks.Task } },
    problems: ['not_found', 'wrong_state', 'commit_unknown'],
  },
  listAttempts: {
    ...task,
    method: 'GET',
    path: `${apiBase}/tasks/{task_id}/attempts`,
    summary: 'List the attempts of a task',
    scope: 'read',
    responses: { 200: { description: 'Oldest first.', schema: tasks.AttemptList } },
    problems: ['not_found'],
  },
  listRuns: {
    ...task,
    method: 'GET',
    path: `${apiBase}/tasks/{task_id}/runs`,
    summary: 'List the runs of a task',
    scope: 'read',
    description: 'A run goes from the submission, or from a retry by hand, to its end. The current one comes first.',
    query: lists.RunListQuery,
    responses: { 200: { description: 'Newest first.', schema: lists.RunList } },
    problems: ['not_found'],
  },
  listEvents: {
    ...task,
    method: 'GET',
    path: `${apiBase}/tasks/{task_id}/events`,
    summary: 'List every transition of a task: when, by whom, why',
    scope: 'read',
    responses: { 200: { description: 'Oldest first.', schema: tasks.TaskEventList } },
    problems: ['not_found'],
  },
  explainTask: {
    ...task,
    method: 'GET',
    path: `${apiBase}/tasks/{task_id}/explain`,
    summary: 'Say why a task stands as it stands',
    scope: 'read',
    description:
      'Why it has not started, what it waits for, who runs it, or how it ended: computed from the store, each cause with its ' +
      'numbers, the one that matters most first. A key that is bound to a tenant is told nothing of other tenants.',
    responses: { 200: { description: 'The causes.', schema: Explanation } },
    problems: ['not_found'],
  },
  readLogs: {
    ...task,
    method: 'GET',
    path: `${apiBase}/tasks/{task_id}/logs`,
    summary: 'Read the log lines that the handler of a task wrote',
    scope: 'read',
    description:
      `Oldest first. A task keeps ${limits.logsMaxLinesPerTask} lines and ${limits.logsMaxBytesPerTask} bytes at most, over all its attempts. ` +
      'With `wait_seconds` an answer that would bring no line is held until there is one or the task has ended, at most that ' +
      'long. To follow a log, call again with `next_cursor` until `is_complete`; without waiting, read while `has_more`. ' +
      'Or ask with `Accept: application/x-ndjson`: the answer is a stream of records, one a line, until the task has ended; ' +
      'empty lines only keep the connection alive. One that ends otherwise is called again, with the `cursor` of the last record.',
    query: logs.LogsQuery,
    responses: {
      200: {
        description: 'A page, or a stream of records.',
        schema: logs.LogPage,
        stream: { contentType: 'application/x-ndjson', record: logs.LogRecord },
      },
    },
    problems: ['not_found', 'too_many_streams'],
  },
} as const satisfies ApiRouteGroup
