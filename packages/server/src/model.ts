import type { Backoff, Caller, ErrorCode, Jitter, Priority, Scope, TaskStatus, TenantScope, Uuid } from '@duly/domain'
import type { RunRecord, TaskEdit, TaskFilters, TaskSummary } from './model-lists.js'

export type * from './model-lists.js'

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
  readonly cronId: Uuid | null
  readonly traceparent: string | null
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

export interface QueueRecord {
  readonly name: string
  readonly paused: boolean
  readonly depth: number
  readonly depthByPriority: Readonly<Record<'high' | 'medium' | 'low', number>>
  /** The 100 deepest tenants of the queue. */
  readonly depthByTenant: readonly { readonly tenantId: string; readonly depth: number }[]
  readonly running: number
  readonly oldestReadyAtMs: number | null
}

/** A page of a list in the order of a key: what comes behind `after`; null: the first page. */
export interface PageRequest {
  readonly after: string | null
  readonly limit: number
}

export interface Page<T> {
  readonly items: readonly T[]
  /** The key behind which the next page begins; null: this is the last one. A short or empty page may have one. */
  readonly next: string | null
}

/** What one call of a purge did. */
export interface PurgeResult {
  readonly cancelled: number
  /** PENDING tasks that are there now, those that came meanwhile too. */
  readonly remaining: number
  /** Nothing is left of what was PENDING at the beginning, but what a claim held. */
  readonly isComplete: boolean
}

export interface WorkerRegistration {
  readonly name: string
  readonly host: string | null
  readonly version: string | null
  readonly queues: readonly string[]
  readonly taskTypes: readonly string[]
  readonly slots: number
  /** Heartbeat interval wished by the worker, ms; null: the deployment's default (5 s). The lease is three times it. */
  readonly heartbeatMs: number | null
}

/** A session as a call names it: only a key of the same binding may use it, for others it does not exist. */
export interface SessionRef {
  readonly id: Uuid
  readonly tenant: TenantScope
}

export interface WorkerSession {
  readonly id: Uuid
  readonly heartbeatMs: number
  readonly leaseMs: number
}

/** Which workers a list is of. */
export interface WorkerFilter {
  readonly tenant: TenantScope
  /** Null: those that are there, live and draining. */
  readonly state: 'live' | 'draining' | 'ended' | null
}

/** A worker's session as operators see it. */
export interface WorkerRecord {
  readonly id: Uuid
  readonly name: string
  readonly host: string | null
  readonly version: string | null
  readonly state: 'live' | 'draining' | 'left' | 'lost'
  readonly tenant: TenantScope
  /** In a list the first 100. */
  readonly queues: readonly string[]
  readonly queueCount: number
  /** In a list the first 100. */
  readonly taskTypes: readonly string[]
  readonly taskTypeCount: number
  readonly slots: number
  readonly running: number
  readonly registeredAtMs: number
  readonly beatAtMs: number
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly endedAtMs: number | null
  readonly lagMs: number | null
  readonly rssBytes: number | null
}

/** One task handed to a worker. `payload` and `metadata` go out as the text they came in. */
export interface GrantedTask {
  readonly grant: number
  readonly id: Uuid
  readonly lease: string
  readonly attempt: number
  readonly failures: number
  readonly taskType: string
  readonly queue: string
  readonly payload: JsonText
  readonly metadata: JsonText | null
  readonly timeoutMs: number
  readonly deadlineAtMs: number
  /** The submission's key, or the task id: stable over attempts, for calls to other services. */
  readonly idempotencyKey: string
  readonly checkpoint: JsonText | null
  /** A suspect: an earlier attempt's worker died with it. The worker acknowledges before it starts the handler. */
  readonly suspect: boolean
  readonly traceparent: string | null
}

export interface ReportBase {
  readonly id: Uuid
  readonly lease: string
}
export type Report = ReportBase &
  (
    | { readonly outcome: 'succeeded'; readonly result: JsonText | null }
    | {
        readonly outcome: 'failed'
        readonly error: TaskError
        readonly retryable: boolean
        readonly retryAfterMs: number | null
        /** The worker's own limit ended the attempt: recorded as a time-out. */
        readonly timedOut: boolean
      }
    | { readonly outcome: 'snoozed'; readonly delayMs: number }
    | { readonly outcome: 'cancelled' }
    | { readonly outcome: 'released' }
  )

