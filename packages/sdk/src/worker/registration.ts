import { Backoff, pause } from '../backoff.js'
import type { TaskDefinition } from '../define-task.js'
import { DulyApiError } from '../errors.js'
import type { WorkerApi } from './api.js'
import { monotonicMs } from './monotonic.mjs'
import type { ResolvedWorkerOptions } from './options.js'
import { Session } from './session.js'
import type { WireRegistration } from './wire.js'

export interface RegistrationOptions {
  readonly definitions: readonly TaskDefinition<unknown, unknown, unknown, unknown>[]
  readonly signal: AbortSignal
  /** Whether an answer that no repetition mends (401, 400 …) ends the tries: at the first start, not after years of service. */
  readonly givesUp: boolean
  readonly trouble: (error: unknown) => void
}

/** Longest delay between two tries, ms. */
const LONGEST_DELAY_MS = 5_000

/**
 * Registers until it succeeds.
 *
 * @throws DulyApiError when told to give up; the signal's reason when it aborts
 */
export async function register(
  api: WorkerApi,
  worker: ResolvedWorkerOptions,
  options: RegistrationOptions,
): Promise<Session> {
  const backoff = new Backoff({ baseMs: 200, capMs: LONGEST_DELAY_MS, floorMs: 20 })
  for (;;) {
    const sentAt = monotonicMs()
    try {
      return new Session(await api.register(registrationOf(worker, options.definitions), options.signal), sentAt)
    } catch (error) {
      options.signal.throwIfAborted()
      options.trouble(error)
      if (options.givesUp && error instanceof DulyApiError && !error.retryable) throw error
      await pause(backoff.next(error instanceof DulyApiError ? error.retryAfterMs : null), options.signal)
    }
  }
}

function registrationOf(
  worker: ResolvedWorkerOptions,
  definitions: RegistrationOptions['definitions'],
): WireRegistration {
  return {
    name: worker.name,
    host: worker.host,
    version: worker.version,
    queues: worker.queues ?? [...new Set(definitions.map(({ defaults }) => defaults.queue ?? 'default'))],
    task_types: definitions.map(({ type }) => type),
    slots: worker.slots,
    heartbeat_seconds: worker.heartbeatMs === undefined ? undefined : worker.heartbeatMs / 1_000,
  }
}
