import type { BackoffKind, JitterKind, Priority } from '../define-task.js'
import type { TaskErrorInfo } from '../errors.js'

/** Where a task stands. */
export const TASK_STATUSES = [
  'SCHEDULED',
  'PENDING',
  'BLOCKED',
  'RUNNING',
  'RETRYING',
  'SUCCEEDED',
  'FAILED',
  'DEAD',
  'CANCELLED',
] as const

export type TaskStatus = (typeof TASK_STATUSES)[number]

const FINISHED: ReadonlySet<TaskStatus> = new Set<TaskStatus>(['SUCCEEDED', 'FAILED', 'DEAD', 'CANCELLED'])

/** Whether a task in this status has ended (only a replay opens it again). */
export function isFinished(status: TaskStatus): boolean {
  return FINISHED.has(status)
}

export type Metadata = Readonly<Record<string, string | number | boolean>>

/** Everything the server tells of a task. */
export interface TaskRecord<Payload = unknown, Result = unknown> {
  readonly id: string
  readonly status: TaskStatus
  readonly tenantId: string
  readonly taskType: string
  readonly queue: string
  readonly priority: Priority
  readonly payload: Payload
  readonly metadata: Metadata | null
  readonly tags: readonly string[]
  readonly createdAt: Date
  readonly scheduledAt: Date | null
  /** When it becomes ready next: scheduled, snoozed or retrying. */
  readonly dueAt: Date | null
  readonly expiresAt: Date | null
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly durationMs: number | null
  readonly maxRetries: number
  readonly retryBackoff: BackoffKind
  readonly retryJitter: JitterKind
  readonly retryDelaySeconds: number
  readonly retryMaxDelaySeconds: number
  readonly timeoutSeconds: number
  readonly attempts: number
  readonly failures: number
  readonly crashes: number
  readonly cancelRequested: boolean
  readonly reason: string | null
  readonly workerId: string | null
  readonly workerName: string | null
  readonly result: Result | null
  readonly error: TaskErrorInfo | null
  readonly idempotencyKey: string | null
  readonly concurrencyKey: string | null
  readonly workflowId: string | null
  readonly cronId: string | null
  readonly traceId: string | null
  /** When a DEAD task was taken out of the dead letters. */
  readonly discardedAt: Date | null
  readonly progress: { readonly percent: number; readonly note: string | null } | null
}

/** What a list tells of a task: no payload, no result, and no stack of its error. */
export type TaskSummary = Omit<TaskRecord, 'payload' | 'result' | 'error'> & {
  readonly error: Omit<TaskErrorInfo, 'stack'> | null
}

/** From the submission, or a retry by hand, to the end. */
export interface RunRecord {
  readonly run: number
  readonly status: TaskStatus
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  /** When a retry took its end back; null: the current run. */
  readonly replayedAt: Date | null
  /** Attempts count on over the runs. */
  readonly lastAttempt: number
  readonly failures: number
  readonly crashes: number
  readonly reason: string | null
  readonly workerId: string | null
  readonly workerName: string | null
  readonly error: TaskErrorInfo | null
}

/** The answer to a submission. */
export interface SubmitReceipt {
  readonly id: string
  readonly status: TaskStatus
  /** Null in the receipts of a batch, as is `createdAt`: they tell only what differs from item to item. */
  readonly scheduledAt: Date | null
  readonly createdAt: Date | null
}

export interface AttemptRecord {
  readonly attempt: number
  /** Raised by each replay. */
  readonly run: number
  readonly workerId: string | null
  readonly workerName: string | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly outcome: string
  readonly error: TaskErrorInfo | null
  readonly retryDelaySeconds: number | null
}

export interface EventRecord {
  readonly at: Date
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
  readonly depthByPriority: Readonly<Record<Priority, number>>
  /** The 100 deepest tenants. */
  readonly depthByTenant: readonly { readonly tenantId: string; readonly depth: number }[]
  readonly running: number
  readonly oldestReadyAt: Date | null
}

/** A queue that was paused, and whether it came into being by that. */
export interface PausedQueue extends QueueRecord {
  /** There was no queue of this name: look whether it is a slip. */
  readonly created: boolean
}

