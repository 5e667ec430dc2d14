import type { Metadata } from '../client/records.js'
import type { AnyTask, SubmitOptions } from '../client/submission.js'
import type { TaskHandle } from '../client/task-handle.js'
import type { Tasks } from '../client/tasks.js'
import type { TaskDefinition } from '../define-task.js'
import type { Duration } from '../duration.js'
import type { Attempt } from './attempt.js'
import { RetryAfter, Snooze } from './handler-errors.js'

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
export interface TaskContext {
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
  /** Results of the tasks this one depended on, by node name. */
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
  /** To throw or return: failed, try again after this delay (e.g. from a 429's Retry-After). */
  retryAfter(delay: Duration, cause?: unknown): RetryAfter
  /** To throw or return: not now, come back after this delay; no failure. */
  snooze(delay: Duration): Snooze
}

/** What a context needs of its worker. */
export interface ContextServices {
  readonly tasks: Tasks
  saveCheckpoint(attempt: Attempt, value: unknown): Promise<void>
  progress(attempt: Attempt, percent: number, note: string | null): void
  log(attempt: Attempt, level: LogLevel, message: string): void
}

const NO_METADATA: Metadata = Object.freeze({})
const NO_RESULTS: Readonly<Record<string, unknown>> = Object.freeze({})

/** Reads through to the grant: nothing is copied for a handler that looks at nothing. */
export class HandlerContext implements TaskContext {
  readonly #attempt: Attempt
  readonly #services: ContextServices
  #checkpoint: Checkpoint | null = null

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
    const tenant = this.metadata.tenant_id
    const inherited = {
      ...(this.traceparent === null ? {} : { traceparent: this.traceparent }),
      ...(typeof tenant === 'string' ? { tenant } : {}),
    }
    return this.#services.tasks.submit(task as AnyTask, payload, { ...inherited, ...options })
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
