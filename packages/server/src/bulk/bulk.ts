import { type BulkStatus, DulyError, encodeId, type TaskStatus, type TenantScope, type Uuid } from '@duly/domain'
import type { Logger } from 'pino'
import type { Actor, BulkOrder, BulkPreview, BulkRecord, BulkSample, Page, PageRequest, WaitRequest } from '../model.js'
import type { BulkStore } from '../store/bulk-store.js'
import { stretchOf, type WalkStores } from './walk.js'

/** Resolves when the word of an end comes, or the time is over. */
export interface EndWaiter {
  wait(id: Uuid, waitMs: number, signal: AbortSignal): { readonly done: Promise<void>; cancel(): void }
}

export interface BulkOptions {
  readonly store: BulkStore
  readonly walks: WalkStores
  readonly waiters: EndWaiter
  readonly mint: () => Uuid
  readonly log: Logger
  /** Running ones, of each tenant, and of those who are bound to none. */
  readonly limit: number
  /** There is something to do. */
  readonly onStarted: () => void
  /** It was cancelled; somebody may wait for that. */
  readonly onEnded: (id: Uuid) => void
}

/** A word that is lost is made up for by a look this often, while somebody waits. */
const lookEveryMs = 2_000

/** A dry run stops when it has found so many tasks, or has looked so often. */
const previewTasks = 10_000
const previewLooks = 40
const previewPage = 1_000
const samples = 10

/** Operations on many tasks: what the API does to them. The work itself is the runner's. */
export class Bulk {
  readonly #options: BulkOptions

  constructor(options: BulkOptions) {
    this.#options = options
  }

  async start(order: BulkOrder, tenant: TenantScope, actor: Actor): Promise<BulkRecord> {
    const { store, mint, limit, log, onStarted } = this.#options
    const by = actor.name === undefined ? actor.kind : `${actor.kind}:${actor.name}`
    const record = await store.create(mint(), scoped(order, tenant), { tenant, actor: by, limit })
    if (record === null) throw tooMany(limit)
    log.info(
      { bulk: encodeId('bulk', record.id), action: order.action, filter: order.filters, by },
      'operation on many tasks begins',
    )
    onStarted()
    return record
  }

  /** Counts what it would change, in one look of bounded length. */
  async preview(order: BulkOrder, tenant: TenantScope): Promise<BulkPreview> {
    const { store, walks } = this.#options
    const asked = scoped(order, tenant)
    const cutoff = await store.cutoff()
    const found: BulkSample[] = []
    let place: string | null = null
    let looks = 0
    do {
      const stretch = await stretchOf(walks, asked, { place, limit: previewPage, cutoff })
      found.push(...stretch.found.flatMap(({ sample }) => sample ?? []))
      place = stretch.next
      looks++
    } while (place !== null && looks < previewLooks && found.length < previewTasks)
    const byStatus: Partial<Record<TaskStatus, number>> = {}
    for (const { status } of found) byStatus[status] = (byStatus[status] ?? 0) + 1
    const { action } = order
    return { action, matched: found.length, isAtLeast: place !== null, byStatus, samples: found.slice(0, samples) }
  }

  async get(id: Uuid, tenant: TenantScope): Promise<BulkRecord> {
    const record = await this.#options.store.read(id, tenant)
    if (record === null) throw notFound()
    return record
  }

  /** The record once it has ended; after `waitMs`, or when the signal aborts, as it stands. */
  async getFinished(id: Uuid, tenant: TenantScope, { waitMs, signal }: WaitRequest): Promise<BulkRecord> {
    for (let leftMs = waitMs; ; leftMs -= lookEveryMs) {
      // waiting begins before the look, so that an end between the two is not missed
      const wait = this.#options.waiters.wait(id, Math.max(0, Math.min(leftMs, lookEveryMs)), signal)
      try {
        const record = await this.get(id, tenant)
        if (leftMs <= 0 || signal.aborted || record.status !== 'RUNNING') return record
        await wait.done
      } finally {
        wait.cancel()
      }
    }
  }

  /** Newest first. */
  async list(tenant: TenantScope, { after, limit }: PageRequest): Promise<Page<BulkRecord>> {
    const items = await this.#options.store.list(tenant, after, limit + 1)
    return { items: items.slice(0, limit), next: items.length > limit ? (items[limit - 1]?.id ?? null) : null }
  }

  /** What it has done stays done; a batch that is under way is taken back. */
  async cancel(id: Uuid, tenant: TenantScope, actor: Actor): Promise<BulkRecord> {
    const { store, log, onEnded } = this.#options
    const cancelled = await store.cancel(id, tenant)
    if (cancelled !== null) {
      log.info({ bulk: encodeId('bulk', id), by: actor.name ?? actor.kind }, 'operation on many tasks cancelled')
      onEnded(id)
      return cancelled
    }
    const record = await this.get(id, tenant)
    if (record.status === 'CANCELLED') return record
    throw wrongState(record.status)
  }
}

/** @throws DulyError `forbidden` when a caller who is bound to a tenant names another one */
function scoped(order: BulkOrder, tenant: TenantScope): BulkOrder {
  if (tenant === null) return order
  const named = order.filters.tenant
  if (named !== null && named !== tenant) {
    throw new DulyError('forbidden', `tenant_id names another tenant than ${tenant}, which this key is bound to.`)
  }
  return { ...order, filters: { ...order.filters, tenant } } as BulkOrder
}

const notFound = (): DulyError => new DulyError('not_found', 'There is no such operation.')

const wrongState = (status: BulkStatus): DulyError =>
  new DulyError('wrong_state', `The operation is ${status}; it can be cancelled while it is RUNNING.`)

const tooMany = (limit: number): DulyError =>
  new DulyError(
    'rate_limited',
    `${limit} operations on many tasks are running already; wait for one of them, or cancel it.`,
    {
      retryAfterSeconds: 5,
    },
  )
