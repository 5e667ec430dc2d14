import { allowedFrom, DulyError, isOpen, type Lane, type TenantScope, type Uuid } from '@duly/domain'
import type {
  Actor,
  AttemptRecord,
  CancelResult,
  EndedTask,
  EventRecord,
  Page,
  PageRequest,
  RunRecord,
  TaskEdit,
  TaskFilters,
  TaskRecord,
  TaskSummary,
  WaitRequest,
} from '../model.js'
import type { Note } from '../store/commits.js'
import type { EditedTask, EditStore } from '../store/edit-store.js'
import { readBack } from '../store/faults.js'
import type { ListStore } from '../store/list-store.js'
import type { TaskStore } from '../store/task-store.js'
import { scopedTo } from './scoped.js'
import { trailOf } from './trail.js'
import type { Waiters } from './waiters.js'

export interface TasksOptions {
  readonly store: TaskStore
  readonly edits: EditStore
  readonly lists: ListStore
  readonly waiters: Waiters
  /** Makes a queue exist; rejects with `unprocessable` when the deployment has as many as it may. */
  readonly ensureQueue: (queue: string, tenant: TenantScope) => Promise<void>
  readonly onEdited: (task: EditedTask) => void
  readonly onReady: (lane: Lane) => void
  /** Cancelled while it waited. */
  readonly onCancelled: (task: EndedTask) => void
  /** Ends and re-opens tasks of workflows. */
  readonly nodes: NodeChanges
  /** A running attempt of this session was marked: its worker must be told at once. */
  readonly onCancelRequested: (session: Uuid) => void
}

/** What a change to a task of a workflow goes through, with all that it brings about; the listeners are told there. */
export interface NodeChanges {
  /** Null: it does not wait. */
  cancel(
    id: Uuid,
    tenant: TenantScope,
    because: { readonly actor: string; readonly reason: string },
  ): Promise<(EndedTask & { readonly cancelledAtMs: number }) | null>
  cancelTogether(
    ids: readonly Uuid[],
    because: { readonly actor: string; readonly reason: string; readonly note: Note },
  ): Promise<readonly EndedTask[]>
  /** False: it is in no state to be replayed. */
  replay(id: Uuid, tenant: TenantScope, actor: string): Promise<boolean>
}

/** A task can change hands between two looks; each try looks anew. */
const maxTries = 20

