import type { Uuid, WorkflowStatus } from '@duly/domain'
import type { AskedWorkflow } from '../load/graphs.js'
import type { CallBase } from './client-log.js'

/** A submission of a workflow. */
export interface WorkflowSubmission extends CallBase {
  readonly verb: 'submit'
  readonly asked: AskedWorkflow
  /** The answered id; null unless the outcome is ok. */
  readonly id: Uuid | null
}

/** A call about one workflow, and what its answer tells. */
export interface WorkflowLook extends CallBase {
  readonly verb: 'get' | 'cancel' | 'retry'
  readonly id: Uuid
  readonly observed: WorkflowStatus | null
  readonly completedAt: string | null
  /** It says that nothing of the workflow is to start any more. */
  readonly isStopping: boolean
}

export type WorkflowCall = WorkflowSubmission | WorkflowLook
