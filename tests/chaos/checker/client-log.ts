import type { PriorityName, TaskStatus, Uuid } from '@duly/domain'

/**
 * What a client may conclude from a call. `ok`: answered with success. `fail`: refused, so it had no effect. `unknown`: no
 * answer, or one that says that nobody knows: it had its whole effect or none.
 */
export type CallOutcome = 'ok' | 'fail' | 'unknown'

/** When a call was made, and what came of it. */
export interface CallBase {
  /** Epoch ms by the machine's clock, which is also the test database's. */
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: CallOutcome
  /** HTTP status; null without an answer. */
  readonly status: number | null
  /** The problem's stable code, or what broke the connection. */
  readonly code: string | null
}

/** A submission of one or many tasks. The i-th mark, key and id belong together; marks tell tasks apart without their ids. */
export interface SubmitCall extends CallBase {
  readonly verb: 'submit' | 'batch'
  readonly marks: readonly string[]
  readonly keys: readonly (string | null)[]
  /** Answered ids; empty unless the outcome is ok. */
  readonly ids: readonly Uuid[]
}

/** A call about one task. `observed` is the status in its answer, `completedAt` the end that it tells. */
export interface TaskCall extends CallBase {
  readonly verb: 'get' | 'cancel' | 'replay' | 'discard' | 'edit'
  readonly id: Uuid
  readonly observed: TaskStatus | null
  readonly completedAt: string | null
  /** What an edit asks for. */
  readonly change?: Change
}

/** An edit of a task; what is absent stays. */
export interface Change {
  readonly priority?: PriorityName
  readonly queue?: string
  /** The number of the edit, which the new payload carries. */
  readonly edit?: number
}

/** An operation on many tasks: of one workflow, or on all dead letters of the load's queue. */
export interface BulkCall extends CallBase {
  readonly verb: 'bulk'
  readonly action: 'cancel' | 'retry'
  /** Null: the dead letters. */
  readonly workflow: Uuid | null
  /** When it was seen to have come to its end without a failure. */
  readonly doneAt: number | null
}

/** A queue that is to start nothing for a while, and to go on. */
export interface QueueCall extends CallBase {
  readonly verb: 'pause' | 'resume'
  readonly queue: string
}

export type Call = SubmitCall | TaskCall | BulkCall | QueueCall

export function isSubmission(call: Call): call is SubmitCall {
  return call.verb === 'submit' || call.verb === 'batch'
}

export function isOfTask(call: Call): call is TaskCall {
  return !isSubmission(call) && call.verb !== 'bulk' && call.verb !== 'pause' && call.verb !== 'resume'
}
