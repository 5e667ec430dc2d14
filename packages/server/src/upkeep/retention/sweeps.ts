import type { Uuid } from '@duly/domain'
import type { Frame } from '../../store/retention/marks.js'
import { type RelatedTable, relatedTables } from '../../store/retention/sweep-sql.js'
import type {
  FiringPlace,
  GroupPlace,
  KeyPlace,
  LanePlace,
  SweepStore,
  Swept,
  WorkflowPlace,
} from '../../store/retention/sweep-store.js'
import type { Pace } from './pace.js'

/** What rows are counted as in the metrics. */
export type SweptKind =
  | RelatedTable
  | 'idempotency_keys'
  | 'worker_sessions'
  | 'api_keys'
  | 'counters'
  | 'results'
  | 'cron_firings'
  | 'workflows'
  | 'workflow_keys'
  | 'dead_letter_counts'
  | 'bulk_operations'

export interface SweepsOptions {
  readonly sweeps: SweepStore
  readonly pace: Pace
  /** Rows in one step. */
  readonly batch: number
  readonly onSwept: (kind: SweptKind, rows: number) => void
}

const lowestId = '00000000-0000-0000-0000-000000000000' as Uuid
const firstKey: KeyPlace = ['-infinity', '', '']
const firstFiring: FiringPlace = ['-infinity', lowestId, '-infinity']
const firstWorkflow: WorkflowPlace = ['-infinity', lowestId]
const firstLane: LanePlace = ['', 0, '', '']
const firstGroup: GroupPlace = ['', '', '', '']

/** Removal of what hangs on tasks that are gone, and of what is old by itself: in bounded steps, walked by key. */
export class Sweeps {
  readonly #options: SweepsOptions

  constructor(options: SweepsOptions) {
    this.#options = options
  }

  /** Keys whose life has ended. To be called before records go: a key never outlives its record. */
  async keys({ keyCutoff }: Frame): Promise<void> {
    await this.#walk<KeyPlace>('idempotency_keys', firstKey, (place, limit) =>
      this.#options.sweeps.keys(keyCutoff, place, limit),
    )
  }

  /** Rows of tasks that are gone, whatever removed them. */
  async leftovers({ edge }: Frame): Promise<void> {
    for (const table of relatedTables) {
      await this.#walk<Uuid>(table, lowestId, (place, limit) =>
        this.#options.sweeps.related(table, place, edge as Uuid, limit),
      )
    }
  }

  async runs({ cutoff }: Frame): Promise<void> {
    await this.#repeat('runs', (limit) => this.#options.sweeps.runs(cutoff, limit))
  }

  /** What became of fire times: the guard of what was fired twice, kept as long as the tasks are. */
  async firings({ cutoff }: Frame): Promise<void> {
    await this.#walk<FiringPlace>('cron_firings', firstFiring, (place, limit) =>
      this.#options.sweeps.firings(cutoff, place, limit),
    )
  }

  async sessions(): Promise<void> {
    await this.#repeat('worker_sessions', (limit) => this.#options.sweeps.sessions(limit))
  }

  /** Keys of workflows whose life has ended. */
  async workflowKeys({ keyCutoff }: Frame): Promise<void> {
    await this.#repeat('workflow_keys', (limit) => this.#options.sweeps.workflowKeys(keyCutoff, limit))
  }

  /** Workflows that are past their time. To be called before records go: those of a workflow that is there stay. */
  async workflows({ cutoff, edge }: Frame): Promise<void> {
    await this.#walk<WorkflowPlace>('workflows', firstWorkflow, (place, limit) =>
      this.#options.sweeps.workflows(cutoff, place, { limit, edge }),
    )
  }

  async revoked({ cutoff }: Frame): Promise<void> {
    await this.#repeat('api_keys', (limit) => this.#options.sweeps.revoked(cutoff, limit))
  }

  async counters(): Promise<void> {
    await this.#walk<LanePlace>('counters', firstLane, (place, limit) => this.#options.sweeps.counters(place, limit))
  }

  async letterCounts(): Promise<void> {
    await this.#walk<GroupPlace>('dead_letter_counts', firstGroup, (place, limit) =>
      this.#options.sweeps.letterCounts(place, limit),
    )
  }

  /** Operations on many tasks, kept as long as the tasks are. */
  async bulk({ cutoff }: Frame): Promise<void> {
    await this.#repeat('bulk_operations', (limit) => this.#options.sweeps.bulk(cutoff, limit))
  }

  async results(): Promise<void> {
    const { pace, batch, onSwept, sweeps } = this.#options
    for (let seen = batch; seen === batch; ) {
      const step = await pace.step(() => sweeps.results(batch))
      onSwept('results', step.removed)
      seen = step.seen
    }
  }

  async #walk<Place>(
    kind: SweptKind,
    first: Place,
    sweep: (place: Place, limit: number) => Promise<Swept<Place>>,
  ): Promise<void> {
    const { pace, batch, onSwept } = this.#options
    for (let place: Place | null = first; place !== null; ) {
      const from: Place = place
      const { next, removed } = await pace.step(() => sweep(from, batch))
      onSwept(kind, removed)
      place = next
    }
  }

  async #repeat(kind: SweptKind, sweep: (limit: number) => Promise<number>): Promise<void> {
    const { pace, batch, onSwept } = this.#options
    for (let removed = batch; removed === batch; ) {
      removed = await pace.step(() => sweep(batch))
      onSwept(kind, removed)
    }
  }
}
