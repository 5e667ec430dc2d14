import {
  type AttemptRecord,
  type EventRecord,
  type RunRecord,
  rawOf,
  type TaskRecord,
  type TaskSummary,
} from '@duly/sdk'
import { facts, table } from './table.js'
import { fromNow } from './zoned.js'

/** A task for a reader: what matters at a glance first, then what was asked, then how it ended. */
export function renderTask(task: TaskRecord, now = new Date()): string {
  const { error } = task
  return facts([
    ['task', task.id],
    ['status', statusText(task)],
    ['type', task.taskType],
    ['queue', `${task.queue} (${task.priority})`],
    ['workflow', task.workflowId && `${task.workflowId}: ${task.nodeName}`],
    ['attempts', `${task.attempts} (${task.failures} failed, ${task.crashes} lost)`],
    ['created', instant(task.createdAt)],
    ['scheduled', instant(task.scheduledAt)],
    ['due', dueText(task, now)],
    ['recurring task', task.cronId],
    ['started', instant(task.startedAt)],
    ['completed', instant(task.completedAt)],
    ['discarded', instant(task.discardedAt)],
    ['took', task.durationMs === null ? null : `${task.durationMs} ms`],
    ['expires', instant(task.expiresAt)],
    ['max retries', task.maxRetries],
    ['time limit', `${task.timeoutSeconds} s an attempt`],
    ['worker', task.workerId],
    ['progress', task.progress && `${task.progress.percent} % ${task.progress.note ?? ''}`.trim()],
    ['idempotency key', task.idempotencyKey],
    ['correlation id', correlationOf(task)],
    ['tags', task.tags.join(', ')],
    ['metadata', task.metadata && exactJson(task, 'metadata')],
    ['payload', exactJson(task, 'payload')],
    ['error', error && `${error.class}: ${error.message}`],
    ['result', task.result === null ? null : exactJson(task, 'result')],
  ])
}

/** A value of the user's with the digits and keys that the server told, laid out like JSON.stringify does it. */
export function exactJson<N extends string>(record: { readonly [Name in N]: unknown }, name: N, indent = 0): string {
  return rawOf(record)?.member(name)?.format(indent) ?? JSON.stringify(record[name] ?? null, null, indent)
}

function correlationOf({ metadata }: TaskRecord): string | null {
  const id = metadata?.correlation_id
  return id === undefined ? null : String(id)
}

function statusText(task: TaskRecord): string {
  const notes = [task.cancelRequested && task.status === 'RUNNING' ? 'cancellation requested' : null, task.reason]
  const shown = notes.filter((note) => note !== null)
  return shown.length === 0 ? task.status : `${task.status} (${shown.join(', ')})`
}

export function renderAttempts(attempts: readonly AttemptRecord[]): string {
  if (attempts.length === 0) return 'No attempt yet.\n'
  const rows = attempts.map((attempt) => [
    attempt.attempt,
    attempt.outcome,
    instant(attempt.startedAt),
    instant(attempt.endedAt),
    attempt.workerId,
    attempt.retryDelaySeconds === null ? null : `${attempt.retryDelaySeconds} s`,
    attempt.error && `${attempt.error.class}: ${attempt.error.message}`,
  ])
  return table(['ATTEMPT', 'OUTCOME', 'STARTED', 'ENDED', 'WORKER', 'RETRY AFTER', 'ERROR'], rows)
}

export function renderTasks(tasks: readonly TaskSummary[], now = new Date()): string {
  if (tasks.length === 0) return 'No tasks.\n'
  const rows = tasks.map((task) => [
    task.id,
    task.status,
    task.taskType,
    task.queue,
    task.priority,
    task.tenantId,
    instant(task.createdAt),
    task.attempts,
    whyText(task, now),
  ])
  return table(['TASK', 'STATUS', 'TYPE', 'QUEUE', 'PRIORITY', 'TENANT', 'CREATED', 'ATTEMPTS', 'WHY'], rows)
}

/** What it waits for, and what went wrong before. */
function whyText(task: TaskSummary, now: Date): string | null {
  const why = task.error === null ? task.reason : `${task.error.class}: ${shortened(task.error.message)}`
  const due = dueText(task, now)
  return due === null ? why : why === null ? `due ${due}` : `due ${due}; ${why}`
}

/** When one that waits for its time starts or is tried again; null: it does not wait for that. */
function dueText({ status, dueAt }: TaskSummary, now: Date): string | null {
  if (!dueAt || (status !== 'SCHEDULED' && status !== 'RETRYING')) return null
  return `${instant(dueAt)}, ${fromNow(dueAt, now)}`
}

/** The beginning of a text that must not break a table. */
const shortened = (text: string): string => (text.length <= 60 ? text : `${text.slice(0, 59)}…`)

export function renderRuns(runs: readonly RunRecord[]): string {
  const rows = runs.map((run) => [
    run.run,
    run.status,
    instant(run.startedAt),
    instant(run.completedAt),
    instant(run.replayedAt),
    run.failures,
    run.crashes,
    run.error === null ? run.reason : `${run.error.class}: ${run.error.message}`,
  ])
  return table(['RUN', 'STATUS', 'STARTED', 'ENDED', 'RETRIED', 'FAILURES', 'CRASHES', 'WHY'], rows)
}

export function renderEvents(events: readonly EventRecord[]): string {
  if (events.length === 0) return 'No events.\n'
  const rows = events.map((event) => [
    instant(event.at),
    event.transition,
    event.fromStatus,
    event.toStatus,
    event.attempt,
    event.actor,
    event.reason,
  ])
  return table(['AT', 'TRANSITION', 'FROM', 'TO', 'ATTEMPT', 'BY', 'REASON'], rows)
}

function instant(at: Date | null | undefined): string | null {
  return at ? at.toISOString() : null
}
