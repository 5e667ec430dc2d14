import type { Metadata } from '../client/records.js'
import type { AnyTask, SubmitArguments, SubmitResult } from '../client/submission.js'
import type { TaskHandle } from '../client/task-handle.js'
import type { Tasks } from '../client/tasks.js'
import type { AddedTasks, WorkflowBuilder, WorkflowOptions } from '../client/workflow-builder.js'
import type { AddedReceipt } from '../client/workflow-records.js'
import type { Workflows } from '../client/workflows.js'
import type { DependencyDefinitions, NoDependencies } from '../define-task.js'
import type { Duration } from '../duration.js'
import type { Attempt } from './attempt.js'
import type { ChildOptions, Children } from './child-tasks.js'
import type { Dependencies } from './dependencies.js'
import type { RetryAfter, Snooze } from './handler-errors.js'
import type { WireDependencyResults } from './wire.js'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** A handler's saved state: given to the next attempt, if this one does not finish. */
export interface Checkpoint {
  /** What an earlier attempt saved, or this one; null when nothing was. */
  readonly value: unknown
  /**
   * Saves a JSON value (256 KiB at most). Resolves when the server has it.
   *
   * @throws RangeError when it is too large; LeaseLostError
   */
  set(value: unknown): Promise<void>
}

/** What a handler is told about its attempt, and what it may do besides returning. */
export interface TaskContext<Declared extends DependencyDefinitions = NoDependencies> {
  /** Aborts at the time limit, on cancellation, when the lease is lost and when the worker's grace ends; the reason tells which. */
  readonly signal: AbortSignal
  readonly taskId: string
  readonly taskType: string
  readonly queue: string
  /** Numbered from 1. */
  readonly attempt: number
  /** Failures before this attempt; what the retry limit counts. */
  readonly failures: number
  /** When the time limit ends, by the server's clock; for information. The signal follows the monotonic clock. */
  readonly deadline: Date
  /** The lease: unique to this attempt. Pass it on to refuse writes of an older attempt. */
  readonly fence: string
  /** The submission's key, or the task id: the same in every attempt. For calls to other services. */
  readonly idempotencyKey: string
  /** The recurring task that made this one; null: none. */
  readonly cronId: string | null
  /** When it was asked to run; of a recurring task the fire time, however late it started. Null: at once, or triggered by hand. */
  readonly scheduledAt: Date | null
  readonly metadata: Metadata
  readonly traceparent: string | null
  /** The workflow that it is a task of; null: none. */
  readonly workflowId: string | null
  /** Its name in that workflow. */
  readonly nodeName: string | null
  /** The tasks of the workflow that it waited for: how they ended, and their results. */
  readonly dependencies: Dependencies<Declared>
  /** Those of their results that came along with the task, by name, as JSON has them; see {@link dependencies} for all. */
  readonly dependencyResults: Readonly<Record<string, unknown>>
  readonly checkpoint: Checkpoint
  /** Shows how far it is, 0 to 100. Sent in the background, the latest one only. */
  progress(percent: number, note?: string): void
  /** Writes a line to the task's log. Sent in the background; when more come than can be sent, a line says how many are missing. */
  log(level: LogLevel, message: string): void
  /**
   * Submits a task in the same trace and tenant; from a task of a workflow it is one of that workflow, which starts as soon as it is due, beside
   * this one, and which the workflow does not end before. Each attempt may submit the same ones again, in any order: they are there once.
   * With an `idempotencyKey` it is a task by itself. Resolves when it is durable (I1); the attempt ends behind it, awaited or not.
   *
   * @throws InvalidPayloadError, DulyApiError, DulyConnectionError, LeaseLostError, TypeError for an unknown option
   */
  submit<Task extends AnyTask | string>(
    task: Task,
    ...more: SubmitArguments<Task, ChildOptions>
  ): Promise<TaskHandle<SubmitResult<Task>>>
  /**
   * A workflow of its own to put together and submit, in the same trace and tenant; as {@link Duly.workflow}. With
   * `submit({ idempotencyKey: context.idempotencyKey })` all attempts make one.
   *
   * @throws TypeError for an unknown option
   */
  workflow(name: string, options?: WorkflowOptions): WorkflowBuilder
  /**
   * Adds tasks to the workflow, behind this one: what is given no `after` waits for this task. Which tasks come next is often known only here.
   * Each attempt may add the same ones again: they are there once. Resolves when they are durable (I1).
   *
   * @throws Error when the task is none of a workflow; TypeError; InvalidPayloadError; LeaseLostError; DulyApiError
   */
  addTasks(build: (graph: AddedTasks) => unknown): Promise<ReadonlyMap<string, AddedReceipt>>
  /** To throw or return: failed, try again after this delay (e.g. from a 429's Retry-After). */
  retryAfter(delay: Duration, cause?: unknown): RetryAfter
  /** To throw or return: not now, come back after this delay; no failure. */
  snooze(delay: Duration): Snooze
}

/** What a context needs of its worker. */
export interface ContextServices {
  readonly tasks: Tasks
  readonly workflows: Pick<Workflows, 'submitText'>
  saveCheckpoint(attempt: Attempt, value: unknown): Promise<void>
  progress(attempt: Attempt, percent: number, note: string | null): void
  log(attempt: Attempt, level: LogLevel, message: string): void
  dependencyResults(attempt: Attempt, names: readonly string[]): Promise<WireDependencyResults>
  addTasks(attempt: Attempt, tasks: readonly string[]): Promise<ReadonlyMap<string, AddedReceipt>>
  /** What takes the submissions of a task of a workflow. */
  childrenOf(attempt: Attempt): Children
}
