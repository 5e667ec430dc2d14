import type { ErrorCode, TaskStatus, TenantScope, Uuid } from '@duly/domain'
import type { JsonText, TaskError } from './tasks.js'
import type { GrantedNode } from './workflows.js'

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
  readonly tenant: string
  readonly timeoutMs: number
  readonly deadlineAtMs: number
  /** The submission's key, or the task id: stable over attempts, for calls to other services. */
  readonly idempotencyKey: string
  readonly checkpoint: JsonText | null
  /** A suspect: an earlier attempt's worker died with it. The worker acknowledges before it starts the handler. */
  readonly suspect: boolean
  readonly traceparent: string | null
  /** The recurring task that made it. */
  readonly cronId: Uuid | null
  /** When it was asked to run; of a recurring task the fire time. */
  readonly scheduledAtMs: number | null
  /** Of a task of a workflow: what it has of its graph. */
  readonly node?: GrantedNode
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
  /** The task, where the worker names it: a lease that it has reported leads to none any more. */
  readonly id: Uuid | null
  /** Its number among the lines of its session, from 1; null: its worker counts none. */
  readonly number: number | null
  readonly atMs: number
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
}

export interface HeartbeatAnswer {
  readonly cancel: readonly { readonly lease: string; readonly reason: string }[]
  readonly lost: readonly string[]
  readonly drain: boolean
}
