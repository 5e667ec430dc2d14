import type { Duration } from '../duration.js'
import { toMs } from '../duration.js'

/** Thrown by a handler: trying again is useless. The task ends FAILED, whatever retries are left. */
export class PermanentError extends Error {
  override readonly name: string = 'PermanentError'
}

/** Thrown or returned by a handler: the attempt failed, and the next one starts after this delay instead of the drawn one. */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter'
  readonly delayMs: number

  constructor(delay: Duration, cause?: unknown) {
    super(cause instanceof Error ? cause.message : `retry after ${toMs(delay)} ms`, { cause })
    this.delayMs = toMs(delay)
  }
}

/** Thrown or returned by a handler: not now. The task goes back to sleep; that is no failure and uses up no retry. */
export class Snooze extends Error {
  override readonly name = 'Snooze'
  readonly delayMs: number

  constructor(delay: Duration) {
    super(`snoozed for ${toMs(delay)} ms`)
    this.delayMs = toMs(delay)
  }
}

/** Reason of the signal: the attempt passed its time limit. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/** Reason of the signal: someone cancelled the task. */
export class TaskCancelledError extends Error {
  override readonly name = 'TaskCancelledError'
}

/** Reason of the signal: the attempt no longer holds its lease; what it does from now on counts for nothing (I4). */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** Reason of the signal: the worker stops and its grace is over; the task is given back. */
export class WorkerStoppingError extends Error {
  override readonly name = 'WorkerStoppingError'
}
