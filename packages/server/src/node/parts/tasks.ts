import { limits } from '@duly/domain'
import type { Signals } from '../../coordination/signals.js'
import { Committer } from '../../intake/committer.js'
import { Intake } from '../../intake/intake.js'
import { Names } from '../../intake/names.js'
import { Stats } from '../../stats/stats.js'
import { Explainer } from '../../tasks/explainer.js'
import { Logs } from '../../tasks/logs.js'
import { Queues } from '../../tasks/queues.js'
import { Tasks } from '../../tasks/tasks.js'
import type { NodeEnds } from '../../workflows/node-ends.js'
import type { Reopening } from '../../workflows/reopening.js'
import type { Observers } from '../observers.js'
import type { Dispatch } from './dispatch.js'
import type { Ground } from './ground.js'

export interface TaskParts {
  readonly observers: Observers
  readonly signals: Signals
  readonly dispatch: Dispatch
  readonly nodeEnds: NodeEnds
  readonly reopening: Reopening
}

/** What takes tasks in and answers questions about them. */
export function makeTasks(ground: Ground, parts: TaskParts) {
  const { config, stores, recorder, clock, storeNowMs } = ground
  const names = new Names(stores.intake, { limit: limits.queuesMaxCount, share: config.tenantNamesMax })
  return {
    names,
    intake: makeIntake(ground, names, parts),
    tasks: makeTaskService(ground, names, parts),
    explainer: new Explainer({ store: stores.explain, maxCrashes: config.maxCrashes }),
    logs: makeLogs(ground, parts),
    queues: makeQueues(ground, parts),
    stats: new Stats({ store: stores.stats, recorder, clock, storeNowMs }),
  }
}

function makeIntake(ground: Ground, names: Names, { dispatch, observers }: TaskParts): Intake {
  const { config, membership, stores, clock } = ground
  const { database, minter } = membership
  return new Intake({
    committer: new Committer({ database, store: stores.intake }),
    names,
    minter,
    partitions: config.partitions,
    clock,
    groupSlots: stores.groupSlots,
    batchSlots: stores.batchSlots,
    reserve: (task) => dispatch.dispatcher.reserve(task),
    onCommitted: observers.committed,
  })
}

function makeTaskService({ stores, waiters }: Ground, names: Names, parts: TaskParts): Tasks {
  const { observers, signals, dispatch, nodeEnds, reopening } = parts
  return new Tasks({
    store: stores.tasks,
    edits: stores.edits,
    lists: stores.lists,
    waiters,
    ensureQueue: (queue, tenant) => names.ensureQueue(queue, tenant),
    nodes: {
      cancel: (id, tenant, because) => nodeEnds.cancel(id, tenant, because),
      cancelTogether: (ids, because) => nodeEnds.cancelTogether(ids, because),
      replay: (id, tenant, actor) => reopening.replay(id, tenant, actor),
    },
    onEdited: observers.edited,
    onReady: observers.ready,
    onCancelled: (task) => observers.cancelled([task]),
    onCancelRequested: (session) => {
      dispatch.sessions.wake(session)
      signals.publish('session', session)
    },
  })
}

function makeLogs({ stores, waiters, logWaiters, clock }: Ground, { signals }: TaskParts): Logs {
  const onFollowed = (task: string): void => signals.publish('follow', task)
  return new Logs({ store: stores.logs, waiters, logWaiters, clock, onFollowed })
}

function makeQueues({ stores, clock, log }: Ground, { observers, signals, dispatch, nodeEnds }: TaskParts): Queues {
  return new Queues({
    store: stores.queues,
    purges: stores.purges,
    clock,
    log,
    limit: limits.queuesMaxCount,
    onSwitched: (queue) => {
      void dispatch.dispatcher.readyElsewhere([queue]).catch(() => {})
      signals.publish('ready', queue)
    },
    onPurged: observers.cancelled,
    purgeNodes: (ids, actor) => nodeEnds.purge(ids, actor),
  })
}
