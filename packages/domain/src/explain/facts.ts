import type { Priority } from '../lane.js'
import type { Backoff, Jitter } from '../retry.js'
import type { TaskStatus } from '../statuses.js'
import type { Uuid } from '../uuid.js'
import type { TriggerRule } from '../workflow/index.js'

/** An error in short. */
export interface ErrorFacts {
  readonly class: string
  readonly message: string
}

/** The last attempt of the current run that did not succeed. */
export interface AttemptFacts {
  readonly attempt: number
  readonly outcome: string
  readonly endedAtMs: number
  readonly workerName: string | null
  /** What it waits for before it is tried again. */
  readonly delayMs: number | null
  /** The handler asked for that delay; null: nobody wrote it down. */
  readonly isDelayWished: boolean | null
  readonly error: ErrorFacts | null
}

/** The lease under which it runs. */
export interface RunningFacts {
  readonly workerId: Uuid
  readonly workerName: string | null
  readonly startedAtMs: number
  readonly deadlineAtMs: number
  /** When the watchdog ends the attempt. */
  readonly endsAtMs: number
  readonly cancelRequestedAtMs: number | null
  readonly cancelReason: string | null
  readonly isAcknowledged: boolean
  readonly isLeaseLive: boolean
  readonly isDraining: boolean
  /** Null: the session is gone. */
  readonly lastHeartbeatAtMs: number | null
  readonly heartbeatMs: number
}

/** How it ended. */
export interface EndFacts {
  readonly completedAtMs: number
  readonly startedAtMs: number | null
  readonly workerId: Uuid | null
  readonly workerName: string | null
  readonly reason: string | null
  readonly error: ErrorFacts | null
  /** Who caused its end; of one that was cancelled while it ran, who asked for that. */
  readonly actor: string | null
  readonly isDeadLetter: boolean
  readonly discardedAtMs: number | null
  readonly discardActor: string | null
}

export interface ProgressFacts {
  readonly percent: number
  readonly note: string | null
  readonly updatedAtMs: number
}

/** Where a task stands. */
export interface TaskFacts {
  readonly status: TaskStatus
  readonly tenant: string
  readonly taskType: string
  readonly queue: string
  readonly priority: Priority
  readonly gate: string
  readonly dueAtMs: number | null
  readonly readyAtMs: number | null
  readonly expiresAtMs: number | null
  readonly attempt: number
  readonly failures: number
  readonly crashes: number
  readonly undelivered: number
  readonly snoozes: number
  readonly maxRetries: number
  readonly backoff: Backoff
  readonly jitter: Jitter
  readonly lastAttempt: AttemptFacts | null
  /** The last of its attempts whose worker was lost. */
  readonly lastLoss: AttemptFacts | null
  readonly running: RunningFacts | null
  readonly progress: ProgressFacts | null
  readonly end: EndFacts | null
}

/** What a worker lacks to run a task. */
export type Missing = 'queue' | 'task_type' | 'tenant'

/** A live worker that comes near to what the task needs. */
export interface NearWorker {
  readonly id: Uuid
  readonly name: string
  readonly queues: readonly string[]
  readonly taskTypes: readonly string[]
  readonly missing: readonly Missing[]
}

/** Live workers, seen from one task. */
export interface WorkerFacts {
  readonly live: number
  /** Serve its queue, whatever their types and tenant. */
  readonly forQueue: number
  /** May run it and take work. */
  readonly fitting: number
  /** Could run it, were they not draining. */
  readonly draining: number
  /** Serve its queue and type, bound to another tenant. */
  readonly ofOtherTenants: number
  /** Of the fitting ones, as many as were looked at. */
  readonly slots: number
  readonly running: number
  readonly oldestStartedAtMs: number | null
  /** Fitting workers that hold a suspect. */
  readonly withSuspect: number
  readonly near: readonly NearWorker[]
}

/** What stands beside and before it in its queue. */
export interface LaneFacts {
  /** Ready before it in its own lane; counted up to a bound. */
  readonly ahead: number
  readonly isAheadExact: boolean
  /** Ready tasks of its lane, from the counters. */
  readonly depth: number
  /** Priorities of the queue with ready tasks, its own among them. */
  readonly priorities: readonly Priority[]
  /** Tenants with ready tasks of its priority; null: not the caller's business. */
  readonly tenants: number | null
  /** Gates with ready tasks of its tenant and priority. */
  readonly gates: number
  /** Starts in the last minutes, of its queue, or of its tenant's within it where that is all that a caller may know. */
  readonly starts: number
  readonly startsOf: 'queue' | 'tenant'
  readonly windowMs: number
}

/** A task whose end is waited for. */
export interface Blocker {
  readonly id: Uuid
  /** Its name in the workflow. */
  readonly node: string | null
  readonly status: TaskStatus
}

export interface BlockerFacts {
  readonly kind: 'earlier' | 'dependencies'
  readonly count: number
  /** The first of them. */
  readonly tasks: readonly Blocker[]
  /** By which the waiting task of a workflow is judged; null: it is of none. */
  readonly rule: TriggerRule | null
}

/** All that an explanation is made of, as the store has it. Instants are epoch ms of its clock. */
export interface ExplainFacts {
  readonly nowMs: number
  readonly maxCrashes: number
  readonly task: TaskFacts
  readonly queue: { readonly isPaused: boolean; readonly pausedAtMs: number | null }
  readonly schedulers: { readonly live: number; readonly lastSeenAtMs: number | null }
  /** Of tasks that wait. */
  readonly workers: WorkerFacts | null
  /** Of PENDING tasks. */
  readonly lane: LaneFacts | null
  /** Of BLOCKED tasks; of nodes of a workflow that were not run, what ended without success before them. */
  readonly blockers: BlockerFacts | null
}
