import type { ErrorCode } from '@duly/domain'
import Type, { type TSchema } from 'typebox'
import { closed } from './common.js'
import { QueueList } from './queues.js'
import * as tasks from './tasks.js'
import * as workers from './workers.js'

/** The base of the versioned part of the API. */
export const apiBase = '/api/v1'

export interface ApiResponse {
  readonly description: string
  /** Absent: no body, or one that is not JSON. */
  readonly schema?: TSchema
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** One route: what the server registers, what OpenAPI and the reference say, what the tests go through. */
export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** As in OpenAPI: `/api/v1/tasks/{task_id}`. */
  readonly path: string
  readonly tag: 'tasks' | 'queues' | 'workers' | 'system'
  readonly summary: string
  readonly description?: string
  readonly params?: TSchema
  readonly query?: TSchema
  /** Headers that the route reads; others are ignored. */
  readonly headers?: TSchema
  readonly body?: TSchema
  /** `single` 2 MiB, `batch` 64 MiB. */
  readonly bodyLimit?: 'single' | 'batch'
  readonly responses: Readonly<Record<number, ApiResponse>>
  /** Codes of the problems that it answers, beside those that every route can. */
  readonly problems: readonly ErrorCode[]
}

const worker = { tag: 'workers', params: workers.WorkerParams } as const
const task = { tag: 'tasks', params: tasks.TaskParams } as const
const submit: readonly ErrorCode[] = [
  'idempotency_conflict',
  'too_large',
  'rate_limited',
  'queue_full',
  'commit_unknown',
]
const replayed = { 'Idempotency-Replayed': 'true when an earlier submission made the task' }
const healthy = closed({ status: Type.String() })
const about = closed({
  name: Type.String(),
  version: Type.String(),
  links: Type.Record(Type.String(), Type.String(), { description: 'Paths by what stands there.' }),
})

