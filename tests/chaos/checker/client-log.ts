import type { TaskStatus, Uuid } from '@duly/domain'

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
  readonly verb: 'get' | 'cancel' | 'replay'
  readonly id: Uuid
  readonly observed: TaskStatus | null
  readonly completedAt: string | null
}

export type Call = SubmitCall | TaskCall

export function isSubmission(call: Call): call is SubmitCall {
  return call.verb === 'submit' || call.verb === 'batch'
}
