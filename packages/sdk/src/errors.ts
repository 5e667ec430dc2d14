import type { SchemaIssue } from './standard-schema.js'
import { describeIssues } from './standard-schema.js'

/** One invalid field of a request. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

/** The error of a task's last attempt. */
export interface TaskErrorInfo {
  readonly class: string
  readonly message: string
  readonly stack: string | null
}

/** The server answered with a problem document. */
export class DulyApiError extends Error {
  override readonly name = 'DulyApiError'
  readonly status: number
  /** Stable string of the error catalogue, e.g. `idempotency_conflict`. */
  readonly code: string
  readonly errors: readonly FieldError[]
  readonly requestId: string | null
  /** True when the server says that the same request may succeed later. */
  readonly retryable: boolean
  /** The server's `Retry-After`, ms. */
  readonly retryAfterMs: number | null

  constructor(problem: ApiProblem) {
    super(problem.message)
    this.status = problem.status
    this.code = problem.code
    this.errors = problem.errors
    this.requestId = problem.requestId
    this.retryAfterMs = problem.retryAfterMs
    this.retryable = problem.status === 429 || problem.status >= 500
  }
}

export interface ApiProblem {
  readonly message: string
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldError[]
  readonly requestId: string | null
  readonly retryAfterMs: number | null
}

/** No answer came: refused, reset, timed out or aborted. */
export class DulyConnectionError extends Error {
  override readonly name = 'DulyConnectionError'
  readonly retryable = true
  /** Of the operating system (`ECONNREFUSED` …), or `TIMEOUT`, `CUT`, `ABORTED`. */
  readonly code: string
  /** Whether the server may have acted on the request all the same. */
  readonly mayHaveArrived: boolean

  constructor(code: string, message: string, options: { readonly mayHaveArrived: boolean; readonly cause?: unknown }) {
    super(message, { cause: options.cause })
    this.code = code
    this.mayHaveArrived = options.mayHaveArrived
  }
}

/** A payload does not fit its definition's schema. Thrown by submissions before anything is sent. */
export class InvalidPayloadError extends Error {
  override readonly name = 'InvalidPayloadError'
  readonly issues: readonly SchemaIssue[]

  constructor(taskType: string, issues: readonly SchemaIssue[]) {
    super(`the payload of ${taskType} does not fit its schema: ${describeIssues(issues)}`)
    this.issues = issues
  }
}

/** A result does not fit its definition's schema. */
export class InvalidResultError extends Error {
  override readonly name = 'InvalidResultError'
  readonly issues: readonly SchemaIssue[]

  constructor(taskType: string, issues: readonly SchemaIssue[]) {
    super(`the result of ${taskType} does not fit its schema: ${describeIssues(issues)}`)
    this.issues = issues
  }
}

/** `handle.result()`: the task ended without a result. */
export class TaskFailedError extends Error {
  override readonly name = 'TaskFailedError'
  readonly taskId: string
  /** FAILED, DEAD or CANCELLED. */
  readonly status: string
  readonly error: TaskErrorInfo | null
  /** Why it ended so, where the error does not tell, e.g. `expired`. */
  readonly reason: string | null

  constructor(task: {
    readonly id: string
    readonly status: string
    readonly error: TaskErrorInfo | null
    readonly reason: string | null
  }) {
    const cause = task.error === null ? (task.reason ?? '') : `${task.error.class}: ${task.error.message}`
    super(`task ${task.id} ended ${task.status}${cause === '' ? '' : `: ${cause}`}`)
    this.taskId = task.id
    this.status = task.status
    this.error = task.error
    this.reason = task.reason
  }
}

/** `handle.result({ timeout })`: the task had not finished by then. It goes on. */
export class ResultTimeoutError extends Error {
  override readonly name = 'ResultTimeoutError'
  readonly taskId: string

  constructor(taskId: string, timeoutMs: number) {
    super(`task ${taskId} was not finished after ${timeoutMs} ms`)
    this.taskId = taskId
  }
}

/** `handle.result()` of a workflow: it ended FAILED or CANCELLED. */
export class WorkflowFailedError extends Error {
  override readonly name = 'WorkflowFailedError'
  readonly workflowId: string
  /** FAILED or CANCELLED. */
  readonly status: string
  /** The tasks that ended FAILED or DEAD by themselves: not those that failed for their dependencies. */
  readonly failed: readonly FailedNode[]

  constructor(workflow: { readonly id: string; readonly status: string; readonly graph: readonly FailedNode[] }) {
    const failed = workflow.graph.filter(
      ({ status, error }) => status === 'DEAD' || (status === 'FAILED' && error !== null),
    )
    super([`workflow ${workflow.id} ended ${workflow.status}`, ...failed.slice(0, 3).map(describeFailed)].join('; '))
    this.workflowId = workflow.id
    this.status = workflow.status
    this.failed = failed
  }
}

/** A task of a workflow that failed. */
export interface FailedNode {
  readonly name: string
  /** The id of the task. */
  readonly id: string
  readonly status: string
  readonly error: Omit<TaskErrorInfo, 'stack'> | null
}

function describeFailed({ name, status, error }: FailedNode): string {
  return `${name} ${status}${error === null ? '' : `: ${error.class}: ${error.message}`}`
}

/** `handle.result({ timeout })` of a workflow: tasks of it were open by then. It goes on. */
export class WorkflowTimeoutError extends Error {
  override readonly name = 'WorkflowTimeoutError'
  readonly workflowId: string

  constructor(workflowId: string, timeoutMs: number) {
    super(`workflow ${workflowId} was not finished after ${timeoutMs} ms`)
    this.workflowId = workflowId
  }
}

/** `context.dependencies.result(…)`: the dependency ended without a result. */
export class NoResultError extends Error {
  override readonly name = 'NoResultError'
  /** The name of the dependency in the workflow. */
  readonly dependency: string
  /** FAILED, DEAD or CANCELLED; null: it has not ended. */
  readonly status: string | null

  constructor(dependency: string, status: string | null) {
    super(`${dependency} has no result: ${status === null ? 'it has not ended' : `it ended ${status}`}`)
    this.dependency = dependency
    this.status = status
  }
}
