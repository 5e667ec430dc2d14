import { Backoff, pause } from '../backoff.js'
import { isPassing } from '../client/passing.js'
import { DulyApiError } from '../errors.js'
import type { WorkerApi } from './api.js'
import type { Attempt } from './attempt.js'
import { LeaseLostError } from './handler-errors.js'
import type { WireDependencyResults } from './wire.js'

/**
 * Fetches results of dependencies, through outages of the server, as long as the attempt may run.
 *
 * @throws LeaseLostError; DulyApiError; the reason of the attempt's signal
 */
export async function fetchResults(
  api: WorkerApi,
  { grant, session, signal }: Attempt,
  names: readonly string[],
): Promise<WireDependencyResults> {
  const body = JSON.stringify({ task_id: grant.task_id, lease: grant.lease, names })
  const backoff = new Backoff({ baseMs: 100, capMs: 2_000, floorMs: 20 })
  for (;;) {
    try {
      return (await api.call(session, 'dependency-results', body, { signal })) as WireDependencyResults
    } catch (error) {
      signal.throwIfAborted()
      if (isLost(error)) throw new LeaseLostError('the attempt no longer holds its lease')
      if (!isPassing(error)) throw error
      await pause(backoff.next(), signal)
    }
  }
}

/** The attempt does not count any more. */
export function isLost(error: unknown): boolean {
  return error instanceof DulyApiError && (error.code === 'lease_lost' || error.code === 'session_lost')
}
