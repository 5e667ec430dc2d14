import type { Explanation, TenantScope, Uuid } from '@duly/domain'
import type { BulkOrder, BulkPreview, BulkRecord } from './bulk.js'
import type { ClusterRecord } from './cluster.js'
import type {
  CronEdit,
  CronFilters,
  CronPut,
  CronRecord,
  CronSummary,
  CrontabImport,
  FiringRecord,
  ImportedLine,
  PreviewRequest,
  PutResult,
} from './cron.js'
import type { DeadLetter, DeadLetterFilters, DeadLetterSummary, SummaryFilters } from './dead-letters.js'
import type { ApiKeyRecord, NewApiKey } from './keys.js'
import type { Page, PageRequest, RunRecord, TaskEdit, TaskFilters, TaskSummary } from './lists.js'
import type { LogPage, LogRequest } from './logs.js'
import type { PurgeResult, QueueRecord } from './queues.js'
import type { StatsRecord, StatsRequest } from './stats.js'
import type { Actor, AttemptRecord, CancelResult, EventRecord, NewTask, Submitted, TaskRecord } from './tasks.js'
import type {
  GrantedTask,
  HeartbeatAnswer,
  HeartbeatRequest,
  PollRequest,
  Report,
  ReportResult,
  SessionRef,
  WorkerFilter,
  WorkerRecord,
  WorkerRegistration,
  WorkerSession,
} from './workers.js'
import type { DependencyResult, DependencyResultsRequest, WorkflowService } from './workflows.js'

/** How long a call is held, and what ends it before: its client went away, or the node closes. */
export interface WaitRequest {
  readonly waitMs: number
  readonly signal: AbortSignal
}

/**
 * What the HTTP layer may call. Every method rejects with a `DulyError` of the catalogue or not at all. `tenant` is the caller's: what
 * is another tenant's does not exist for it, in the statement that looks, so that the answer comes in the same time.
 */
export interface Services {
  /** How the deployment stands, read from the store. */
  readonly cluster: { read(): Promise<ClusterRecord> }
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
  /** Tasks whose retries are used up. Of a caller who is bound to a tenant: that tenant's, and `forbidden` for another's. */
  readonly deadLetters: {
    /** The latest first. */
    list(filters: DeadLetterFilters, tenant: TenantScope, page: PageRequest): Promise<Page<DeadLetter>>
    /** The largest groups first. */
    summary(filters: SummaryFilters, tenant: TenantScope, limit: number): Promise<DeadLetterSummary>
    /** Rejects with `not_found` unless it is a dead letter. */
    retry(id: Uuid, tenant: TenantScope, actor: Actor): Promise<TaskRecord>
    /** For good; the record stays, marked. Rejects with `not_found` unless it is a dead letter. */
    discard(id: Uuid, tenant: TenantScope, actor: Actor): Promise<void>
  }
  /** Operations on many tasks. Of a caller who is bound to a tenant: on that tenant's, and `forbidden` for another's. */
  readonly bulk: {
    /** It begins when this has resolved, and is done in the background. Rejects with `rate_limited` beyond so many at once. */
    start(order: BulkOrder, tenant: TenantScope, actor: Actor): Promise<BulkRecord>
    /** Changes nothing. */
    preview(order: BulkOrder, tenant: TenantScope): Promise<BulkPreview>
    get(id: Uuid, tenant: TenantScope): Promise<BulkRecord>
    /** The record as soon as it has ended, or as it stands after `waitMs` (or when `signal` aborts). */
    getFinished(id: Uuid, tenant: TenantScope, wait: WaitRequest): Promise<BulkRecord>
    /** Newest first. */
    list(tenant: TenantScope, page: PageRequest): Promise<Page<BulkRecord>>
    /** Rejects with `wrong_state` when it has ended otherwise. */
    cancel(id: Uuid, tenant: TenantScope, actor: Actor): Promise<BulkRecord>
  }
  /** Why tasks stand as they stand. */
  readonly explainer: {
    explain(id: Uuid, tenant: TenantScope): Promise<Explanation>
  }
  /** What handlers logged. */
  readonly logs: {
    /** A page that has a line or is the last one; or what there is after `waitMs`, or when `signal` aborts. */
    read(id: Uuid, tenant: TenantScope, request: LogRequest & WaitRequest): Promise<LogPage>
  }
  readonly workflows: WorkflowService
  /** Recurring tasks. What a call schedules is committed when it resolves. */
  readonly cron: {
    /** Rejects with `name_taken`, and with `unprocessable` for what can never fire or is one too many. */
    create(definition: CronPut): Promise<CronRecord>
    /** Creates or replaces by tenant and name. */
    put(definition: CronPut): Promise<PutResult>
    get(id: Uuid, tenant: TenantScope): Promise<CronRecord>
    getByName(tenant: string, name: string): Promise<CronRecord>
    /** Newest first, by id. A caller who is bound to a tenant gets that tenant's, and `forbidden` for another's. */
    list(filters: CronFilters, tenant: TenantScope, page: PageRequest): Promise<Page<CronSummary>>
    edit(id: Uuid, tenant: TenantScope, edit: CronEdit): Promise<CronRecord>
    remove(id: Uuid, tenant: TenantScope): Promise<void>
    /** A task of it now, outside its schedule. */
    trigger(id: Uuid, tenant: TenantScope): Promise<Submitted>
    /** The next nominal fire times, epoch ms, earliest first. */
    fireTimes(id: Uuid, tenant: TenantScope, count: number): Promise<readonly number[]>
    /** Latest first, behind the fire time `after`. */
    firings(id: Uuid, tenant: TenantScope, page: PageRequest): Promise<Page<FiringRecord>>
    preview(request: PreviewRequest): { readonly fireTimesMs: readonly number[]; readonly description: string }
    import(request: CrontabImport): Promise<readonly ImportedLine[]>
  }
  readonly queues: {
    /** By name. Of one tenant: the queues that it uses, with its own figures. */
    list(tenant: TenantScope, page: PageRequest): Promise<Page<QueueRecord>>
    get(name: string, tenant: TenantScope): Promise<QueueRecord>
    /** Makes the queue if it does not exist. */
    pause(name: string, actor: Actor): Promise<QueueRecord & { readonly isNew: boolean }>
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
    /**
     * Results of dependencies of a task that it runs, in the order asked for. Rejects with `lease_lost` when the lease does not stand any more,
     * with `not_found` when a name is none of the task's dependencies.
     */
    dependencyResults(session: SessionRef, request: DependencyResultsRequest): Promise<readonly DependencyResult[]>
    leave(session: SessionRef): Promise<void>
  }
  readonly keys: {
    /** The secret is in this answer and nowhere else. */
    create(key: NewApiKey, actor: Actor): Promise<{ readonly record: ApiKeyRecord; readonly secret: string }>
    /** Newest first; of one tenant: that tenant's. */
    list(tenant: TenantScope, page: PageRequest): Promise<Page<ApiKeyRecord>>
    /** When it resolves, no node takes the key any more. Revoking it again changes nothing. Rejects with `not_found`. */
    /** `isLastAdmin`: no live key is left that may manage everybody's keys. */
    revoke(id: Uuid, tenant: TenantScope, actor: Actor): Promise<{ readonly isLastAdmin: boolean }>
  }
  readonly stats: { read(tenant: TenantScope, request: StatsRequest): Promise<StatsRecord> }
  readonly health: {
    /** Null when ready; else what is wrong (store unreachable, not migrated). */
    notReady(): Promise<string | null>
    /** The node was told to stop: it still serves, but whoever balances requests should send it no more. */
    isLeaving(): boolean
  }
}
