import {
  type BlockerFacts,
  DulyError,
  type ExplainFacts,
  type Explanation,
  explain,
  type TenantScope,
  type Uuid,
} from '@duly/domain'
import type { ExplainStore, OwnFacts } from '../store/explain-store.js'

export interface ExplainerOptions {
  readonly store: ExplainStore
  readonly maxCrashes: number
}

/** A task can change hands between two looks; each try looks anew. */
const maxTries = 5

/** Says why tasks stand as they stand: gathers what the store says, and leaves the judgement to the domain. */
export class Explainer {
  readonly #options: ExplainerOptions

  constructor(options: ExplainerOptions) {
    this.#options = options
  }

  /** @throws DulyError `not_found`, also for another tenant's */
  async explain(id: Uuid, tenant: TenantScope): Promise<Explanation> {
    const { store, maxCrashes } = this.#options
    for (let attempt = 1; ; attempt++) {
      const own = await store.task(id, tenant)
      if (!own) throw new DulyError('not_found', 'There is no such task.')
      const around = await this.#around(id, own, tenant)
      const { nowMs, task, queue, schedulers } = own
      const isStill = task.status !== 'PENDING' || around.lane !== null || attempt === maxTries
      if (isStill) return explain({ nowMs, maxCrashes, task, queue, schedulers, ...around })
    }
  }

  async #around(
    id: Uuid,
    own: OwnFacts,
    tenant: TenantScope,
  ): Promise<Pick<ExplainFacts, 'workers' | 'lane' | 'blockers'>> {
    const { store } = this.#options
    const { task } = own
    const { status } = task
    const waits = status === 'SCHEDULED' || status === 'PENDING' || status === 'BLOCKED' || status === 'RETRYING'
    const [workers, lane, blockers] = await Promise.all([
      waits ? store.workers(task, tenant) : null,
      status === 'PENDING' ? store.lane(id, tenant) : null,
      this.#blockers(id, own),
    ])
    return { workers, lane, blockers }
  }

  /** Whose ends it waits for; of a node that was not run, what ended otherwise than it must. */
  #blockers(id: Uuid, { task, cronId, workflowId }: OwnFacts): Promise<BlockerFacts> | null {
    const { store } = this.#options
    const isBlocked = task.status === 'BLOCKED'
    if (workflowId !== null) {
      const wasNotRun = task.end?.reason === 'dependency' || task.end?.reason === 'skipped'
      return isBlocked || wasNotRun ? store.dependencies(id, wasNotRun) : null
    }
    return isBlocked && cronId !== null ? store.earlier(cronId) : null
  }
}
