import { encodeId, priorityName } from '@duly/domain'
import type {
  AttemptRecord,
  CancelResult,
  EventRecord,
  RunRecord,
  Submitted,
  TaskError,
  TaskRecord,
  TaskSummary,
} from '../model.js'
import { traceIdOf } from './traceparent.js'
import { instant, raw, toSeconds, type Writable, type WritableObject, writeJson } from './write-json.js'

const optionalId = (prefix: 'worker' | 'wf' | 'cron', id: string | null): string | null =>
  id === null ? null : encodeId(prefix, id)

const errorOf = (error: TaskError | null): Writable =>
  error === null ? null : { class: error.class, message: error.message, stack: error.stack }

/** Every list has the same envelope; these are short enough to have one page. */
const listOf = (items: readonly Writable[]): string => writeJson({ items, next_cursor: null })

export function writeSubmitted(task: Submitted): string {
  return writeJson({
    task_id: encodeId('task', task.id),
    status: task.status,
    scheduled_at: instant(task.scheduledAtMs),
    created_at: instant(task.createdAtMs),
  })
}

export function writeSubmittedBatch(tasks: readonly Submitted[]): string {
  const items = tasks.map(({ id, status, replayed }) => ({ task_id: encodeId('task', id), status, replayed }))
  return writeJson({ tasks: items })
}

/** A task as lists tell it. */
export function summaryOf(task: TaskSummary): WritableObject {
  const error = task.error === null ? null : { class: task.error.class, message: task.error.message }
  return {
    ...identityOf(task),
    ...labelsOf(task),
    ...timesOf(task),
    ...policyOf(task),
    ...progressOf(task),
    error,
    ...originOf(task),
  }
}

export function runOf(run: RunRecord): WritableObject {
  return {
    run: run.run,
    status: run.status,
    started_at: instant(run.startedAtMs),
    completed_at: instant(run.completedAtMs),
    replayed_at: instant(run.replayedAtMs),
    last_attempt: run.lastAttempt,
    failures: run.failures,
    crashes: run.crashes,
    reason: run.reason,
    worker_id: optionalId('worker', run.workerId),
    worker_name: run.workerName,
    error: errorOf(run.error),
  }
}

/** The whole record of a task; payload, metadata and result as the texts that were accepted. */
export function writeTask(task: TaskRecord): string {
  return writeJson({
    ...identityOf(task),
    payload: raw(task.payload),
    ...labelsOf(task),
    ...timesOf(task),
    ...policyOf(task),
    ...progressOf(task),
    result: raw(task.result),
    error: errorOf(task.error),
    ...originOf(task),
  })
}

function identityOf(task: TaskSummary): WritableObject {
  return {
    task_id: encodeId('task', task.id),
    status: task.status,
    tenant_id: task.tenant,
    task_type: task.taskType,
    queue: task.queue,
    priority: priorityName(task.priority),
  }
}

const labelsOf = (task: TaskSummary): WritableObject => ({ metadata: raw(task.metadata), tags: task.tags })

function timesOf(task: TaskSummary): WritableObject {
  const ran = task.startedAtMs !== null && task.completedAtMs !== null
  return {
    created_at: instant(task.createdAtMs),
    scheduled_at: instant(task.scheduledAtMs),
    due_at: instant(task.dueAtMs),
    expires_at: instant(task.expiresAtMs),
    started_at: instant(task.startedAtMs),
    completed_at: instant(task.completedAtMs),
    duration_ms: ran ? Math.max(0, Math.round((task.completedAtMs ?? 0) - (task.startedAtMs ?? 0))) : null,
  }
}

function policyOf(task: TaskSummary): WritableObject {
  return {
    max_retries: task.maxRetries,
    retry_backoff: task.backoff,
    retry_jitter: task.jitter,
    retry_delay_seconds: toSeconds(task.retryDelayMs),
    retry_max_delay_seconds: toSeconds(task.retryMaxDelayMs),
    timeout_seconds: toSeconds(task.timeoutMs),
  }
}

function progressOf(task: TaskSummary): WritableObject {
  return {
    attempts: task.attempts,
    failures: task.failures,
    crashes: task.crashes,
    cancel_requested: task.cancelRequested,
    reason: task.reason,
    worker_id: optionalId('worker', task.workerId),
    worker_name: task.workerName,
    progress: task.progress === null ? null : { percent: task.progress.percent, note: task.progress.note },
  }
}

function originOf(task: TaskSummary): WritableObject {
  return {
    idempotency_key: task.idempotencyKey,
    concurrency_key: task.concurrencyKey,
    workflow_id: optionalId('wf', task.workflowId),
    node_name: task.nodeName,
    cron_id: optionalId('cron', task.cronId),
    trace_id: traceIdOf(task.traceparent),
    discarded_at: instant(task.discardedAtMs),
  }
}

export function writeCancelled(result: CancelResult): string {
  return writeJson({
    task_id: encodeId('task', result.id),
    status: result.status,
    cancel_requested: result.cancelRequested,
    cancelled_at: instant(result.cancelledAtMs),
  })
}

export function writeAttempts(attempts: readonly AttemptRecord[]): string {
  return listOf(
    attempts.map((attempt) => ({
      attempt: attempt.attempt,
      run: attempt.run,
      worker_id: optionalId('worker', attempt.workerId),
      worker_name: attempt.workerName,
      started_at: instant(attempt.startedAtMs),
      ended_at: instant(attempt.endedAtMs),
      outcome: attempt.outcome,
      error: errorOf(attempt.error),
      retry_delay_seconds: attempt.retryDelayMs === null ? null : toSeconds(attempt.retryDelayMs),
    })),
  )
}

export function writeEvents(events: readonly EventRecord[]): string {
  return listOf(
    events.map((event) => ({
      at: instant(event.at),
      transition: event.transition,
      from_status: event.fromStatus,
      to_status: event.toStatus,
      attempt: event.attempt,
      actor: event.actor,
      reason: event.reason,
    })),
  )
}