export type ReportResult =
  | { readonly id: Uuid; readonly accepted: true; readonly status: TaskStatus }
  | { readonly id: Uuid; readonly accepted: false; readonly code: ErrorCode }

export interface PollRequest {
  readonly slots: number
  readonly waitMs: number
  /** Highest grant number received in this session. */
  readonly received: number
}

export interface HeartbeatRequest {
  readonly received: number
  readonly leases: readonly string[]
  readonly waitMs: number
  readonly progress: readonly { readonly lease: string; readonly percent: number; readonly note: string | null }[]
  readonly checkpoints: readonly { readonly lease: string; readonly value: JsonText }[]
  readonly logs: readonly LogLine[]
  readonly lagMs: number | null
  readonly rssBytes: number | null
}

/** A line that a handler logged; `atMs` is the worker's own reading, for people. */
export interface LogLine {
  readonly lease: string
  readonly atMs: number
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
}

export interface HeartbeatAnswer {
  readonly cancel: readonly { readonly lease: string; readonly reason: string }[]
  readonly lost: readonly string[]
  readonly drain: boolean
}

/** What a new API key shall be good for. */
export interface NewApiKey {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly tenant: TenantScope
  readonly expiresAtMs: number | null
}

export interface ApiKeyRecord extends NewApiKey {
  readonly id: Uuid
  readonly createdAtMs: number
  /** To the minute. */
  readonly lastUsedAtMs: number | null
  readonly revokedAtMs: number | null
}

/** Tells who calls, by the secret that was shown. */
export interface Gate {
  /**
   * The caller; at once when this node knows the key, else after a look in the store.
   * @param options.mayBeStale what is asked for needs no store: while that is away, what was known of the key is enough
   * @throws DulyError `unauthenticated`: there is no such key, or it was revoked, or has expired; `store_unavailable`: nobody can tell
   */
  identify(secret: string, options: { readonly mayBeStale: boolean }): Caller | Promise<Caller>
  /** Whether the key that was shown is still good: for the end of a call that was held. Throws as `identify` does. */
  confirm(caller: Caller): void | Promise<void>
  /** Calls back with the id of each key that is revoked from now on. */
  onRevoked(listener: (keyId: string) => void): void
}

