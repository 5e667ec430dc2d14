import type { BackoffKind, JitterKind, Priority } from '../define-task.js'
import type { TaskErrorInfo } from '../errors.js'

/** Where a task stands. */
export const TASK_STATUSES = [
  'SCHEDULED',
  'PENDING',
  'BLOCKED',
  'RUNNING',
  'RETRYING',
  'SUCCEEDED',
  'FAILED',
  'DEAD',
  'CANCELLED',
] as const

export type TaskStatus = (typeof TASK_STATUSES)[number]

const FINISHED: ReadonlySet<TaskStatus> = new Set<TaskStatus>(['SUCCEEDED', 'FAILED', 'DEAD', 'CANCELLED'])

/** Whether a task in this status has ended (only a replay opens it again). */
export function isFinished(status: TaskStatus): boolean {
  return FINISHED.has(status)
}

export type Metadata = Readonly<Record<string, string | number | boolean>>

/** Everything the server tells of a task. */
export interface TaskRecord<Payload = unknown, Result = unknown> {
  readonly id: string
  readonly status: TaskStatus
  readonly tenantId: string
  readonly taskType: string
  readonly queue: string
  readonly priority: Priority
  readonly payload: Payload
  readonly metadata: Metadata | null
  readonly tags: readonly string[]
  readonly createdAt: Date
  readonly scheduledAt: Date | null
  /** When it becomes ready next: scheduled, snoozed or retrying. */
  readonly dueAt: Date | null
  readonly expiresAt: Date | null
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly durationMs: number | null
  readonly maxRetries: number
  readonly retryBackoff: BackoffKind
  readonly retryJitter: JitterKind
  readonly retryDelaySeconds: number
  readonly retryMaxDelaySeconds: number
  readonly timeoutSeconds: number
  readonly attempts: number
  readonly failures: number
  readonly crashes: number
  readonly cancelRequested: boolean
  readonly reason: string | null
  readonly workerId: string | null
  readonly workerName: string | null
  readonly result: Result | null
  readonly error: TaskErrorInfo | null
  readonly idempotencyKey: string | null
  readonly concurrencyKey: string | null
  readonly workflowId: string | null
  /** Its name in that workflow. */
  readonly nodeName: string | null
  readonly cronId: string | null
  readonly traceId: string | null
  /** When a DEAD task was taken out of the dead letters. */
  readonly discardedAt: Date | null
  readonly progress: { readonly percent: number; readonly note: string | null } | null
}

/** What a list tells of a task: no payload, no result, and no stack of its error. */
export type TaskSummary = Omit<TaskRecord, 'payload' | 'result' | 'error'> & {
  readonly error: Omit<TaskErrorInfo, 'stack'> | null
}

/** From the submission, or a retry by hand, to the end. */
export interface RunRecord {
  readonly run: number
  readonly status: TaskStatus
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  /** When a retry took its end back; null: the current run. */
  readonly replayedAt: Date | null
  /** Attempts count on over the runs. */
  readonly lastAttempt: number
  readonly failures: number
  readonly crashes: number
  readonly reason: string | null
  readonly workerId: string | null
  readonly workerName: string | null
  readonly error: TaskErrorInfo | null
}

/** The answer to a submission. */
export interface SubmitReceipt {
  readonly id: string
  readonly status: TaskStatus
  /** Null in the receipts of a batch, as is `createdAt`: they tell only what differs from item to item. */
  readonly scheduledAt: Date | null
  readonly createdAt: Date | null
}

export interface AttemptRecord {
  readonly attempt: number
  /** Raised by each replay. */
  readonly run: number
  readonly workerId: string | null
  readonly workerName: string | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly outcome: string
  readonly error: TaskErrorInfo | null
  readonly retryDelaySeconds: number | null
}

export interface EventRecord {
  readonly at: Date
  readonly transition: string
  readonly fromStatus: TaskStatus | null
  readonly toStatus: TaskStatus
  readonly attempt: number | null
  readonly actor: string
  readonly reason: string | null
}

/** A line that a handler logged. */
export interface LogLine {
  /** Its number in the log of the task, from 1, over all attempts and runs. */
  readonly line: number
  readonly attempt: number
  /** By the worker's own clock. */
  readonly at: Date
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** As the handler wrote it: it may hold control characters. */
  readonly message: string
}

/** Lines of a task's log, and how it stands. */
export interface LogPage {
  readonly items: readonly LogLine[]
  /** Null: `isComplete`. */
  readonly nextCursor: string | null
  readonly hasMore: boolean
  /** The task has ended, and this page brings the last of its lines. */
  readonly isComplete: boolean
  /** Lines that the log had no room for. */
  readonly droppedLines: number
  readonly progress: { readonly percent: number; readonly note: string | null; readonly updatedAt: Date } | null
}

/** The answer to a cancellation: CANCELLED at once, or RUNNING with `cancelRequested` (the worker is told). */
export interface CancelReceipt {
  readonly id: string
  readonly status: TaskStatus
  readonly cancelRequested: boolean
  readonly cancelledAt: Date | null
}

/** The answer to the revocation of a key. */
export interface RevokedApiKey {
  /** No other live key may manage everybody's keys: only whoever has the database can make the next one. */
  readonly lastAdmin: boolean
}

/** What a key is good for; `admin` includes the others. */
export type ApiKeyScope = 'submit' | 'read' | 'work' | 'admin'

export interface ApiKeyRecord {
  readonly id: string
  readonly name: string
  readonly scopes: readonly ApiKeyScope[]
  /** Null: bound to none. */
  readonly tenantId: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  /** To the minute. */
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

export interface CreatedApiKey extends ApiKeyRecord {
  /** Shown this once. */
  readonly secret: string
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}
