import type { Priority, TaskStatus, Uuid } from '@duly/domain'
import type { JsonText, TaskError, TaskRecord } from './tasks.js'

/** A page of a list in the order of a key: what comes behind `after`; null: the first page. */
export interface PageRequest {
  readonly after: string | null
  readonly limit: number
}

export interface Page<T> {
  readonly items: readonly T[]
  /** The key behind which the next page begins; null: this is the last one. A short or empty page may have one. */
  readonly next: string | null
}

/** What a list tells of a task: everything but what can be large. Of its error no stack. */
export type TaskSummary = Omit<TaskRecord, 'payload' | 'result'>

/** Which tasks a list holds; null: whichever. All of them must fit. */
export interface TaskFilters {
  readonly status: TaskStatus | null
  readonly taskType: string | null
  readonly queue: string | null
  readonly tenant: string | null
  readonly tag: string | null
  readonly workflowId: Uuid | null
  readonly cronId: Uuid | null
  /** Created at or after this instant, epoch ms. */
  readonly createdAfterMs: number | null
  /** Created before this instant, epoch ms. */
  readonly createdBeforeMs: number | null
  readonly correlationId: string | null
}

/** An edit of a task that waits; what is absent stays. */
export interface TaskEdit {
  /** Epoch ms; null or in the past: now. */
  readonly scheduledAtMs?: number | null
  readonly priority?: Priority
  readonly payload?: JsonText
  readonly queue?: string
  readonly maxRetries?: number
  readonly timeoutMs?: number
}

/** One run of a task: from its submission or a replay to its end. The last one may not have ended. */
export interface RunRecord {
  readonly run: number
  readonly status: TaskStatus
  readonly startedAtMs: number | null
  readonly completedAtMs: number | null
  /** When a replay took its end back; null: the current run. */
  readonly replayedAtMs: number | null
  readonly lastAttempt: number
  readonly failures: number
  readonly crashes: number
  readonly reason: string | null
  readonly workerId: Uuid | null
  readonly workerName: string | null
  readonly error: TaskError | null
}
