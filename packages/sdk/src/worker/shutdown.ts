import { pause } from '../backoff.js'
import type { WorkerApi } from './api.js'
import { isSessionLost } from './api.js'
import type { StopSummary } from './events.js'
import { WorkerStoppingError } from './handler-errors.js'
import type { Link } from './link.js'
import type { Runner } from './runner.js'
import type { Session } from './session.js'

/** How long handlers may take to obey the signal at the end of the grace, ms. */
const OBEY_WITHIN_MS = 1_000

/** How long each last call may take, ms: with the server away, a stop still ends within the grace and about 5 s. */
const LAST_CALL_MS = 1_500

/**
 * Stops without losing a task: take nothing more, let handlers finish, abort those that have not, give the rest back,
 * leave. Every step has a limit of its own, so that it ends whether the server answers or not.
 */
export async function shutDown(
  api: WorkerApi,
  runner: Runner,
  link: Link | null,
  graceMs: number,
): Promise<StopSummary> {
  if (link !== null) await link.loop.drain(AbortSignal.timeout(LAST_CALL_MS))
  await within(graceMs, runner.whenIdle())
  if (link !== null) {
    runner.abortAll(link.session, 'stop')
    await within(OBEY_WITHIN_MS, runner.whenIdle())
    runner.detachAll()
    if (!link.session.ended.aborted) await within(LAST_CALL_MS, link.session.reports.whenEmpty())
    await leave(api, link.session)
  }
  const unreported = link?.session.reports.unsettled ?? 0
  return { isClean: unreported === 0 && runner.stuckSlots === 0, unreported, stuck: runner.stuckSlots }
}

/** Ends the session. If that fails, its lease runs out by itself. */
export async function leave(api: WorkerApi, session: Session): Promise<void> {
  if (!session.ended.aborted) {
    await api.leave(session.id, AbortSignal.timeout(LAST_CALL_MS)).catch((error: unknown) => isSessionLost(error))
  }
  session.end(new WorkerStoppingError('the worker has stopped'))
}

/** Waits for `work`, but no longer than `ms`. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const limit = new AbortController()
  await Promise.race([work, pause(ms, limit.signal).catch(() => {})])
  limit.abort()
}
