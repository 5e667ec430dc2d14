import { type AttemptRecord, type EventRecord, rawOf, type TaskRecord } from '@duly/sdk'
import { facts, table } from './table.js'

/** A task for a reader: what matters at a glance first, then what was asked, then how it ended. */
export function renderTask(task: TaskRecord): string {
  const { error } = task
  return facts([
    ['task', task.id],
    ['status', statusText(task)],
    ['type', task.taskType],
    ['queue', `${task.queue} (${task.priority})`],
    ['attempts', `${task.attempts} (${task.failures} failed, ${task.crashes} lost)`],
    ['created', instant(task.createdAt)],
    ['scheduled', instant(task.scheduledAt)],
    ['started', instant(task.startedAt)],
    ['completed', instant(task.completedAt)],
    ['took', task.durationMs === null ? null : `${task.durationMs} ms`],
    ['worker', task.workerId],
    ['progress', task.progress && `${task.progress.percent} % ${task.progress.note ?? ''}`.trim()],
    ['key', task.idempotencyKey],
    ['tags', task.tags.join(', ')],
    ['metadata', task.metadata && exactJson(task, 'metadata')],
    ['payload', exactJson(task, 'payload')],
    ['error', error && `${error.class}: ${error.message}`],
    ['result', task.result === null ? null : exactJson(task, 'result')],
  ])
}

/** A value of the user's with the digits and keys that the server told, laid out like JSON.stringify does it. */
export function exactJson(task: TaskRecord, name: 'payload' | 'result' | 'metadata', indent = 0): string {
  return rawOf(task)?.member(name)?.format(indent) ?? JSON.stringify(task[name], null, indent)
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
