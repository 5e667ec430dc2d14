import type { Backoff, Jitter, Priority, TaskStatus, TenantScope, Uuid } from '@duly/domain'

/** JSON as text, exactly as the client wrote it: validated once, stored and given out without being parsed again. */
export type JsonText = string

/** Who caused a transition; stands in the audit trail. `name` is e.g. a worker id, a key id or a node id. */
export interface Actor {
  readonly kind: 'api' | 'worker' | 'watchdog' | 'timer' | 'dispatcher' | 'system'
  readonly name?: string
}

/** A validated submission with all defaults applied; what intake commits. */
export interface NewTask {
  readonly tenant: string
  /** What the caller's key is bound to, if it is: names that the task brings into being count as that tenant's. */
  readonly boundTo?: TenantScope
  /** The API key that submits it, for its trail. */
  readonly submittedBy?: Uuid | null
  readonly taskType: string
  readonly queue: string
  readonly priority: Priority
  readonly payload: JsonText
  readonly metadata: JsonText | null
  readonly tags: readonly string[]
  /** Epoch ms of an explicit `scheduled_at`; null when absent. */
  readonly scheduledAtMs: number | null
  /** `delay_seconds` in ms, counted from the store's clock; null when absent. Never together with `scheduledAtMs`. */
  readonly delayMs: number | null
  readonly expiresAtMs: number | null
  readonly maxRetries: number
  readonly backoff: Backoff
  readonly jitter: Jitter
  readonly retryDelayMs: number
  readonly retryMaxDelayMs: number
  readonly timeoutMs: number
  readonly resultTtlMs: number | null
  readonly concurrencyKey: string | null
  readonly idempotencyKey: string | null
  /** SHA-256 of the canonical request; only set with an idempotency key. */
  readonly requestHash: Buffer | null
  readonly traceparent: string | null
}

/** The answer to a submission. */
export interface Submitted {
  readonly id: Uuid
  readonly status: TaskStatus
  readonly scheduledAtMs: number | null
  readonly createdAtMs: number
  /** True when an earlier submission with the same key and the same request made the task. */
  readonly replayed: boolean
}

export interface TaskError {
  readonly class: string
  readonly message: string
  readonly stack: string | null
}

/** Everything `GET /tasks/{id}` tells. Instants are epoch ms of the store's clock. */
export interface TaskRecord {
  readonly id: Uuid
  readonly status: TaskStatus
  readonly tenant: string
  readonly taskType: string
  readonly queue: string
  readonly priority: Priority
  readonly payload: JsonText
  readonly metadata: JsonText | null
  readonly tags: readonly string[]
  readonly createdAtMs: number
  readonly scheduledAtMs: number | null
  readonly dueAtMs: number | null
  readonly expiresAtMs: number | null
  readonly startedAtMs: number | null
  readonly completedAtMs: number | null
  readonly maxRetries: number
  readonly backoff: Backoff
  readonly jitter: Jitter
  readonly retryDelayMs: number
  readonly retryMaxDelayMs: number
  readonly timeoutMs: number
  readonly attempts: number
  readonly failures: number
  readonly crashes: number
  readonly cancelRequested: boolean
  readonly reason: string | null
  readonly workerId: Uuid | null
  readonly workerName: string | null
  readonly result: JsonText | null
  readonly error: TaskError | null
  readonly idempotencyKey: string | null
  readonly concurrencyKey: string | null
  readonly workflowId: Uuid | null
  /** Its name in that workflow. */
  readonly nodeName: string | null
  readonly cronId: Uuid | null
  readonly traceparent: string | null
  /** When a dead task was taken out of the dead letters. */
  readonly discardedAtMs: number | null
  readonly progress: { readonly percent: number; readonly note: string | null } | null
}

export type AttemptOutcome =
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'timed_out'
  | 'lost'
  | 'cancelled'
  | 'snoozed'
  | 'released'

export interface AttemptRecord {
  readonly attempt: number
  readonly run: number
  readonly workerId: Uuid | null
  readonly workerName: string | null
  readonly startedAtMs: number | null
  readonly endedAtMs: number | null
  readonly outcome: AttemptOutcome
  readonly error: TaskError | null
  readonly retryDelayMs: number | null
}

export interface EventRecord {
  readonly at: number
  readonly transition: string
  readonly fromStatus: TaskStatus | null
  readonly toStatus: TaskStatus
  readonly attempt: number | null
  readonly actor: string
  readonly reason: string | null
}

export interface CancelResult {
  readonly id: Uuid
  /** CANCELLED: done (`cancelledAtMs` set). RUNNING: marked, the worker is told. */
  readonly status: TaskStatus
  readonly cancelRequested: boolean
  readonly cancelledAtMs: number | null
}

/** A task that ended without a worker's report: cancelled, expired or purged while it waited. */
export interface EndedTask {
  readonly id: Uuid
  readonly tenant: string
  readonly queue: string
  readonly taskType: string
}
