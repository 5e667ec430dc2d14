import { DulyApiError, InvalidPayloadError, InvalidResultError, NoResultError } from '../errors.js'
import type { AbortCause, Attempt } from './attempt.js'
import { classifyHttpError, type ErrorClassifier, httpRetryAfterMs } from './classify.js'
import { PermanentError, RetryAfter, Snooze, TimeoutError } from './handler-errors.js'
import { CANCELLED, type Outcome, permanentFailure, RELEASED, reportedError } from './outcome.js'

export interface SettleRules {
  readonly classifyError: ErrorClassifier
  /** Longest result, bytes of JSON. */
  readonly maxResultBytes: number
}

/** The outcome of a handler that returned. */
export function outcomeOfReturn(attempt: Attempt, value: unknown, rules: SettleRules): Outcome {
  if (value instanceof Snooze || value instanceof RetryAfter) return outcomeOfThrow(attempt, value, rules)
  if (attempt.cause === 'timeout') return timedOut(attempt)
  let result: string | undefined
  try {
    result = JSON.stringify(value)
  } catch (error) {
    return permanentFailure(resultError(attempt, `is not JSON: ${error instanceof Error ? error.message : error}`))
  }
  if (exceeds(result, rules.maxResultBytes)) {
    return permanentFailure(resultError(attempt, `is larger than ${rules.maxResultBytes} bytes`))
  }
  return { kind: 'succeeded', result: result ?? 'null' }
}

/** The outcome of a handler that threw, whatever it threw. After an abort, the cause explains the error better than the error itself. */
export function outcomeOfThrow(attempt: Attempt, error: unknown, rules: SettleRules): Outcome {
  try {
    return judgedThrow(attempt, error, rules)
  } catch {
    // it threw again where it was looked at
    return judgedThrow(attempt, new Error('an error that cannot be read'), rules)
  }
}

function judgedThrow(attempt: Attempt, error: unknown, rules: SettleRules): Outcome {
  if (attempt.cause === 'timeout') return timedOut(attempt)
  if (isPermanent(error, rules)) return permanentFailure(error)
  if (attempt.cause !== null) return outcomeOfAbort(attempt, attempt.cause)
  if (error instanceof Snooze) return { kind: 'snoozed', delayMs: error.delayMs }
  return {
    kind: 'failed',
    error: reportedError(error instanceof RetryAfter && error.cause instanceof Error ? error.cause : error),
    isRetryable: true,
    retryAfterMs: retryAfterOf(error, rules),
    isTimedOut: false,
  }
}

/** The outcome of an attempt that was ended from outside, its handler's own end apart. */
export function outcomeOfAbort(attempt: Attempt, cause: AbortCause): Outcome {
  if (cause === 'timeout') return timedOut(attempt)
  return cause === 'cancel' ? CANCELLED : RELEASED
}

function isPermanent(error: unknown, rules: SettleRules): boolean {
  if (error instanceof PermanentError || error instanceof InvalidPayloadError || error instanceof InvalidResultError) {
    return true
  }
  // what has ended without a result has none at the next attempt either
  if (error instanceof NoResultError && error.status !== null) return true
  if (error instanceof Snooze || error instanceof RetryAfter) return false
  try {
    return rules.classifyError(error) === 'permanent'
  } catch {
    // A classifier that fails says nothing about the error: transient, the verdict that loses no work.
    return false
  }
}

/** The HTTP classifier brings its Retry-After along; a child submission that was refused for its rate does as well. */
function retryAfterOf(error: unknown, rules: SettleRules): number | null {
  if (error instanceof RetryAfter) return error.delayMs
  if (error instanceof DulyApiError) return error.retryAfterMs
  return rules.classifyError === classifyHttpError ? httpRetryAfterMs(error) : null
}

function timedOut({ grant }: Attempt): Outcome {
  const error = new TimeoutError(`the attempt passed its time limit of ${grant.timeout_ms} ms`)
  return {
    kind: 'failed',
    error: { ...reportedError(error), stack: null },
    isRetryable: true,
    retryAfterMs: null,
    isTimedOut: true,
  }
}

function resultError({ grant }: Attempt, what: string): Error {
  return Object.assign(new Error(`the result of ${grant.task_type} ${what}`), { name: 'ResultError' })
}

/** A UTF-16 unit is at most 3 bytes of UTF-8: most results need not be measured. */
function exceeds(json: string | undefined, limit: number): boolean {
  return json !== undefined && json.length * 3 > limit && Buffer.byteLength(json) > limit
}
