import { DulyError, type TenantScope, type Uuid } from '@duly/domain'
import { busy } from '../base/busy.js'
import { Turns } from '../base/turns.js'
import type {
  Actor,
  AddedNodes,
  NewWorkflow,
  Page,
  PageRequest,
  ReadWorkflow,
  SubmittedWorkflow,
  WaitRequest,
  WorkflowAddition,
  WorkflowFilters,
  WorkflowService,
  WorkflowSummary,
} from '../model.js'
import { readBack } from '../store/faults.js'
import type { WorkflowChangeStore } from '../store/workflow-change-store.js'
import type { WorkflowRecordStore } from '../store/workflow-record-store.js'
import type { LockedWorkflow } from '../store/workflow-rows.js'
import type { Additions } from './additions.js'
import type { NodeEnds } from './node-ends.js'
import { GraphReading } from './reading.js'
import type { Reopening } from './reopening.js'
import type { WorkflowSubmission } from './submission.js'

/** Tells when something has ended; `tasks/waiters.ts`. */
export interface Waits {
  wait(id: Uuid, waitMs: number, signal: AbortSignal): { readonly done: Promise<void>; readonly cancel: () => void }
}

export interface WorkflowsOptions {
  readonly submission: WorkflowSubmission
  readonly records: WorkflowRecordStore
  readonly changes: WorkflowChangeStore
  readonly ends: NodeEnds
  readonly additions: Additions
  readonly reopening: Reopening
  readonly waiters: Waits
  readonly storeNowMs: () => number
}

/** From so many nodes on a workflow is large: those are read one at a time (10,000 take 0.3 s), so that the other connection of lists is left to others. */
const largeNodes = 1_000
const mostLargeWaiting = 32

/** Workflows: what they are, and what the API does to them. Another tenant's are as if they did not exist. */
export class Workflows implements WorkflowService {
  readonly #options: WorkflowsOptions
  readonly #large = new Turns({
    width: 1,
    mostWaiting: mostLargeWaiting,
    refusal: () => busy('reads of large workflows'),
  })

  constructor(options: WorkflowsOptions) {
    this.#options = options
  }

  submit(workflow: NewWorkflow): Promise<SubmittedWorkflow> {
    return this.#options.submission.submit(workflow)
  }

  async read<T>(id: Uuid, tenant: TenantScope, read: ReadWorkflow<T>): Promise<T> {
    const { nodes } = await this.#summary(id, tenant)
    return nodes < largeNodes ? this.#read(id, tenant, read) : this.#large.run(() => this.#read(id, tenant, read))
  }

  /** Once no node is open; after `waitMs`, or when the signal aborts, as it stands. */
  async readFinished<T>(
    id: Uuid,
    tenant: TenantScope,
    { waitMs, signal }: WaitRequest,
    read: ReadWorkflow<T>,
  ): Promise<T> {
    // waiting begins before the look, so that an end between the two is not missed
    const wait = this.#options.waiters.wait(id, waitMs, signal)
    try {
      const summary = await this.#summary(id, tenant)
      if (waitMs > 0 && summary.status === 'RUNNING') await wait.done
      return await this.read(id, tenant, read)
    } finally {
      wait.cancel()
    }
  }

  /** Newest first, behind the workflow `after`. A caller who is bound to a tenant gets that tenant's, and is refused another's. */
  async list(filters: WorkflowFilters, tenant: TenantScope, page: PageRequest): Promise<Page<WorkflowSummary>> {
    if (tenant !== null && filters.tenant !== null && filters.tenant !== tenant) {
      throw new DulyError('forbidden', `tenant_id names another tenant than ${tenant}, which this key is bound to.`)
    }
    return this.#options.records.page(tenant === null ? filters : { ...filters, tenant }, page)
  }

  /** Waiting nodes end at once; of running ones the workers are told. Cancelling again changes nothing. */
  async cancel(id: Uuid, tenant: TenantScope, actor: Actor): Promise<WorkflowSummary> {
    const { ends, changes } = this.#options
    const by = actorName(actor)
    const isThere = await ends.ofWorkflow(id, tenant, async ({ client, locked, settlement }) => {
      const [workflow] = locked as [LockedWorkflow]
      if (workflow.status === 'CANCELLED' || workflow.cancelRequested) return true
      if (workflow.status !== 'RUNNING') throw wrongState(workflow, 'it can be cancelled when it is RUNNING')
      await changes.requestCancel(client, id, by)
      await settlement.sweep([id], { actor: by, reason: 'workflow_cancelled' })
      return true
    })
    if (!isThere) throw notFound()
    // a large one is cancelled in parts
    await ends.goneOn(id)
    return readBack(() => this.#summary(id, tenant))
  }

  /** Runs what failed or was cancelled, and what that blocked, again. */
  async retry<T>(id: Uuid, tenant: TenantScope, actor: Actor, read: ReadWorkflow<T>): Promise<T> {
    const judge = (workflow: LockedWorkflow): void => {
      if (workflow.status === 'FAILED' || workflow.status === 'CANCELLED') return
      const ofItself = workflow.failed > 0 ? '; a task of it that failed can be run again by itself' : ''
      throw wrongState(workflow, `it can be retried when it is FAILED or CANCELLED${ofItself}`)
    }
    const isThere = await this.#options.reopening.retry(id, tenant, { actor: actorName(actor), judge })
    if (!isThere) throw notFound()
    return readBack(() => this.read(id, tenant, read))
  }

  async addNodes(id: Uuid, tenant: TenantScope, addition: WorkflowAddition): Promise<AddedNodes> {
    const added = await this.#options.additions.add(id, tenant, addition)
    if (!added) throw notFound()
    return added
  }

  async #read<T>(id: Uuid, tenant: TenantScope, read: ReadWorkflow<T>): Promise<T> {
    const { records, storeNowMs } = this.#options
    const done = await records.read(id, tenant, async (found) => ({
      value: await read(new GraphReading(found, storeNowMs())),
    }))
    if (!done) throw notFound()
    return done.value
  }

  async #summary(id: Uuid, tenant: TenantScope): Promise<WorkflowSummary> {
    const summary = await this.#options.records.summary(id, tenant)
    if (!summary) throw notFound()
    return summary
  }
}

/** How an actor stands in the trail. */
const actorName = ({ kind, name }: Actor): string => (name === undefined ? kind : `${kind}:${name}`)

const notFound = (): DulyError => new DulyError('not_found', 'There is no such workflow.')

const wrongState = ({ status }: LockedWorkflow, when: string): DulyError =>
  new DulyError('wrong_state', `The workflow is ${status}; ${when}.`)