/** Seconds; what is below a millisecond counts as one. */
export interface Quantiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/** What tasks did in a window, and what waits and runs now. */
export interface Figures {
  readonly submitted: number
  /** Attempts given to a worker. */
  readonly started: number
  readonly succeeded: number
  readonly failed: number
  readonly dead: number
  readonly cancelled: number
  /** Attempts that failed and are tried again. */
  readonly retried: number
  /** Attempts taken back because their worker was lost. */
  readonly lost: number
  readonly timedOut: number
  readonly submittedPerSecond: number
  readonly startedPerSecond: number
  readonly finishedPerSecond: number
  /** FAILED and DEAD among the tasks that SUCCEEDED, FAILED or are DEAD; null: none ended. */
  readonly errorRate: number | null
  /** From the instant at which a task was ready to its start. */
  readonly waitSeconds: Quantiles | null
  /** Of the last attempts of tasks that ended. */
  readonly runSeconds: Quantiles | null
  /** Null by task type: not kept. */
  readonly depth: number | null
  readonly running: number
}

export interface StatsRecord {
  readonly from: Date
  readonly to: Date
  readonly windowSeconds: number
  readonly totals: Figures
  readonly by: 'queue' | 'task_type' | 'tenant' | null
  /** The 100 names with the most events. */
  readonly items: readonly (Figures & { readonly name: string })[]
}

/** A node of the deployment. */
export interface ClusterNodeRecord {
  readonly nodeId: string
  readonly number: number
  readonly roles: readonly string[]
  readonly version: string
  /** The version of its rules of time zones, e.g. `2026a`. */
  readonly timeZoneData: string | null
  readonly startedAt: Date
  readonly lastSeenAt: Date
  /** Seen less than 6 s ago. */
  readonly alive: boolean
  readonly partitionsLed: number
}

/** How the deployment stands. */
export interface ClusterRecord {
  readonly nodes: readonly ClusterNodeRecord[]
  readonly partitionCount: number
  /** Each timer partition, the number of the node that leads it, and how often that has changed. */
  readonly partitions: readonly {
    readonly partition: number
    readonly leader: number | null
    readonly epoch: number
  }[]
  readonly shards: readonly {
    readonly shard: number
    readonly firstPartition: number
    readonly lastPartition: number
    readonly healthy: boolean
  }[]
  readonly adapters: {
    readonly store: {
      readonly kind: string
      readonly healthy: boolean
      readonly version: string
      readonly latencyMs: number
    }
    readonly readyQueue: { readonly kind: string; readonly healthy: boolean }
    readonly leadership: { readonly kind: string; readonly healthy: boolean }
  }
}

/** A worker's session as operators see it. */
export interface WorkerRecord {
  readonly workerId: string
  /** For people; need not be unique. */
  readonly name: string
  readonly host: string | null
  readonly version: string | null
  /** draining: finishes what it holds and gets nothing more; left: it ended by itself; lost: it fell silent. */
  readonly state: 'live' | 'draining' | 'left' | 'lost'
  /** The only tenant whose tasks it gets; null: all. */
  readonly tenantId: string | null
  /** In a list the first 100; `queueCount` counts all. */
  readonly queues: readonly string[]
  readonly queueCount: number
  /** In a list the first 100; `taskTypeCount` counts all. */
  readonly taskTypes: readonly string[]
  readonly taskTypeCount: number
  readonly slots: number
  /** Tasks that it holds a lease of. */
  readonly running: number
  readonly registeredAt: Date
  readonly lastHeartbeatAt: Date
  readonly heartbeatSeconds: number
  readonly leaseSeconds: number
  readonly endedAt: Date | null
  readonly lagMs: number | null
  readonly rssBytes: number | null
}

/** What a purge did. */
export interface PurgeSummary {
  readonly cancelled: number
  /** PENDING tasks that are there now: they came meanwhile, or a claim held them. What waited when the purge began is done. */
  readonly remaining: number
}

/** The answer to a cancellation: CANCELLED at once, or RUNNING with `cancelRequested` (the worker is told). */
export interface CancelReceipt {
  readonly id: string
  readonly status: TaskStatus
  readonly cancelRequested: boolean
  readonly cancelledAt: Date | null
}

/** The answer to the revocation of a key. */
export interface RevokedApiKey {
  /** No other live key may manage everybody's keys: only whoever has the database can make the next one. */
  readonly lastAdmin: boolean
}

/** What a key is good for; `admin` includes the others. */
export type ApiKeyScope = 'submit' | 'read' | 'work' | 'admin'

export interface ApiKeyRecord {
  readonly id: string
  readonly name: string
  readonly scopes: readonly ApiKeyScope[]
  /** Null: bound to none. */
  readonly tenantId: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  /** To the minute. */
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

export interface CreatedApiKey extends ApiKeyRecord {
  /** Shown this once. */
  readonly secret: string
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}
