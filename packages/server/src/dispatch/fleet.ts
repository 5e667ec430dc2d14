import { DulyError, type TenantScope, type Uuid } from '@duly/domain'
import type { Logger } from 'pino'
import type { Actor, Page, PageRequest, WorkerFilter, WorkerRecord } from '../model.js'
import type { FleetStore } from '../store/fleet-store.js'
import type { SessionStore } from '../store/session-store.js'
import { sessionActor } from './profile.js'

export interface FleetOptions {
  readonly store: FleetStore
  readonly sessions: Pick<SessionStore, 'drain'>
  readonly log: Logger
  /** The session gets nothing more: nodes, here and elsewhere, tell its worker. */
  readonly onDraining: (session: Uuid) => void
}

/** The workers of the deployment, and what operators do to them. */
export class Fleet {
  readonly #options: FleetOptions

  constructor(options: FleetOptions) {
    this.#options = options
  }

  /** The youngest sessions first. */
  async list(filter: WorkerFilter, { after, limit }: PageRequest): Promise<Page<WorkerRecord>> {
    const items = await this.#options.store.list(filter, { after, limit: limit + 1 })
    return { items: items.slice(0, limit), next: items.length > limit ? (items[limit - 1]?.id ?? null) : null }
  }

  async get(id: Uuid, tenant: TenantScope): Promise<WorkerRecord> {
    const worker = await this.#options.store.get(id, tenant)
    if (!worker) throw new DulyError('not_found', 'There is no such worker.')
    return worker
  }

  /** It is granted nothing more from now on; it finishes what it holds, and leaves when it has heard of it. */
  async drain(id: Uuid, actor: Actor): Promise<WorkerRecord> {
    const { sessions, log, onDraining } = this.#options
    const worker = await this.get(id, null)
    if (worker.state !== 'live' && worker.state !== 'draining') return worker
    await sessions.drain(id)
    log.info({ worker: sessionActor(id), name: worker.name, by: actor.name }, 'worker told to drain')
    onDraining(id)
    return this.get(id, null)
  }
}
