import { limits } from '@duly/domain'
import { Bulk } from '../../bulk/bulk.js'
import { BulkRunner } from '../../bulk/runner.js'
import { Singles } from '../../bulk/singles.js'
import { DeadLetters } from '../../tasks/dead-letters.js'
import type { Tasks } from '../../tasks/tasks.js'
import type { Reopening } from '../../workflows/reopening.js'
import type { Duties } from '../duties.js'
import type { Ground } from './ground.js'
import type { TaskParts } from './tasks.js'

export interface BulkParts extends TaskParts {
  readonly tasks: Tasks
  readonly reopening: Reopening
  readonly duties: () => Duties
}

/** Tasks of one transaction of an operation: some 30 ms of work, so that nobody waits long for a row of it. */
const batch = 500

/** What acts on many tasks: dead letters, operations that the API starts, and the duty that works at them. */
export function makeBulk(ground: Ground, parts: BulkParts) {
  const { membership, stores, clock, log, waiters } = ground
  const { observers, signals, dispatch, tasks, reopening, duties } = parts
  const walks = { lists: stores.lists, letters: stores.deadLetters }
  const onEnded = (id: string): void => {
    waiters.finished([id])
    signals.publish('finished', id)
  }
  const runner = new BulkRunner({
    ...{
      store: stores.bulk,
      walks,
      singles: new Singles({ tasks, graphs: reopening, walks, batch }),
      clock,
      log,
      batch,
    },
    listener: {
      onCancelled: observers.cancelled,
      onCancelRequested: (session) => {
        dispatch.sessions.wake(session)
        signals.publish('session', session)
      },
      onReady: observers.ready,
      onEnded,
    },
  })
  const bulk = new Bulk({
    ...{ store: stores.bulk, walks, waiters, log, limit: limits.bulkMaxRunning, onEnded },
    mint: () => membership.minter.mint(),
    // on a node without the role, a scheduler's pulse finds it within a second
    onStarted: () => duties().bulk?.wake(),
  })
  return { bulk, runner, deadLetters: new DeadLetters({ store: stores.deadLetters, tasks }) }
}
