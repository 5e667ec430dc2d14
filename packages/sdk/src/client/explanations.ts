import type { BackoffKind, JitterKind, Priority } from '../define-task.js'
import type { TaskStatus } from './records.js'
import type { TriggerRule } from './workflow-records.js'

/** A live worker that lacks one thing to run the task. */
export interface NearWorker {
  readonly workerId: string
  readonly name: string
  /** The first 20. */
  readonly queues: readonly string[]
  /** The first 20. */
  readonly taskTypes: readonly string[]
  readonly missing: readonly ('queue' | 'task_type' | 'tenant')[]
}

/** How long what is ahead may take, and what that was reckoned from. */
export interface WaitEstimate {
  readonly waitSeconds: number
  readonly startsPerSecond: number
  readonly startsOf: 'queue' | 'tenant'
  readonly windowSeconds: number
  /** The part of those starts that its lane gets, 0 to 1. */
  readonly share: number
}

/** One cause of how a task stands: `docs/reference/causes.md` has the codes; each has the numbers that belong to it. */
export interface Cause {
  readonly code: string
  /** One sentence for a person. */
  readonly message: string
  readonly queue?: string
  readonly taskType?: string
  readonly tenantId?: string
  readonly priority?: Priority
  readonly gate?: string
  /** Until the instant of the cause; negative when that is past. */
  readonly inSeconds?: number
  /** Since the instant of the cause. */
  readonly forSeconds?: number
  readonly pausedAt?: Date | null
  readonly dueAt?: Date | null
  readonly expiresAt?: Date
  readonly startedAt?: Date | null
  readonly deadlineAt?: Date
  readonly endsAt?: Date
  readonly endedAt?: Date
  readonly completedAt?: Date
  readonly cancelRequestedAt?: Date
  readonly lastHeartbeatAt?: Date | null
  readonly lastSeenAt?: Date | null
  readonly updatedAt?: Date
  readonly workers?: number
  readonly slots?: number
  readonly running?: number
  readonly nearWorkers?: readonly NearWorker[]
  /** Ready before it in its lane. */
  readonly ahead?: number
  /** False: there are more than were counted. */
  readonly isAheadExact?: boolean
  readonly depth?: number
  /** Null: nothing was started in the last minutes. */
  readonly estimate?: WaitEstimate | null
  readonly priorities?: readonly { readonly priority: Priority; readonly share: number }[]
  readonly tenants?: number | null
  readonly gates?: number
  readonly share?: number
  readonly attempt?: number
  readonly failures?: number
  readonly maxRetries?: number
  readonly crashes?: number
  readonly maxCrashes?: number
  readonly undelivered?: number
  readonly snoozes?: number
  readonly delaySeconds?: number | null
  /** Drawn, or asked for by the handler; null: nobody wrote it down. */
  readonly delayFrom?: 'backoff' | 'handler' | null
  readonly retryBackoff?: BackoffKind
  readonly retryJitter?: JitterKind
  readonly error?: { readonly class: string; readonly message: string } | null
  readonly workerId?: string | null
  readonly workerName?: string | null
  readonly isLeaseLive?: boolean
  readonly percent?: number
  readonly note?: string | null
  readonly reason?: string | null
  readonly actor?: string | null
  /** The first 20 tasks whose ends it waits for; `node` is the name in the workflow. */
  readonly blockers?: readonly { readonly id: string; readonly node: string | null; readonly status: TaskStatus }[]
  readonly blockerCount?: number
  /** By which the task of a workflow is judged. */
  readonly triggerRule?: TriggerRule
}

/** Why a task stands as it stands. */
export interface Explanation {
  readonly id: string
  readonly status: TaskStatus
  /** The cause that matters most, in one sentence. */
  readonly summary: string
  /** The one that matters most first; never empty. */
  readonly causes: readonly Cause[]
}
