import type { Signals } from '../../coordination/signals.js'
import type { Dispatcher } from '../../dispatch/dispatcher.js'
import type { Reserve } from '../../dispatch/hand-offs.js'
import type { Sessions } from '../../dispatch/sessions.js'
import type { Names } from '../../intake/names.js'
import type { PlacedTask } from '../../store/intake-store.js'
import type { MintedNode } from '../../store/workflow-rows.js'
import { Additions } from '../../workflows/additions.js'
import { WorkflowCommitter } from '../../workflows/committer.js'
import { NodeEnds } from '../../workflows/node-ends.js'
import { Reopening } from '../../workflows/reopening.js'
import { WorkflowSubmission } from '../../workflows/submission.js'
import { Workflows } from '../../workflows/workflows.js'
import type { Observers } from '../observers.js'
import type { Ground } from './ground.js'

export interface NodeEndsParts {
  readonly observers: Observers
  readonly signals: Signals
  /** Asked for when they are needed, since sessions end tasks themselves. */
  readonly sessions: () => Sessions
  readonly dispatcher: () => Dispatcher
}

/** What every end of a workflow's task goes through. */
export function makeNodeEnds(ground: Ground, { observers, signals, sessions, dispatcher }: NodeEndsParts): NodeEnds {
  const { membership, stores } = ground
  return new NodeEnds({
    database: membership.database,
    store: stores.settle,
    attempts: stores.attempts,
    slots: stores.workflowSlots.ends,
    workers: {
      reserve: (task) => dispatcher().reserve(task),
      isAnyoneWaiting: () => dispatcher().isAnyoneWaiting(),
    },
    onSettled: (settled) => {
      observers.settled(settled)
      for (const session of settled.stopping) {
        sessions().wake(session)
        signals.publish('session', session)
      }
    },
  })
}

/** What runs tasks of workflows again. */
export const makeReopening = ({ stores }: Ground, nodeEnds: NodeEnds): Reopening =>
  new Reopening(nodeEnds, stores.workflowChanges)

export interface WorkflowParts {
  readonly observers: Observers
  readonly names: Names
  readonly nodeEnds: NodeEnds
  readonly reopening: Reopening
  readonly reserve: Reserve
}

/** Workflows: the service of the API, and what takes them in. */
export function makeWorkflows(ground: Ground, { observers, names, nodeEnds, reopening, reserve }: WorkflowParts) {
  const { config, membership, stores, clock, waiters, storeNowMs } = ground
  const { database, minter } = membership
  const ensureNames: Names['ensure'] = (tasks) => names.ensure(tasks)
  const onCommitted = (nodes: readonly MintedNode[], placed: readonly PlacedTask[], tookMs: number | null): void => {
    const rows = nodes.map(({ id, partition, node, handoff }) => ({ id, partition, task: node.task, handoff }))
    observers.committed(rows, placed, tookMs)
  }
  const shared = { database, store: stores.workflows, intake: stores.intake }
  const submission = new WorkflowSubmission({
    committer: new WorkflowCommitter(shared),
    ...{ ensureNames, minter, partitions: config.partitions, clock, onCommitted, reserve },
    groupSlots: stores.workflowSlots.groups,
    largeSlots: stores.workflowSlots.large,
  })
  const additions = new Additions({
    ...{ ends: nodeEnds, store: stores.workflows, changes: stores.workflowChanges, minter, ensureNames },
    onCommitted: (nodes, placed) => onCommitted(nodes, placed, null),
  })
  const workflows = new Workflows({
    ...{ submission, records: stores.workflowRecords, changes: stores.workflowChanges },
    ...{ ends: nodeEnds, additions, reopening, waiters, storeNowMs },
  })
  return { workflows, submission }
}
