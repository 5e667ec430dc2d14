import type { Metadata, TaskStatus } from '../client/records.js'

/** A task handed to this worker, as it stands on the wire. */
export interface WireGrant {
  /** Number within the session; the highest one received is what acknowledges. */
  readonly grant: number
  readonly task_id: string
  readonly lease: string
  readonly attempt: number
  readonly failures: number
  readonly task_type: string
  readonly queue: string
  readonly payload: unknown
  readonly timeout_ms: number
  readonly deadline_at: string
  readonly idempotency_key: string
  readonly checkpoint: unknown
  /** Of a task of a workflow, by the names of its dependencies. What was too large is left out, and fetched. */
  readonly dependency_results?: Readonly<Record<string, unknown>>
  readonly dependency_results_omitted?: readonly string[]
  readonly dependency_statuses?: Readonly<Record<string, TaskStatus>>
  readonly workflow_id?: string
  readonly node_name?: string
  readonly metadata: Metadata | null
  /** Servers before this field do not send it. */
  readonly tenant_id?: string
  readonly traceparent?: string | null
  /** When it was to run: the fire time of a recurring task. Servers before this field do not send it. */
  readonly scheduled_at?: string | null
  readonly cron_id?: string | null
  /** An earlier attempt's worker died with it: to be acknowledged before its handler starts. */
  readonly suspect?: boolean
}

/** Results that were fetched; omitted: too much for one answer. */
export interface WireDependencyResults {
  readonly results: Readonly<Record<string, unknown>>
  readonly omitted: readonly string[]
}

export interface WireRegistration {
  readonly name: string
  readonly host: string
  readonly version?: string | undefined
  readonly queues: readonly string[]
  readonly task_types: readonly string[]
  readonly slots: number
  readonly heartbeat_seconds?: number | undefined
}

export interface WireSession {
  readonly worker_id: string
  readonly heartbeat_seconds: number
  readonly lease_seconds: number
}

export interface WireReportResult {
  readonly task_id: string
  readonly accepted: boolean
  readonly code?: string
}

/** The answer to a poll, a report or an exchange of both. */
export interface WireExchangeAnswer {
  readonly tasks?: readonly WireGrant[]
  readonly results?: readonly WireReportResult[]
}

/** The answer to a heartbeat. */
export interface WireInstructions {
  readonly cancel: readonly { readonly lease: string; readonly reason: string }[]
  readonly lost: readonly string[]
  readonly drain: boolean
}