/** Every route by its operation id. */
export const apiRoutes = {
  submitTask: {
    method: 'POST',
    path: `${apiBase}/tasks`,
    tag: 'tasks',
    summary: 'Submit a task',
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
    headers: closed({ traceparent: tasks.TaskHeaders.properties.traceparent }),
    body: tasks.SubmitBatch,
    bodyLimit: 'batch',
    responses: {
      202: { description: 'Accepted, in the order given.', schema: tasks.SubmittedBatch },
      200: { description: 'All of them were replays.', schema: tasks.SubmittedBatch, headers: replayed },
    },
    problems: [...submit, 'batch_spans_shards'],
  },
  getTask: {
    ...task,
    method: 'GET',
    path: `${apiBase}/tasks/{task_id}`,
    summary: 'Read a task',
    description: 'With `wait_seconds` the answer is held until the task has ended, at most that long.',
    query: tasks.TaskQuery,
    responses: { 200: { description: 'The whole record.', schema: tasks.Task } },
    problems: ['not_found'],
  },
  cancelTask: {
    ...task,
    method: 'POST',
    path: `${apiBase}/tasks/{task_id}/cancel`,
    summary: 'Cancel a task',
    description: 'A waiting task is CANCELLED at once. A running one is marked and its worker is told.',
    responses: {
      200: { description: 'CANCELLED.', schema: tasks.CancelledTask },
      202: { description: 'RUNNING and marked.', schema: tasks.CancelledTask },
    },
    problems: ['not_found', 'wrong_state'],
  },
  retryTask: {
    ...task,
    method: 'POST',
    path: `${apiBase}/tasks/{task_id}/retry`,
    summary: 'Run a finished task again',
    description: 'FAILED, DEAD and CANCELLED tasks become PENDING with their retries restored.',
    responses: { 200: { description: 'The record as it stands now.', schema: tasks.Task } },
    problems: ['not_found', 'wrong_state'],
  },
  listAttempts: {
    ...task,
    method: 'GET',
    path: `${apiBase}/tasks/{task_id}/attempts`,
    summary: 'List the attempts of a task',
    responses: { 200: { description: 'Oldest first.', schema: tasks.AttemptList } },
    problems: ['not_found'],
  },
  listEvents: {
    ...task,
    method: 'GET',
    path: `${apiBase}/tasks/{task_id}/events`,
    summary: 'List every transition of a task: when, by whom, why',
    responses: { 200: { description: 'Oldest first.', schema: tasks.TaskEventList } },
    problems: ['not_found'],
  },
  listQueues: {
    method: 'GET',
    path: `${apiBase}/queues`,
    tag: 'queues',
    summary: 'List the queues with their depths',
    responses: { 200: { description: 'By name.', schema: QueueList } },
    problems: [],
  },
  registerWorker: {
    method: 'POST',
    path: `${apiBase}/workers`,
    tag: 'workers',
    summary: 'Open a session for a worker',
    body: workers.RegisterWorker,
    bodyLimit: 'single',
    responses: { 201: { description: 'The session.', schema: workers.WorkerSessionSchema } },
    problems: [],
  },
  pollTasks: {
    ...worker,
    method: 'POST',
    path: `${apiBase}/workers/{worker_id}/poll`,
    summary: 'Take tasks, waiting for them if there are none',
    body: workers.Poll,
    bodyLimit: 'single',
    responses: { 200: { description: 'The tasks granted; empty after the wait.', schema: workers.PollAnswer } },
    problems: ['session_lost'],
  },
  reportOutcomes: {
    ...worker,
    method: 'POST',
    path: `${apiBase}/workers/{worker_id}/report`,
    summary: 'Report how attempts ended',
    description: 'Each report is judged alone. Repeated after a lost answer, it is answered alike.',
    body: workers.ReportRequest,
    bodyLimit: 'batch',
    responses: { 200: { description: 'In the order given.', schema: workers.ReportAnswer } },
    problems: ['session_lost', 'too_large', 'commit_unknown'],
  },
  exchange: {
    ...worker,
    method: 'POST',
    path: `${apiBase}/workers/{worker_id}/exchange`,
    summary: 'Report and poll in one call',
    body: workers.Exchange,
    bodyLimit: 'batch',
    responses: {
      200: { description: 'The verdicts on the reports, and the tasks granted.', schema: workers.ExchangeAnswer },
    },
    problems: ['session_lost', 'too_large', 'commit_unknown'],
  },
  heartbeat: {
    ...worker,
    method: 'POST',
    path: `${apiBase}/workers/{worker_id}/heartbeat`,
    summary: 'Keep the session and all its leases alive',
    description: 'Held open up to `wait_seconds`; answers at once when there is something to say.',
    body: workers.Heartbeat,
    bodyLimit: 'batch',
    responses: { 200: { description: 'What the worker has to do.', schema: workers.HeartbeatAnswer } },
    problems: ['session_lost', 'too_large'],
  },
  leave: {
    ...worker,
    method: 'DELETE',
    path: `${apiBase}/workers/{worker_id}`,
    summary: 'Close a session',
    responses: { 204: { description: 'What it still held goes back.' } },
    problems: ['session_lost'],
  },
  about: {
    method: 'GET',
    path: '/',
    tag: 'system',
    summary: 'What answers here, and where the rest is',
    responses: { 200: { description: 'Name, version and paths.', schema: about } },
    problems: [],
  },
  healthz: {
    method: 'GET',
    path: '/healthz',
    tag: 'system',
    summary: 'Is the process alive',
    responses: { 200: { description: 'It is.', schema: healthy } },
    problems: [],
  },
  readyz: {
    method: 'GET',
    path: '/readyz',
    tag: 'system',
    summary: 'Can it serve',
    responses: { 200: { description: 'The store is reachable and migrated.', schema: healthy } },
    problems: ['store_unavailable', 'shutting_down'],
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    tag: 'system',
    summary: 'Metrics in the Prometheus text format',
    responses: { 200: { description: 'The metrics of this node.', contentType: 'text/plain' } },
    problems: [],
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    tag: 'system',
    summary: 'This description, as OpenAPI 3.1',
    responses: { 200: { description: 'The document.', contentType: 'application/json' } },
    problems: [],
  },
} as const satisfies Record<string, ApiRoute>

export type OperationId = keyof typeof apiRoutes

/** The routes as a list, with their operation ids. */
export const routeList: readonly (ApiRoute & { readonly operationId: OperationId })[] = (
  Object.keys(apiRoutes) as OperationId[]
).map((operationId) => ({ ...(apiRoutes[operationId] as ApiRoute), operationId }))

/** Problems that any route with a body, or any route at all, can answer. */
export function problemsOf(route: ApiRoute): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>(route.problems)
  if (route.params !== undefined || route.query !== undefined || route.body !== undefined) codes.add('invalid_request')
  if (route.body !== undefined)
    for (const code of ['invalid_json', 'too_large', 'unsupported_media_type'] as const) codes.add(code)
  if (route.tag !== 'system') for (const code of ['store_unavailable', 'shutting_down'] as const) codes.add(code)
  codes.add('internal')
  return [...codes]
}
