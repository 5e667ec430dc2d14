import type { Metadata } from '../client/records.js'
import type { AnyTask, SubmitOptions } from '../client/submission.js'
import type { TaskHandle } from '../client/task-handle.js'
import type { Tasks } from '../client/tasks.js'
import { AddedTasks, WorkflowBuilder, type WorkflowOptions } from '../client/workflow-builder.js'
import type { NodeReceipt } from '../client/workflow-records.js'
import type { Workflows } from '../client/workflows.js'
import type { DependencyDefinitions, NoDependencies, TaskDefinition } from '../define-task.js'
import type { Duration } from '../duration.js'
import type { Attempt } from './attempt.js'
import { AttemptDependencies, type Dependencies } from './dependencies.js'
import { RetryAfter, Snooze } from './handler-errors.js'
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
  /** Submits a task in the same trace and tenant. */
  submit<PayloadIn, Result>(
    task: TaskDefinition<PayloadIn, unknown, unknown, Result>,
    payload: PayloadIn,
    options?: SubmitOptions,
  ): Promise<TaskHandle<Result>>
  submit(taskType: string, payload?: unknown, options?: SubmitOptions): Promise<TaskHandle>
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
  addTasks(build: (graph: AddedTasks) => unknown): Promise<ReadonlyMap<string, NodeReceipt>>
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
  addTasks(attempt: Attempt, tasks: readonly string[]): Promise<ReadonlyMap<string, NodeReceipt>>
}

const NO_METADATA: Metadata = Object.freeze({})
const NO_RESULTS: Readonly<Record<string, unknown>> = Object.freeze({})

/** Reads through to the grant: nothing is copied for a handler that looks at nothing. */
export class HandlerContext implements TaskContext {
  readonly #attempt: Attempt
  readonly #services: ContextServices
  #checkpoint: Checkpoint | null = null
  #dependencies: Dependencies | null = null

  constructor(attempt: Attempt, services: ContextServices) {
    this.#attempt = attempt
    this.#services = services
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get taskId(): string {
    return this.#attempt.grant.task_id
  }

  get taskType(): string {
    return this.#attempt.grant.task_type
  }

  get queue(): string {
    return this.#attempt.grant.queue
  }

  get attempt(): number {
    return this.#attempt.grant.attempt
  }

  get failures(): number {
    return this.#attempt.grant.failures
  }

  get deadline(): Date {
    return new Date(this.#attempt.grant.deadline_at)
  }

  get fence(): string {
    return this.#attempt.grant.lease
  }

  get idempotencyKey(): string {
    return this.#attempt.grant.idempotency_key
  }

  get cronId(): string | null {
    return this.#attempt.grant.cron_id ?? null
  }

  get scheduledAt(): Date | null {
    const { scheduled_at: at } = this.#attempt.grant
    return at === undefined || at === null ? null : new Date(at)
  }

  get metadata(): Metadata {
    return this.#attempt.grant.metadata ?? NO_METADATA
  }

  get traceparent(): string | null {
    return this.#attempt.grant.traceparent ?? null
  }

  get workflowId(): string | null {
    return this.#attempt.grant.workflow_id ?? null
  }

  get nodeName(): string | null {
    return this.#attempt.grant.node_name ?? null
  }

  get dependencies(): Dependencies {
    this.#dependencies ??= new AttemptDependencies(this.#attempt, (names) =>
      this.#services.dependencyResults(this.#attempt, names),
    )
    return this.#dependencies
  }

  get dependencyResults(): Readonly<Record<string, unknown>> {
    return this.#attempt.grant.dependency_results ?? NO_RESULTS
  }

  get checkpoint(): Checkpoint {
    this.#checkpoint ??= new AttemptCheckpoint(this.#attempt, this.#services)
    return this.#checkpoint
  }

  progress(percent: number, note?: string): void {
    this.#services.progress(this.#attempt, percent, note ?? null)
  }

  log(level: LogLevel, message: string): void {
    this.#services.log(this.#attempt, level, message)
  }

  submit<PayloadIn, Result>(
    task: TaskDefinition<PayloadIn, unknown, unknown, Result>,
    payload: PayloadIn,
    options?: SubmitOptions,
  ): Promise<TaskHandle<Result>>
  submit(taskType: string, payload?: unknown, options?: SubmitOptions): Promise<TaskHandle>
  submit(task: AnyTask | string, payload?: unknown, options: SubmitOptions = {}): Promise<TaskHandle> {
    return this.#services.tasks.submit(task as AnyTask, payload, { ...this.#trace, ...this.#tenant, ...options })
  }

  workflow(name: string, options: WorkflowOptions = {}): WorkflowBuilder {
    const { workflows } = this.#services
    return new WorkflowBuilder({ workflows, ...this.#trace }, name, { ...this.#tenant, ...options })
  }

  get #trace(): { readonly traceparent?: string } {
    return this.traceparent === null ? {} : { traceparent: this.traceparent }
  }

  get #tenant(): { readonly tenant?: string } {
    const tenant = this.metadata.tenant_id
    return typeof tenant === 'string' ? { tenant } : {}
  }

  async addTasks(build: (graph: AddedTasks) => unknown): Promise<ReadonlyMap<string, NodeReceipt>> {
    if (this.workflowId === null) throw new Error('this task is none of a workflow: there is nothing to add tasks to')
    const graph = new AddedTasks()
    await build(graph)
    if (graph.size === 0) return new Map()
    return this.#services.addTasks(this.#attempt, await graph.texts())
  }

  retryAfter(delay: Duration, cause?: unknown): RetryAfter {
    return new RetryAfter(delay, cause)
  }

  snooze(delay: Duration): Snooze {
    return new Snooze(delay)
  }
}

class AttemptCheckpoint implements Checkpoint {
  readonly #attempt: Attempt
  readonly #services: ContextServices
  #value: unknown

  constructor(attempt: Attempt, services: ContextServices) {
    this.#attempt = attempt
    this.#services = services
    this.#value = attempt.grant.checkpoint
  }

  get value(): unknown {
    return this.#value
  }

  async set(value: unknown): Promise<void> {
    await this.#services.saveCheckpoint(this.#attempt, value)
    this.#value = value
  }
}
