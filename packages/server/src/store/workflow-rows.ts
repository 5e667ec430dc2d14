import type {
  FailurePolicy,
  NodeEnd,
  ParentCounts,
  SweepReason,
  TaskStatus,
  TriggerRule,
  Uuid,
  WorkflowStatus,
} from '@duly/domain'
import type { EndedTask, NewWorkflow, NewWorkflowNode } from '../model.js'
import type { HandOff, TakenTask } from '../queue/port.js'
import type { DueTimer } from './timer-store.js'

/** A node with its minted id; `position` is its place in the workflow. */
export interface MintedNode {
  readonly id: Uuid
  readonly workflowId: Uuid
  readonly partition: number
  readonly position: number
  readonly node: Omit<NewWorkflowNode, 'dependencies'>
  /** Ids of what it depends on. */
  readonly parents: readonly Uuid[]
  /** When its workflow starts; null: at once. */
  readonly startAtMs: number | null
  /** The waiting worker that shall get it at once. */
  readonly handoff: HandOff | null
  /** Of one that a running task adds: which, and the hash of what was asked for. */
  readonly added?: { readonly by: Uuid; readonly requestHash: Buffer }
}

/** What a node weighs in a statement. */
export const bytesOfNode = ({ node }: MintedNode): number => node.task.payload.length

/** A workflow with its minted ids, as it is committed. */
export interface MintedWorkflow {
  readonly id: Uuid
  readonly workflow: NewWorkflow
  readonly nodes: readonly MintedNode[]
}

/** A row of what a workflow stands at: one a node. */
export interface StandingNode {
  readonly id: Uuid
  readonly status: WorkflowStatus
  readonly nodeId: Uuid
  readonly name: string
  readonly position: number
  readonly nodeStatus: TaskStatus
}

/** A workflow under its lock. */
export interface LockedWorkflow {
  readonly id: Uuid
  readonly tenant: string
  readonly name: string
  readonly status: WorkflowStatus
  readonly failurePolicy: FailurePolicy
  readonly nodes: number
  readonly edges: number
  readonly open: number
  readonly failed: number
  readonly run: number
  readonly createdAtMs: number
  readonly cancelRequested: boolean
  /** Everything that is open is being cancelled, for that reason and by that actor; null: it is not. */
  readonly sweepReason: SweepReason | null
  readonly sweepActor: string | null
}

/** The end of a node, to be passed on to its children. `isNoted`: it stands at the node already. */
export interface NodeEnding {
  readonly id: Uuid
  readonly workflowId: Uuid
  readonly kind: NodeEnd
  readonly isNoted: boolean
}

/** A child that was told of an end and is to be judged. */
export interface ToldNode extends ParentCounts {
  readonly id: Uuid
  readonly workflowId: Uuid
  readonly triggerRule: TriggerRule
  /** What a worker is to serve for it; null: it was not asked for, or not all parents have ended. */
  readonly lane: NodeLane | null
}

export interface NodeLane {
  readonly tenant: string
  readonly queue: string
  readonly taskType: string
}

/** A node that is to run, and the waiting worker that shall get it at once. */
export interface ReadyNode {
  readonly id: Uuid
  readonly handoff: HandOff | null
}

/** A node that waits no longer for others: ready, due at its own time, or running already. */
export interface UnblockedNode extends Omit<DueTimer, 'status' | 'wakeAtMs' | 'suspect'> {
  readonly status: 'PENDING' | 'SCHEDULED' | 'RUNNING'
  readonly dueAtMs: number
  /** What the worker was given that has it. */
  readonly taken: TakenTask | null
}

/** How a waiting node is ended. */
export interface WaitingEnd {
  readonly id: Uuid
  readonly how: 'cancel' | 'purge' | 'expire' | 'skip' | 'upstream_fail'
  readonly reason: string
}

/** A node that ended while it waited. */
export interface EndedNode extends EndedTask {
  readonly workflowId: Uuid
  readonly status: 'CANCELLED' | 'FAILED'
  readonly reason: string
  readonly endedAtMs: number
}

/** An open node under its lock. */
export interface OpenNode {
  readonly id: Uuid
  /** Null: it is not there at the moment, since an edit replaces it. */
  readonly status: TaskStatus | null
}

/** What is known of a workflow's ends only by looking at its nodes. */
export interface VerdictFacts {
  readonly id: Uuid
  readonly untaken: number
  readonly hasSucceeded: boolean
  readonly leftBy: SweepReason | null
}

/** What ended in a workflow; `status` closes it. */
export interface Tally {
  readonly id: Uuid
  readonly ended: number
  readonly failed: number
  readonly status: Exclude<WorkflowStatus, 'RUNNING'> | null
}

/** A workflow of which no node is open any more. */
export interface ClosedWorkflow {
  readonly id: Uuid
  readonly name: string
  readonly tenant: string
  readonly status: Exclude<WorkflowStatus, 'RUNNING'>
  readonly durationMs: number
}
