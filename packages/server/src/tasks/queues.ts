import { type Clock, DulyError, type TenantScope, type Uuid } from '@duly/domain'
import type { Logger } from 'pino'
import type { Actor, EndedTask, Page, PageRequest, PurgeResult, QueueRecord } from '../model.js'
import { isUnavailable, readBack } from '../store/faults.js'
import { type PurgeMark, type PurgeStore, purgeStart } from '../store/purge-store.js'
import type { QueueStore } from '../store/queue-store.js'
import { actorName } from './tasks.js'

export interface QueuesOptions {
  readonly store: QueueStore
  readonly purges: PurgeStore
  readonly clock: Clock
  readonly log: Logger
  /** Queues that a deployment may have. */
  readonly limit: number
  /** A queue was paused or resumed: dispatchers, here and elsewhere, look at it anew. */
  readonly onSwitched: (queue: string) => void
  readonly onPurged: (tasks: readonly EndedTask[]) => void
  /** Ends tasks of workflows that are ready; answers which. */
  readonly purgeNodes: (ids: readonly Uuid[], actor: string) => Promise<readonly EndedTask[]>
}

/** Tasks that one statement of a purge cancels … */
const batchLimit = 1_000
/** … and how long one call goes on with them: well below what clients and balancers wait. */
const purgeMs = 5_000

/** Queues: what waits in them, and what operators do to them. */
export class Queues {
  readonly #options: QueuesOptions

  constructor(options: QueuesOptions) {
    this.#options = options
  }

  /** By name. */
  async list(tenant: TenantScope, { after, limit }: PageRequest): Promise<Page<QueueRecord>> {
    const items = await this.#options.store.list(tenant, { after, limit: limit + 1 })
    return { items: items.slice(0, limit), next: items.length > limit ? (items[limit - 1]?.name ?? null) : null }
  }

  async get(name: string, tenant: TenantScope): Promise<QueueRecord> {
    const queue = await this.#options.store.get(name, tenant)
    if (!queue) throw notFound(tenant)
    return queue
  }

  /**
   * Nothing is started from it any more, on any node: each claim and hand-off tests it in its own statement. It may be paused before its
   * first use; that it is new is told, for it may be a slip.
   */
  async pause(name: string, actor: Actor): Promise<QueueRecord & { readonly isNew: boolean }> {
    const { store, limit } = this.#options
    const isNew = await store.pause(name, limit)
    if (isNew === null) {
      throw new DulyError('unprocessable', `The queue ${name} is new, and the deployment has its ${limit} already.`)
    }
    return { ...(await this.#switched(name, actor, 'paused')), isNew }
  }

  async resume(name: string, actor: Actor): Promise<QueueRecord> {
    if (!(await this.#options.store.resume(name))) throw notFound(null)
    return this.#switched(name, actor, 'resumed')
  }

  /**
   * Cancels what is PENDING when the call begins, in bounded batches for a bounded time: while it is not complete, call again. A store
   * that goes away when some are cancelled leaves it incomplete too.
   */
  async purge(name: string, actor: Actor): Promise<PurgeResult> {
    const { purges, clock, log } = this.#options
    const cutoff = await purges.begin(name)
    if (cutoff === null) throw notFound(null)
    const untilMs = clock.monotonicMs() + purgeMs
    let cancelled = 0
    let after: PurgeMark | null = purgeStart
    while (after !== null && (cancelled === 0 || clock.monotonicMs() < untilMs)) {
      try {
        const request = { cutoff, actor: actorName(actor), after, limit: batchLimit }
        after = await this.#purgeSome(name, request, (count) => {
          cancelled += count
        })
      } catch (error) {
        if (cancelled > 0 && isUnavailable(error)) break
        throw error
      }
    }
    const remaining = await (cancelled > 0 ? readBack(() => purges.left(name)) : purges.left(name))
    log.info({ queue: name, by: actorName(actor), cancelled, remaining }, 'queue purged')
    return { cancelled, remaining, isComplete: after === null }
  }

  /** One batch, tasks of workflows after the others; answers the mark behind it. */
  async #purgeSome(
    name: string,
    request: Parameters<PurgeStore['batch']>[1],
    count: (cancelled: number) => void,
  ): Promise<PurgeMark | null> {
    const { purges, onPurged, purgeNodes } = this.#options
    const { tasks, nodes, mark } = await purges.batch(name, request)
    count(tasks.length)
    if (tasks.length > 0) onPurged(tasks)
    const ended = nodes.length > 0 ? await purgeNodes(nodes, request.actor) : []
    count(ended.length)
    if (ended.length > 0) onPurged(ended)
    return mark
  }

  async #switched(name: string, actor: Actor, how: 'paused' | 'resumed'): Promise<QueueRecord> {
    this.#options.log.info({ queue: name, by: actorName(actor) }, `queue ${how}`)
    this.#options.onSwitched(name)
    return readBack(() => this.get(name, null))
  }
}

/** Of a caller bound to a tenant it is not told whether others use that queue. */
const notFound = (tenant: TenantScope): DulyError =>
  new DulyError(
    'not_found',
    tenant === null ? 'There is no such queue.' : 'There is no such queue, or no task of yours ever waited in it.',
  )
