import { allowedFrom, DulyError, isOpen, type Lane, type TenantScope, type Uuid } from '@duly/domain'
import type { Actor, AttemptRecord, CancelResult, EventRecord, TaskRecord, WaitRequest } from '../model.js'
import type { TaskStore } from '../store/task-store.js'
import { trailOf } from './trail.js'
import type { Waiters } from './waiters.js'

export interface TasksOptions {
  readonly store: TaskStore
  readonly waiters: Waiters
  readonly onReady: (lane: Lane) => void
  readonly onFinished: (id: Uuid) => void
  /** A running attempt of this session was marked: its worker must be told at once. */
  readonly onCancelRequested: (session: Uuid) => void
}

/** A task can change hands between two looks; each try looks anew. */
const maxTries = 20

/** Single tasks: what they are, and what the API does to them. Another tenant's are as if they did not exist. */
export class Tasks {
  readonly #options: TasksOptions

  constructor(options: TasksOptions) {
    this.#options = options
  }

  async get(id: Uuid, tenant: TenantScope): Promise<TaskRecord> {
    const record = await this.#options.store.read(id, tenant)
    if (!record) throw notFound()
    return record
  }

  /** The record once the task is finished; after `waitMs`, or when the signal aborts, as it stands. */
  async getFinished(id: Uuid, tenant: TenantScope, { waitMs, signal }: WaitRequest): Promise<TaskRecord> {
    // waiting begins before the look, so that an end between the two is not missed
    const wait = this.#options.waiters.wait(id, waitMs, signal)
    try {
      const record = await this.get(id, tenant)
      if (waitMs <= 0 || !isOpen(record.status)) return record
      await wait.done
      return await this.get(id, tenant)
    } finally {
      wait.cancel()
    }
  }

  /** Waiting tasks end at once; of a running one the worker is told. Cancelling a cancelled task again changes nothing. */
  async cancel(id: Uuid, tenant: TenantScope, actor: Actor): Promise<CancelResult> {
    const { store } = this.#options
    const by = actorName(actor)
    for (let attempt = 0; attempt < maxTries; attempt++) {
      const cancelledAtMs = await store.cancelWaiting(id, tenant, { actor: by, reason: 'cancelled' })
      if (cancelledAtMs !== null) {
        this.#options.onFinished(id)
        return { id, status: 'CANCELLED', cancelRequested: false, cancelledAtMs }
      }
      const session = await store.requestCancel(id, tenant, { actor: by, reason: 'cancel_requested' })
      if (session !== null) {
        this.#options.onCancelRequested(session)
        return { id, status: 'RUNNING', cancelRequested: true, cancelledAtMs: null }
      }
      const standing = await store.standing(id, tenant)
      if (!standing) throw notFound()
      const { status, cancelRequested, completedAtMs } = standing
      if (cancelRequested) return { id, status, cancelRequested, cancelledAtMs: null }
      if (status === 'CANCELLED') return { id, status, cancelRequested: false, cancelledAtMs: completedAtMs }
      if (!isOpen(status)) throw wrongState('cancelled', status)
    }
    throw new DulyError('store_unavailable', 'The task changed its state each time it was looked at; try again.', {
      retryAfterSeconds: 1,
    })
  }

  /** Runs a finished task again, with its retries restored, under the same id. */
  async replay(id: Uuid, tenant: TenantScope, actor: Actor): Promise<TaskRecord> {
    const { store } = this.#options
    const lane = await store.replay(id, tenant, actorName(actor))
    if (!lane) {
      const standing = await store.standing(id, tenant)
      throw standing ? wrongState('retried', standing.status) : notFound()
    }
    this.#options.onReady(lane)
    return this.get(id, tenant)
  }

  async attempts(id: Uuid, tenant: TenantScope): Promise<readonly AttemptRecord[]> {
    await this.#exists(id, tenant)
    return this.#options.store.attempts(id)
  }

  /** Every transition, oldest first. */
  async events(id: Uuid, tenant: TenantScope): Promise<readonly EventRecord[]> {
    const facts = await this.#options.store.trail(id, tenant)
    if (!facts) throw notFound()
    return trailOf(facts)
  }

  async #exists(id: Uuid, tenant: TenantScope): Promise<void> {
    if (!(await this.#options.store.standing(id, tenant))) throw notFound()
  }
}

/** How an actor stands in the trail. */
export const actorName = ({ kind, name }: Actor): string => (name === undefined ? kind : `${kind}:${name}`)

const notFound = (): DulyError => new DulyError('not_found', 'There is no such task.')

function wrongState(what: 'cancelled' | 'retried', status: string): DulyError {
  const from = allowedFrom(what === 'cancelled' ? 'cancel' : 'replay').join(', ')
  const also = what === 'cancelled' ? ' or RUNNING' : ''
  return new DulyError('wrong_state', `The task is ${status}; it can be ${what} when it is ${from}${also}.`)
}
