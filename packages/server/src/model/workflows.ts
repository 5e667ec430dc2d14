import type {
  FailurePolicy,
  FinalStatus,
  TaskStatus,
  TenantScope,
  TriggerRule,
  Uuid,
  WorkflowStatus,
} from '@duly/domain'
import type { Page, PageRequest } from './lists.js'
import type { WaitRequest } from './services.js'
import type { Actor, JsonText, NewTask, TaskError } from './tasks.js'

/** A node of a workflow that is submitted. The graph was judged: names are unique, there is no cycle. */
export interface NewWorkflowNode {
  readonly name: string
  /** Without an idempotency key; its tenant is the workflow's. */
  readonly task: NewTask
  /** The places of its parents among the nodes. */
  readonly dependencies: readonly number[]
  readonly triggerRule: TriggerRule
}

/** A validated submission of a workflow with all defaults applied. */
export interface NewWorkflow {
  readonly tenant: string
  /** What the caller's key is bound to. */
  readonly boundTo: TenantScope
  readonly name: string
  readonly nodes: readonly NewWorkflowNode[]
  /** Nodes without dependencies start at this instant, epoch ms; null: now. */
  readonly scheduledAtMs: number | null
  readonly failurePolicy: FailurePolicy
  readonly metadata: JsonText | null
  readonly idempotencyKey: string | null
  /** SHA-256 of the canonical request; only set with an idempotency key. */
  readonly requestHash: Buffer | null
  readonly traceparent: string | null
}

/** The answer to a submission. */
export interface SubmittedWorkflow {
  readonly id: Uuid
  readonly status: WorkflowStatus
  /** True when an earlier submission with the same key and the same request made the workflow. */
  readonly replayed: boolean
  /** In the order given. */
  readonly nodes: readonly { readonly name: string; readonly id: Uuid; readonly status: TaskStatus }[]
}

/** What a list tells of a workflow. Instants are epoch ms of the store. */
export interface WorkflowSummary {
  readonly id: Uuid
  readonly name: string
  readonly status: WorkflowStatus
  readonly tenant: string
  readonly createdAtMs: number
  readonly scheduledAtMs: number | null
  readonly completedAtMs: number | null
  readonly cancelRequested: boolean
  readonly failurePolicy: FailurePolicy
  readonly nodes: number
  /** Nodes that have not ended. */
  readonly open: number
  /** Nodes that ended FAILED or DEAD. */
  readonly failed: number
}

/** A node as its workflow tells it: where it stands in the graph, and how its task stands. */
export interface WorkflowNodeRecord {
  readonly name: string
  readonly id: Uuid
  readonly taskType: string
  readonly queue: string
  readonly status: TaskStatus
  readonly triggerRule: TriggerRule
  /** Names of its parents. */
  readonly dependencies: readonly string[]
  readonly createdAtMs: number
  readonly startedAtMs: number | null
  readonly completedAtMs: number | null
  readonly dueAtMs: number | null
  readonly attempts: number
  readonly failures: number
  readonly reason: string | null
  readonly error: TaskError | null
  /** The node whose task added it; null: it was submitted with the workflow. */
  readonly addedBy: string | null
}

export interface WorkflowRecord extends WorkflowSummary {
  readonly metadata: JsonText | null
  readonly idempotencyKey: string | null
  /** Raised by each retry of the workflow and each replay of one of its nodes, from 1. */
  readonly run: number
  /** In the order of submission, added ones behind. */
  readonly graph: readonly WorkflowNodeRecord[]
  readonly criticalPath: { readonly nodes: readonly string[]; readonly durationMs: number | null }
}

/** What is known of a workflow beside its graph. */
export type WorkflowHead = Omit<WorkflowRecord, 'graph' | 'criticalPath'>

/** A workflow while it is read, all of one instant. The graph comes in parts, so that a large one holds up nobody, and its records are never in memory all at once. */
export interface WorkflowReading {
  readonly workflow: WorkflowHead
  /** In the order of submission, added ones behind. To be read once. */
  readonly parts: AsyncIterable<readonly WorkflowNodeRecord[]>
  /** By the parts that have been read. */
  criticalPath(): WorkflowRecord['criticalPath']
}

/** What is made of a workflow while it is read. */
export type ReadWorkflow<T> = (reading: WorkflowReading) => Promise<T>

