import type { Signals } from '../../coordination/signals.js'
import { Attempts } from '../../dispatch/attempts.js'
import { Dispatcher } from '../../dispatch/dispatcher.js'
import { Fleet } from '../../dispatch/fleet.js'
import { releaseUnfetched } from '../../dispatch/release.js'
import { Reports } from '../../dispatch/reports.js'
import { Sessions } from '../../dispatch/sessions.js'
import { Workers } from '../../dispatch/workers.js'
import type { NodeEnds } from '../../workflows/node-ends.js'
import type { Observers } from '../observers.js'
import type { Ground } from './ground.js'

export interface DispatchParts {
  readonly observers: Observers
  readonly signals: Signals
  readonly nodeEnds: NodeEnds
}

/** What serves workers, and what operators see of them. */
export function makeDispatch(ground: Ground, { observers, signals, nodeEnds }: DispatchParts) {
  const { stores, clock, log, random } = ground
  const attempts = new Attempts({ store: stores.attempts, nodes: nodeEnds, listener: observers })
  const { sessions, dispatcher } = makeDispatcher(ground, { observers, signals, attempts })
  const reports = new Reports({ store: stores.attempts, attempts, clock, random, lanes: 1 })
  const shared = { sessions, store: stores.sessions, dependencies: stores.dependencies }
  const workers = new Workers({ ...shared, dispatcher, reports, attempts, attemptStore: stores.attempts })
  const fleet = new Fleet({
    store: stores.fleet,
    sessions: stores.sessions,
    log,
    onDraining: (session) => {
      sessions.drained(session)
      signals.publish('drain', session)
    },
  })
  return { sessions, dispatcher, attempts, reports, workers, fleet }
}

interface Served {
  readonly observers: Observers
  readonly signals: Signals
  readonly attempts: Attempts
}

function makeDispatcher(ground: Ground, { observers, signals, attempts }: Served) {
  const { config, membership, stores, clock, log, storeNowMs, logWaiters } = ground
  const sessions: Sessions = new Sessions({
    store: stores.sessions,
    progress: stores.progress,
    minter: membership.minter,
    clock,
    heartbeatMs: config.heartbeatMs,
    leaseMs: config.leaseMs,
    onLost: (state) => dispatcher.drop(state),
    onGap: (state, lastGrant) => dispatcher.heal(state, lastGrant),
    onLines: (tasks) => {
      logWaiters.written(tasks)
      for (const id of logWaiters.toTell(tasks)) signals.publish('lines', id)
    },
  })
  const dispatcher = new Dispatcher({
    queue: stores.queue,
    store: stores.sessions,
    sessions,
    clock,
    storeNowMs,
    log,
    onTaken: observers.taken,
    tellOthers: (queue) => signals.publish('ready', queue),
    giveBack: (state, tasks) => releaseUnfetched({ attempts, attemptStore: stores.attempts }, tasks, state.row.name),
  })
  return { sessions, dispatcher }
}

export type Dispatch = ReturnType<typeof makeDispatch>
