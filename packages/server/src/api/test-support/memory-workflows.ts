import { DulyError, isVisible, type TaskStatus, type TenantScope, type Uuid } from '@duly/domain'
import type {
  AddedWorkflowNode,
  NewWorkflow,
  NewWorkflowNode,
  WorkflowAddition,
  WorkflowFilters,
  WorkflowNodeRecord,
  WorkflowReading,
  WorkflowRecord,
  WorkflowService,
} from '../../model.js'

/** Workflows as the HTTP layer sees them: kept as given, and nothing of them ever runs. */
export class MemoryWorkflows {
  readonly submitted: NewWorkflow[] = []
  readonly added: WorkflowAddition[] = []
  readonly listed: WorkflowFilters[] = []
  readonly byId = new Map<Uuid, WorkflowRecord>()
  readonly #atMs: number
  readonly #newId: () => Uuid
  readonly #wait: (waitMs: number, signal: AbortSignal) => Promise<void>

  constructor(atMs: number, newId: () => Uuid, wait: (waitMs: number, signal: AbortSignal) => Promise<void>) {
    this.#atMs = atMs
    this.#newId = newId
    this.#wait = wait
  }

  readonly service: WorkflowService = {
    submit: async (workflow) => {
      this.submitted.push(workflow)
      const known = [...this.byId.values()].find(
        ({ idempotencyKey: key }) => key !== null && key === workflow.idempotencyKey,
      )
      const record = known ?? this.#add(workflow)
      return { id: record.id, status: record.status, replayed: known !== undefined, nodes: record.graph }
    },
    read: async (id, tenant, read) => read(readingOf(this.#get(id, tenant))),
    readFinished: async (id, tenant, { waitMs, signal }, read) => {
      this.#get(id, tenant)
      await this.#wait(waitMs, signal)
      return read(readingOf(this.#get(id, tenant)))
    },
    list: async (filters, tenant, page) => {
      this.listed.push(filters)
      const items = [...this.byId.values()].filter((record) => isVisible(tenant, record.tenant)).slice(0, page.limit)
      return { items, next: items.at(-1)?.id ?? null }
    },
    cancel: async (id, tenant) => {
      const record = this.#get(id, tenant)
      return this.set(id, { cancelRequested: true, ...(record.open > 0 ? {} : { status: 'CANCELLED' }) })
    },
    retry: async (id, tenant, _actor, read) => {
      const { status } = this.#get(id, tenant)
      if (status === 'RUNNING') throw new DulyError('wrong_state', 'The workflow is RUNNING.')
      return read(readingOf(this.set(id, { status: 'RUNNING', completedAtMs: null })))
    },
    addNodes: async (id, tenant, addition) => {
      const { graph } = this.#get(id, tenant)
      this.added.push(addition)
      const nodes = addition.nodes.map((node) => {
        const known = graph.find(({ name }) => name === node.name)
        return known ? { ...known, isNew: false } : { ...this.#added(node), isNew: true }
      })
      this.set(id, { graph: [...graph, ...nodes.filter(({ isNew }) => isNew)] })
      return { nodes }
    },
  }

  /** Changes a record, as the ends of its tasks would. */
  set(id: Uuid, change: Partial<WorkflowRecord>): WorkflowRecord {
    const record = this.byId.get(id)
    if (!record) throw new Error('unknown workflow')
    const changed = { ...record, ...change }
    this.byId.set(id, changed)
    return changed
  }

  #get(id: Uuid, tenant: TenantScope): WorkflowRecord {
    const record = this.byId.get(id)
    if (!record || !isVisible(tenant, record.tenant)) throw new DulyError('not_found', 'There is no such workflow.')
    return record
  }

  #add({ name, tenant, nodes, ...workflow }: NewWorkflow): WorkflowRecord {
    const names = nodes.map((node) => node.name)
    const record: WorkflowRecord = {
      ...{ id: this.#newId(), name, tenant, status: 'RUNNING', createdAtMs: this.#atMs, completedAtMs: null },
      ...{ scheduledAtMs: workflow.scheduledAtMs, failurePolicy: workflow.failurePolicy, cancelRequested: false },
      ...{ nodes: nodes.length, open: nodes.length, failed: 0, run: 1, metadata: workflow.metadata },
      idempotencyKey: workflow.idempotencyKey,
      graph: nodes.map((node) => this.#node(node, names)),
      criticalPath: { nodes: [], durationMs: null },
    }
    this.byId.set(record.id, record)
    return record
  }

  #node({ name, task, dependencies, triggerRule }: NewWorkflowNode, names: readonly string[]): WorkflowNodeRecord {
    const { taskType, queue } = task
    const status = dependencies.length === 0 ? 'PENDING' : 'BLOCKED'
    const parents = dependencies.map((place) => names[place] ?? '')
    return { ...this.#standing(status), name, taskType, queue, triggerRule, dependencies: parents, addedBy: null }
  }

  #added({ name, task, dependencies, triggerRule }: AddedWorkflowNode): WorkflowNodeRecord {
    const { taskType, queue } = task
    return { ...this.#standing('BLOCKED'), name, taskType, queue, triggerRule, dependencies, addedBy: 'split' }
  }

  #standing(status: TaskStatus) {
    const times = { createdAtMs: this.#atMs, startedAtMs: null, completedAtMs: null, dueAtMs: null }
    return { id: this.#newId(), status, ...times, attempts: 0, failures: 0, reason: null, error: null }
  }
}

/** A record as a service gives it to be read: a node at a time. */
export function readingOf({ graph, criticalPath, ...workflow }: WorkflowRecord): WorkflowReading {
  async function* parts() {
    for (const node of graph) yield [node]
  }
  return { workflow, parts: parts(), criticalPath: () => criticalPath }
}
