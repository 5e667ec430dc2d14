import type { Clock } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import type { KeyUses } from '../access/key-uses.js'
import type { Leadership } from '../coordination/leadership.js'
import type { Signals } from '../coordination/signals.js'
import type { Dispatcher } from '../dispatch/dispatcher.js'
import type { Reports } from '../dispatch/reports.js'
import type { Sessions } from '../dispatch/sessions.js'
import type { Intake } from '../intake/intake.js'
import type { Recorder } from '../stats/recorder.js'
import type { Waiters } from '../tasks/waiters.js'
import type { Logger } from '../telemetry/logger.js'
import type { NodeEnds } from '../workflows/node-ends.js'
import type { WorkflowSubmission } from '../workflows/submission.js'
import type { Duties } from './duties.js'
import type { Health } from './health.js'
import type { Membership } from './join.js'

/** What has to be stopped of a node. */
export interface StoppableParts {
  readonly membership: Membership
  readonly api: FastifyInstance
  readonly health: Health
  readonly dispatcher: Dispatcher
  readonly sessions: Sessions
  readonly waiters: Waiters
  readonly intake: Intake
  readonly reports: Reports
  readonly submission: WorkflowSubmission
  readonly nodeEnds: NodeEnds
  readonly duties: Duties
  readonly leadership: Leadership | null
  readonly signals: Signals
  readonly keyUses: KeyUses
  readonly recorder: Recorder
  readonly log: Logger
}

/** A store that is away must not hold up the end, nor a duty that waits for it. */
const farewellMs = 2_000
const dutiesMs = 5_000

/** Says so to balancers and serves as before for `delayMs`, until they have noticed or `hurry` aborts. */
export async function beUnready(
  { health, log }: StoppableParts,
  { clock, delayMs, hurry }: { readonly clock: Clock; readonly delayMs: number; readonly hurry: AbortSignal },
): Promise<void> {
  health.leave()
  if (delayMs === 0) return
  log.info({ seconds: delayMs / 1_000 }, 'stopping: not ready any more, serving on until balancers have noticed')
  await clock.sleep(delayMs, hurry)
}

export interface StopOptions {
  readonly clock: Clock
  /** How long what is under way may take to end. */
  readonly drainMs: number
}

/**
 * In the order of the flow: nothing new comes in; what is under way ends; what was handed to workers who fetch it here no
 * more goes back; then the background duties end, and the other nodes hear of what only this one knew.
 */
export async function stopNode(parts: StoppableParts, options: StopOptions): Promise<void> {
  const { health, duties, recorder, signals, membership, log } = parts
  health.leave()
  await drain(parts, options)
  if (!(await within(options.clock, dutiesMs, () => duties.stop())))
    log.warn('a background duty does not end; leaving it')
  await within(options.clock, farewellMs, async () => {
    // the others take its partitions over at once, and its timers with them
    await membership.nodes.leave(membership.id)
    await parts.leadership?.resign()
    await Promise.all([recorder.flush().catch(() => {}), signals.stop()])
    await parts.keyUses.save().catch(() => {})
  })
  await membership.database.close()
  log.info('node stopped')
}

async function drain(parts: StoppableParts, { clock, drainMs }: StopOptions): Promise<void> {
  const { dispatcher, sessions, waiters, api, intake, reports, submission, nodeEnds, log } = parts
  dispatcher.close()
  waiters.close()
  sessions.wakeAll()
  const isDrained = await within(clock, drainMs, async () => {
    await api.close()
    await Promise.all([intake.drained(), submission.drained(), reports.drained()])
    await nodeEnds.drained()
    await dispatcher.giveBackUnfetched()
  })
  if (!isDrained) log.warn('the drain took too long; ending what is left')
  api.server.closeAllConnections()
}

/** Whether the work was done in time; one that failed is as good as done. */
async function within(clock: Clock, limitMs: number, work: () => Promise<unknown>): Promise<boolean> {
  const inTime = new AbortController()
  const late = clock.sleep(limitMs, inTime.signal).then(() => false)
  const done = work().then(
    () => true,
    () => true,
  )
  const isDone = await Promise.race([done, late])
  inTime.abort()
  return isDone
}