/** Tasks: what they are, and what the API does to them. Another tenant's are as if they did not exist. */
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
      const cancelled = await store.cancelWaiting(id, tenant, { actor: by, reason: 'cancelled' })
      if (cancelled !== null) return this.#cancelled(cancelled)
      const session = await store.requestCancel(id, tenant, { actor: by, reason: 'cancel_requested' })
      if (session !== null) {
        this.#options.onCancelRequested(session)
        return { id, status: 'RUNNING', cancelRequested: true, cancelledAtMs: null }
      }
      const standing = await store.standing(id, tenant)
      if (!standing) throw notFound()
      const { status, cancelRequested, completedAtMs, workflowId } = standing
      if (workflowId !== null && allowedFrom('cancel').includes(status)) {
        const node = await this.#options.nodes.cancel(id, tenant, { actor: by, reason: 'cancelled' })
        if (node !== null) return this.#cancelled(node)
      }
      if (cancelRequested) return { id, status, cancelRequested, cancelledAtMs: null }
      if (status === 'CANCELLED') return { id, status, cancelRequested: false, cancelledAtMs: completedAtMs }
      if (!isOpen(status)) throw wrongState('cancel', status)
    }
    throw restless()
  }

  /** Cancels those of these tasks of workflows that wait, at once and whoever's they are; answers which. */
  async cancelTogether(ids: readonly Uuid[], { actor, note }: { actor: Actor; note: Note }): Promise<readonly Uuid[]> {
    const because = { actor: actorName(actor), reason: 'cancelled', note }
    const cancelled = await this.#options.nodes.cancelTogether(ids, because)
    for (const task of cancelled) this.#options.onCancelled(task)
    return cancelled.map(({ id }) => id)
  }

  #cancelled(task: EndedTask & { readonly cancelledAtMs: number }): CancelResult {
    this.#options.onCancelled(task)
    return { id: task.id, status: 'CANCELLED', cancelRequested: false, cancelledAtMs: task.cancelledAtMs }
  }

  /** Edits a task that waits. What starts after this has resolved runs as edited. */
  async edit(id: Uuid, tenant: TenantScope, change: { edit: TaskEdit; actor: Actor }): Promise<TaskRecord> {
    const { edits, store } = this.#options
    const { queue, scheduledAtMs } = change.edit
    const transition = scheduledAtMs === undefined ? 'edit' : 'reschedule'
    for (let attempt = 0; attempt < maxTries; attempt++) {
      const standing = await store.standing(id, tenant)
      if (!standing) throw notFound()
      if (!allowedFrom(transition).includes(standing.status)) throw wrongState(transition, standing.status)
      // only for a task that is there: a refused edit leaves no queue behind
      if (queue !== undefined) await this.#options.ensureQueue(queue, tenant)
      const edited = await edits.edit(id, tenant, { edit: change.edit, actor: actorName(change.actor) })
      if (!edited) continue
      this.#options.onEdited(edited)
      return readBack(() => this.get(id, tenant))
    }
    throw restless()
  }

  /** Runs a finished task again, with its retries restored, under the same id; of a workflow's also what it blocked. */
  async replay(id: Uuid, tenant: TenantScope, actor: Actor): Promise<TaskRecord> {
    const { store, nodes, onReady } = this.#options
    const lane = await store.replay(id, tenant, actorName(actor))
    if (lane) {
      onReady(lane)
      return readBack(() => this.get(id, tenant))
    }
    const standing = await store.standing(id, tenant)
    if (!standing) throw notFound()
    if (standing.isDiscarded) throw discarded()
    const isReplayed = standing.workflowId !== null && (await nodes.replay(id, tenant, actorName(actor)))
    if (!isReplayed) throw wrongState('replay', standing.status)
    return readBack(() => this.get(id, tenant))
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

  /** Newest first, behind the task `after`. A caller who is bound to a tenant gets that tenant's, and is refused another's. */
  async list(filters: TaskFilters, tenant: TenantScope, page: PageRequest): Promise<Page<TaskSummary>> {
    return this.#options.lists.page(scopedTo(filters, tenant), page)
  }

  /** The current run first, then those that a replay took back; behind the run numbered `after`. */
  async runs(id: Uuid, tenant: TenantScope, { after, limit }: PageRequest): Promise<Page<RunRecord>> {
    await this.#exists(id, tenant)
    const before = after === null ? null : Number(after)
    const found = await this.#options.store.runs(id, { before, limit: limit + 1 })
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? String(items.at(-1)?.run) : null }
  }

  async #exists(id: Uuid, tenant: TenantScope): Promise<void> {
    if (!(await this.#options.store.standing(id, tenant))) throw notFound()
  }
}

/** How an actor stands in the trail. */
export const actorName = ({ kind, name }: Actor): string => (name === undefined ? kind : `${kind}:${name}`)

const notFound = (): DulyError => new DulyError('not_found', 'There is no such task.')

/** What a refused transition is called, and from where it leads. */
const refusals = {
  cancel: 'it can be cancelled',
  replay: 'it can be retried',
  edit: 'it can be edited',
  reschedule: 'its scheduled_at can be edited',
} as const

function wrongState(transition: keyof typeof refusals, status: string): DulyError {
  const from = allowedFrom(transition).join(', ')
  const also = transition === 'cancel' ? ' or RUNNING' : ''
  return new DulyError('wrong_state', `The task is ${status}; ${refusals[transition]} when it is ${from}${also}.`)
}

const discarded = (): DulyError =>
  new DulyError('wrong_state', 'The task is DEAD and was discarded, for good: submit it anew if it is to run.')

const restless = (): DulyError =>
  new DulyError('store_unavailable', 'The task changed its state each time it was looked at; try again.', {
    retryAfterSeconds: 1,
  })
