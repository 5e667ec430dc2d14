import { type Lane, systemClock, type TenantScope, type Uuid } from '@duly/domain'
import { pino } from 'pino'
import type { BulkOrder, BulkRecord, EndedTask, TaskFilters } from '../../model.js'
import type { TestNode } from '../../testing/test-node.js'
import { Reopening } from '../../workflows/reopening.js'
import { Bulk } from '../bulk.js'
import { BulkRunner } from '../runner.js'
import { type Graphs, Singles, type SingleTasks } from '../singles.js'

export const noFilters: TaskFilters = {
  ...{ status: null, taskType: null, queue: null, tenant: null, tag: null, workflowId: null, cronId: null },
  ...{ createdAfterMs: null, createdBeforeMs: null, correlationId: null },
}

export const tester = { kind: 'api', name: 'tester' } as const

export interface BulkBenchOptions {
  readonly batch?: number
  readonly limit?: number
  /** Looks on as tasks of workflows are acted on. */
  readonly singles?: Partial<SingleTasks>
  readonly graphs?: (own: Graphs) => Graphs
}

/** Operations on the tasks of a node, worked at when a test says so. */
export class BulkBench {
  readonly bulk: Bulk
  readonly runner: BulkRunner
  readonly cancelled: EndedTask[] = []
  readonly toldSessions: Uuid[] = []
  readonly lanes: Lane[] = []
  started = 0

  constructor(
    node: TestNode,
    { batch = 3, limit = 100, singles = {}, graphs: around = (own) => own }: BulkBenchOptions = {},
  ) {
    const walks = { lists: node.stores.lists, letters: node.stores.deadLetters }
    const log = pino({ level: 'silent' })
    const onEnded = (id: Uuid): void => node.waiters.finished([id])
    const tasks: SingleTasks = {
      cancel: (id, tenant, actor) => node.tasks.cancel(id, tenant, actor),
      cancelTogether: (ids, how) => node.tasks.cancelTogether(ids, how),
      ...singles,
    }
    const graphs = around(new Reopening(node.nodeEnds, node.stores.workflowChanges))
    this.runner = new BulkRunner({
      ...{
        store: node.stores.bulk,
        walks,
        singles: new Singles({ tasks, graphs, walks, batch }),
        clock: systemClock,
        log,
        batch,
      },
      listener: {
        onCancelled: (ended) => void this.cancelled.push(...ended),
        onCancelRequested: (session) => void this.toldSessions.push(session),
        onReady: (lane) => void this.lanes.push(lane),
        onEnded,
      },
    })
    this.bulk = new Bulk({
      ...{ store: node.stores.bulk, walks, waiters: node.waiters, log, limit, onEnded },
      mint: () => node.minter.mint(),
      onStarted: () => {
        this.started++
      },
    })
  }

  start(action: 'cancel' | 'retry' | 'discard', filters: Partial<TaskFilters>, tenant: TenantScope = null) {
    return this.bulk.start(orderOf(action, filters), tenant, tester)
  }

  /** Works at all there is, and answers how it ended. */
  async finish({ id }: BulkRecord): Promise<BulkRecord> {
    await this.runner.runOnce(new AbortController().signal)
    return this.bulk.get(id, null)
  }

  async run(action: 'cancel' | 'retry' | 'discard', filters: Partial<TaskFilters>, tenant: TenantScope = null) {
    return this.finish(await this.start(action, filters, tenant))
  }
}

export const orderOf = (action: 'cancel' | 'retry' | 'discard', filters: Partial<TaskFilters>): BulkOrder => ({
  ...{ action, source: 'tasks', filters: { ...noFilters, ...filters } },
})
