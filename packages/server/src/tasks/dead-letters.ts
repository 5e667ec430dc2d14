import { DulyError, type TenantScope, type Uuid } from '@duly/domain'
import type {
  Actor,
  DeadLetter,
  DeadLetterFilters,
  DeadLetterSummary,
  Page,
  PageRequest,
  SummaryFilters,
  TaskRecord,
} from '../model.js'
import type { DeadLetterStore } from '../store/dead-letter-store.js'
import { scopedTo } from './scoped.js'
import { actorName, type Tasks } from './tasks.js'

export interface DeadLettersOptions {
  readonly store: DeadLetterStore
  readonly tasks: Pick<Tasks, 'replay'>
}

/** Tasks whose retries are used up: what is the matter with them, and what becomes of them. */
export class DeadLetters {
  readonly #options: DeadLettersOptions

  constructor(options: DeadLettersOptions) {
    this.#options = options
  }

  /** The latest first. A caller who is bound to a tenant gets that tenant's, and is refused another's. */
  async list(filters: DeadLetterFilters, tenant: TenantScope, page: PageRequest): Promise<Page<DeadLetter>> {
    return this.#options.store.page(scopedTo(filters, tenant), page)
  }

  /** By queue, task type and normalised error, the largest groups first. */
  async summary(filters: SummaryFilters, tenant: TenantScope, limit: number): Promise<DeadLetterSummary> {
    return this.#options.store.summary(scopedTo(filters, tenant), limit)
  }

  /** Runs it again with its retries restored, as any finished task can be. */
  async retry(id: Uuid, tenant: TenantScope, actor: Actor): Promise<TaskRecord> {
    const { store, tasks } = this.#options
    if (!(await store.has(id, tenant))) throw notFound()
    return tasks.replay(id, tenant, actor)
  }

  /** Gives it up: it can no longer be retried, and its record goes the way of any finished task's. */
  async discard(id: Uuid, tenant: TenantScope, actor: Actor): Promise<void> {
    const because = { actor: actorName(actor), reason: null }
    const discarded = await this.#options.store.discard([id], tenant, because)
    if (discarded.length === 0) throw notFound()
  }
}

const notFound = (): DulyError =>
  new DulyError(
    'not_found',
    'There is no such dead letter: no such task, or it is not dead, or it was discarded before.',
  )
