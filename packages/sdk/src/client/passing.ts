import { DulyApiError, DulyConnectionError } from '../errors.js'

/** How long a wait goes on without any answer, ms. */
export const LONGEST_OUTAGE_MS = 60_000

/** An error that an outage makes, and that may pass with it. */
export function isPassing(error: unknown): boolean {
  if (error instanceof DulyConnectionError) return error.code !== 'ABORTED'
  return error instanceof DulyApiError && error.retryable
}