/** How long a call is held, and what ends it before: its client went away, or the node closes. */
export interface WaitRequest {
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** A task that ended without a worker's report: cancelled, expired or purged while it waited. */
export interface EndedTask {
  readonly id: Uuid
  readonly tenant: string
  readonly queue: string
  readonly taskType: string
}

export interface StatsRequest {
  readonly windowMs: number
  readonly by: 'queue' | 'task_type' | 'tenant' | null
}

export interface Quantiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/** What tasks did in a window, and what waits and runs now. */
export interface FigureRecord {
  readonly submitted: number
  readonly started: number
  readonly succeeded: number
  readonly failed: number
  readonly dead: number
  readonly cancelled: number
  readonly retried: number
  readonly lost: number
  readonly timedOut: number
  readonly submittedPerSecond: number
  readonly startedPerSecond: number
  readonly finishedPerSecond: number
  readonly errorRate: number | null
  readonly waitMs: Quantiles | null
  readonly runMs: Quantiles | null
  /** Null: not kept. */
  readonly depth: number | null
  readonly running: number
}

export interface StatsRecord {
  readonly fromMs: number
  readonly toMs: number
  readonly totals: FigureRecord
  readonly by: StatsRequest['by']
  readonly items: readonly (FigureRecord & { readonly name: string })[]
}

/**
 * What the HTTP layer may call. Every method rejects with a `DulyError` of the catalogue or not at all. `tenant` is the caller's: what
 * is another tenant's does not exist for it, in the statement that looks, so that the answer comes in the same time.
 */
export interface Services {
  readonly intake: {
    submit(task: NewTask): Promise<Submitted>
    /** All or none, in the order given. */
    submitBatch(tasks: readonly NewTask[]): Promise<readonly Submitted[]>
  }
  readonly tasks: {
    get(id: Uuid, tenant: TenantScope): Promise<TaskRecord>
    /** The record as soon as the task is finished, or as it stands after `waitMs` (or when `signal` aborts). */
    getFinished(id: Uuid, tenant: TenantScope, wait: WaitRequest): Promise<TaskRecord>
    cancel(id: Uuid, tenant: TenantScope, actor: Actor): Promise<CancelResult>
    replay(id: Uuid, tenant: TenantScope, actor: Actor): Promise<TaskRecord>
    attempts(id: Uuid, tenant: TenantScope): Promise<readonly AttemptRecord[]>
    events(id: Uuid, tenant: TenantScope): Promise<readonly EventRecord[]>
    /** Newest first, by id. A caller who is bound to a tenant gets that tenant's, and `forbidden` for another's. */
    list(filters: TaskFilters, tenant: TenantScope, page: PageRequest): Promise<Page<TaskSummary>>
    /** Rejects with `wrong_state` unless the task waits in a state that takes this edit. */
    edit(id: Uuid, tenant: TenantScope, change: { readonly edit: TaskEdit; readonly actor: Actor }): Promise<TaskRecord>
    /** The current run, then the past ones, newest first. */
    runs(id: Uuid, tenant: TenantScope, page: PageRequest): Promise<Page<RunRecord>>
  }
  readonly queues: {
    /** By name. Of one tenant: the queues that it uses, with its own figures. */
    list(tenant: TenantScope, page: PageRequest): Promise<Page<QueueRecord>>
    get(name: string, tenant: TenantScope): Promise<QueueRecord>
    /** Makes the queue if it does not exist. */
    pause(name: string, actor: Actor): Promise<QueueRecord>
    resume(name: string, actor: Actor): Promise<QueueRecord>
    purge(name: string, actor: Actor): Promise<PurgeResult>
  }
  readonly fleet: {
    list(filter: WorkerFilter, page: PageRequest): Promise<Page<WorkerRecord>>
    get(id: Uuid, tenant: TenantScope): Promise<WorkerRecord>
    /** Of a worker that has ended it changes nothing. */
    drain(id: Uuid, actor: Actor): Promise<WorkerRecord>
  }
  readonly workers: {
    /** A session of a tenant gets that tenant's tasks only. */
    register(registration: WorkerRegistration, tenant: TenantScope): Promise<WorkerSession>
    /** Rejects with `session_lost` when the session is dead or unknown. `signal` aborts when the client went away. */
    poll(session: SessionRef, request: PollRequest, signal: AbortSignal): Promise<readonly GrantedTask[]>
    report(session: SessionRef, reports: readonly Report[]): Promise<readonly ReportResult[]>
    exchange(
      session: SessionRef,
      reports: readonly Report[],
      request: PollRequest,
      signal: AbortSignal,
    ): Promise<{ readonly results: readonly ReportResult[]; readonly tasks: readonly GrantedTask[] }>
    heartbeat(session: SessionRef, request: HeartbeatRequest, signal: AbortSignal): Promise<HeartbeatAnswer>
    leave(session: SessionRef): Promise<void>
  }
  readonly keys: {
    /** The secret is in this answer and nowhere else. */
    create(key: NewApiKey, actor: Actor): Promise<{ readonly record: ApiKeyRecord; readonly secret: string }>
    /** Newest first; of one tenant: that tenant's. */
    list(tenant: TenantScope, page: PageRequest): Promise<Page<ApiKeyRecord>>
    /** When it resolves, no node takes the key any more. Revoking it again changes nothing. Rejects with `not_found`. */
    revoke(id: Uuid, tenant: TenantScope, actor: Actor): Promise<void>
  }
  readonly stats: { read(tenant: TenantScope, request: StatsRequest): Promise<StatsRecord> }
  readonly health: {
    /** Null when ready; else what is wrong (store unreachable, not migrated). */
    notReady(): Promise<string | null>
    /** The node was told to stop: it still serves, but whoever balances requests should send it no more. */
    isLeaving(): boolean
  }
}

export interface CancelResult {
  readonly id: Uuid
  /** CANCELLED: done (`cancelledAtMs` set). RUNNING: marked, the worker is told. */
  readonly status: TaskStatus
  readonly cancelRequested: boolean
  readonly cancelledAtMs: number | null
}
