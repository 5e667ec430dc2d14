import type { TaskErrorInfo } from '../errors.js'
import type { Metadata, TaskStatus } from './records.js'

/** Where a workflow stands. */
export const WORKFLOW_STATUSES = ['RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const

export type WorkflowStatus = (typeof WORKFLOW_STATUSES)[number]

/** When a task of a workflow runs, told by how those before it ended. */
export type TriggerRule = 'all_succeeded' | 'none_failed' | 'all_done' | 'one_succeeded' | 'one_failed'

/** What a task that ends FAILED or DEAD does to the rest of its workflow. */
export type FailurePolicy = 'fail_dependents' | 'fail_fast'

/** What a list tells of a workflow. */
export interface WorkflowSummary {
  readonly id: string
  readonly name: string
  readonly status: WorkflowStatus
  readonly tenantId: string
  readonly createdAt: Date
  readonly scheduledAt: Date | null
  readonly completedAt: Date | null
  readonly durationMs: number | null
  readonly cancelRequested: boolean
  readonly failurePolicy: FailurePolicy
  /** Tasks of it, added ones too. */
  readonly nodes: number
  /** Those that have not ended. */
  readonly open: number
  /** Those that ended FAILED or DEAD. */
  readonly failed: number
}

/** A task as its workflow tells it. */
export interface WorkflowNodeRecord {
  /** Its name in the workflow. */
  readonly name: string
  /** The id of the task. */
  readonly id: string
  readonly taskType: string
  readonly queue: string
  readonly status: TaskStatus
  readonly triggerRule: TriggerRule
  readonly dependencies: readonly string[]
  readonly createdAt: Date
  readonly dueAt: Date | null
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly attempts: number
  readonly failures: number
  readonly reason: string | null
  readonly error: Omit<TaskErrorInfo, 'stack'> | null
  /** The task that added it while it ran; null: it was submitted with the workflow. */
  readonly addedBy: string | null
}

/** Everything the server tells of a workflow. */
export interface WorkflowRecord extends WorkflowSummary {
  readonly metadata: Metadata | null
  readonly idempotencyKey: string | null
  readonly run: number
  /** In the order of submission, added ones behind. */
  readonly graph: readonly WorkflowNodeRecord[]
  /** The chain of tasks that its time went by. */
  readonly criticalPath: { readonly nodes: readonly string[]; readonly durationMs: number | null }
}

/** A task of a workflow that was submitted or added. */
export interface NodeReceipt {
  readonly id: string
  readonly status: TaskStatus
}

/** A task that a handler added to its workflow. */
export interface AddedReceipt extends NodeReceipt {
  /** True when an earlier call with the same body had added it, in this attempt or another. */
  readonly isReplay: boolean
}

/** The answer to the submission of a workflow. */
export interface WorkflowReceipt {
  readonly id: string
  readonly status: WorkflowStatus
  /** By name, in the order of submission. */
  readonly tasks: ReadonlyMap<string, NodeReceipt>
}