/** Which workflows a list holds; null: whichever. All of them must fit. */
export interface WorkflowFilters {
  readonly status: WorkflowStatus | null
  readonly name: string | null
  readonly tenant: string | null
  /** Created at or after this instant, epoch ms. */
  readonly createdAfterMs: number | null
  /** Created before this instant, epoch ms. */
  readonly createdBeforeMs: number | null
}

/** A node that a running task adds behind itself. Among each other the nodes of one call were judged as those of a submission are. */
export interface AddedWorkflowNode {
  readonly name: string
  /** Without an idempotency key; its tenant is the workflow's. */
  readonly task: Omit<NewTask, 'tenant'>
  /** The tenant that its metadata names, which cannot be another than the workflow's; null: none. */
  readonly namedTenant: string | null
  /** Names of nodes of this call, or of nodes that exist; none: see `waitsForAdder`. */
  readonly dependencies: readonly string[]
  /** Without dependencies: it depends on the adder, or on nothing and starts beside it. */
  readonly waitsForAdder: boolean
  readonly triggerRule: TriggerRule
  /** SHA-256 of the canonical request for this node. */
  readonly requestHash: Buffer
}

export interface WorkflowAddition {
  /** The task that adds, a node of this workflow, and the lease of its running attempt. */
  readonly adder: Uuid
  readonly lease: string
  readonly nodes: readonly AddedWorkflowNode[]
}

export interface AddedNodes {
  /** In the order given. Not new: an earlier call with the same body added it. */
  readonly nodes: readonly {
    readonly name: string
    readonly id: Uuid
    readonly status: TaskStatus
    readonly isNew: boolean
  }[]
}

/** Graphs of tasks. What a call starts is committed when it resolves. */
export interface WorkflowService {
  submit(workflow: NewWorkflow): Promise<SubmittedWorkflow>
  /** Rejects with `store_unavailable` when too many wait to read a large one already. */
  read<T>(id: Uuid, tenant: TenantScope, read: ReadWorkflow<T>): Promise<T>
  /** As soon as no node is open, or as it stands after the wait. */
  readFinished<T>(id: Uuid, tenant: TenantScope, wait: WaitRequest, read: ReadWorkflow<T>): Promise<T>
  /** Newest first, by id. A caller who is bound to a tenant gets that tenant's, and `forbidden` for another's. */
  list(filters: WorkflowFilters, tenant: TenantScope, page: PageRequest): Promise<Page<WorkflowSummary>>
  /**
   * Cancels what waits, marks what runs. RUNNING with `cancelRequested`: some nodes run still. Of a CANCELLED one it changes nothing; rejects
   * with `wrong_state` for one that has SUCCEEDED or FAILED.
   */
  cancel(id: Uuid, tenant: TenantScope, actor: Actor): Promise<WorkflowSummary>
  /** Runs what failed or was cancelled, and what that blocked, again. Rejects with `wrong_state` unless it is FAILED or CANCELLED. */
  retry<T>(id: Uuid, tenant: TenantScope, actor: Actor, read: ReadWorkflow<T>): Promise<T>
  /**
   * Rejects with `lease_lost` when the lease is not the adder's running attempt's, with `idempotency_conflict` when a name belongs to another
   * body, with `invalid_request` when a dependency is unknown or the workflow would get too large (paths as `tasks[3].dependencies[0]`).
   */
  addNodes(id: Uuid, tenant: TenantScope, addition: WorkflowAddition): Promise<AddedNodes>
}

/** What a worker is told, beside its task, of a node of a workflow. */
export interface GrantedNode {
  readonly workflowId: Uuid
  readonly name: string
  readonly dependencies: readonly GrantedDependency[]
}

export interface GrantedDependency {
  readonly name: string
  readonly status: FinalStatus
  /** Null: it has none, or `isOmitted`. */
  readonly result: JsonText | null
  /** Its result is left to a call of its own: all of them were over the limit together. */
  readonly isOmitted: boolean
}

/** Asks for results of dependencies, by their names. */
export interface DependencyResultsRequest {
  readonly id: Uuid
  readonly lease: string
  readonly names: readonly string[]
}

/** A result that was asked for; omitted: the answer would get too large, and never so of the first. */
export type DependencyResult = Omit<GrantedDependency, 'status'>
