import type { Answer } from './mount.js'

/** The answer to a submission: 202 when it made something, 200 with a header when an earlier one had made it. */
export function accepted(json: string, replayed: boolean): Answer {
  return replayed ? { status: 200, json, headers: { 'idempotency-replayed': 'true' } } : { status: 202, json }
}
