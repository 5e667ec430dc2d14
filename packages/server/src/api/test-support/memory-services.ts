import { randomBytes } from 'node:crypto'
import {
  DulyError,
  type Explanation,
  firstUuidAt,
  isOpen,
  isVisible,
  type TenantScope,
  type Uuid,
  uuidFromBytes,
} from '@duly/domain'
import type {
  BulkOrder,
  BulkRecord,
  DeadLetterFilters,
  DependencyResultsRequest,
  GrantedTask,
  HeartbeatRequest,
  LogPage,
  LogRequest,
  NewApiKey,
  NewTask,
  PageRequest,
  Report,
  Services,
  SessionRef,
  StatsRequest,
  Submitted,
  TaskEdit,
  TaskFilters,
  TaskRecord,
  WaitRequest,
  WorkerFilter,
  WorkerRecord,
  WorkerRegistration,
} from '../../model.js'
import { MemoryCron } from './memory-cron.js'
import { MemoryWorkflows } from './memory-workflows.js'

/** The instant that every answer of these services carries. */
export const fixedAtMs = Date.UTC(2026, 3, 3, 10)

const letter = {
  ...{ id: firstUuidAt(fixedAtMs), tenant: 'acme', taskType: 'work', queue: 'default', createdAtMs: fixedAtMs },
  ...{ diedAtMs: fixedAtMs, attempts: 4, failures: 4, crashes: 0, errorClass: 'SmtpError', errorMessage: 'after 3 s' },
  ...{ errorPattern: 'after <n> s', fingerprint: '5e884898da280471' },
}

const operation: BulkRecord = {
  ...{ id: firstUuidAt(fixedAtMs), action: 'cancel', source: 'tasks', filters: { queue: 'default' }, tenant: null },
  ...{ actor: 'api:req-1', status: 'RUNNING', matched: 3, done: 2, skipped: 1, failed: 0, error: null },
  ...{ createdAtMs: fixedAtMs, updatedAtMs: fixedAtMs, completedAtMs: null },
}

function newId(): Uuid {
  const bytes = randomBytes(16)
  return `${firstUuidAt(fixedAtMs).slice(0, 14)}7${uuidFromBytes(bytes, 0).slice(15)}`
}

/**
 * The services as the HTTP layer sees them, in memory and without any rule of the lifecycle: enough to see what the
 * layer passes on and how it maps answers. Everything else is tested on the real services.
 */
export class MemoryServices implements Services {
  readonly submitted: NewTask[] = []
  readonly reports: Report[] = []
  readonly beats: HeartbeatRequest[] = []
  readonly listed: { readonly filters: TaskFilters; readonly page: PageRequest }[] = []
  readonly edits: TaskEdit[] = []
  readonly tasksById = new Map<Uuid, { task: NewTask; record: TaskRecord }>()
  /** Sessions that are alive. */
  readonly sessions = new Map<Uuid, TenantScope>()
  /** Thrown by the next call of any service, once. */
  failNext: unknown = null
  /** Queues that there are, by name. */
  queueNames: readonly string[] = ['default']
  readiness: string | null = null
  /** Called when a wait begins, with its signal. */
  onWait: (signal: AbortSignal) => void = () => {}
  readonly #keys = new Map<string, { hash: string; answer: Submitted }>()

  readonly intake = {
    submit: async (task: NewTask) => this.#submit(task),
    submitBatch: async (tasks: readonly NewTask[]) => tasks.map((task) => this.#submit(task)),
  }

  readonly tasks = {
    get: async (id: Uuid, tenant: TenantScope) => this.#record(id, tenant),
    getFinished: async (id: Uuid, tenant: TenantScope, { waitMs, signal }: WaitRequest) => {
      this.#record(id, tenant)
      await this.#wait(waitMs, signal)
      return this.#record(id, tenant)
    },
    cancel: async (id: Uuid, tenant: TenantScope) => this.#cancel(id, tenant),
    replay: async (id: Uuid, tenant: TenantScope) => {
      const record = this.#record(id, tenant)
      if (isOpen(record.status)) throw new DulyError('wrong_state', `The task is ${record.status}.`)
      return this.set(id, { status: 'PENDING', failures: 0, crashes: 0, completedAtMs: null })
    },
    attempts: async (id: Uuid, tenant: TenantScope) => {
      this.#record(id, tenant)
      const error = { class: 'SmtpError', message: 'no', stack: null }
      const base = { attempt: 1, run: 0, workerId: null, workerName: 'mailer', retryDelayMs: 1_500, error }
      return [{ ...base, startedAtMs: fixedAtMs, endedAtMs: fixedAtMs + 5, outcome: 'failed' as const }]
    },
    list: async (filters: TaskFilters, tenant: TenantScope, page: PageRequest) => {
      this.#failIfTold()
      this.listed.push({ filters, page })
      const items = [...this.tasksById.values()]
        .map(({ record }) => record)
        .filter((record) => isVisible(tenant, record.tenant))
        .slice(0, page.limit)
      return { items, next: items.at(-1)?.id ?? null }
    },
    edit: async (id: Uuid, tenant: TenantScope, { edit }: { readonly edit: TaskEdit }) => {
      this.#record(id, tenant)
      this.edits.push(edit)
      const { scheduledAtMs, ...change } = edit
      return this.set(id, scheduledAtMs === undefined ? change : { ...change, scheduledAtMs })
    },
    runs: async (id: Uuid, tenant: TenantScope, page: PageRequest) => {
      const { status } = this.#record(id, tenant)
      const run = { run: 2, status, startedAtMs: null, completedAtMs: null, replayedAtMs: null, lastAttempt: 0 }
      const rest = { failures: 0, crashes: 0, reason: null, workerId: null, workerName: null, error: null }
      return { items: [{ ...run, ...rest }].slice(0, page.limit), next: null }
    },
    events: async (id: Uuid, tenant: TenantScope) => {
      this.#record(id, tenant)
      const base = {
        at: fixedAtMs,
        transition: 'cancel',
        fromStatus: 'PENDING' as const,
        toStatus: 'CANCELLED' as const,
      }
      return [{ ...base, attempt: null, actor: 'api:req-1', reason: null }]
    },
  }

  readonly deadLetters = {
    list: async (_filters: DeadLetterFilters, _tenant: TenantScope, { limit }: PageRequest) => {
      this.#failIfTold()
      return { items: [letter].slice(0, limit), next: null }
    },
    summary: async () => {
      const { tenant: _, createdAtMs: __, errorMessage: ___, ...group } = letter
      const times = { oldestAtMs: fixedAtMs, newestAtMs: fixedAtMs }
      return {
        letters: 1,
        groups: 1,
        items: [{ ...group, ...times, letters: 1, sampleId: letter.id }],
        isComplete: true,
      }
    },
    retry: async (id: Uuid, tenant: TenantScope) => this.tasks.replay(id, tenant),
    discard: async (id: Uuid, tenant: TenantScope) => void this.set(this.#record(id, tenant).id, { discardedAtMs: 1 }),
  }

  readonly orders: BulkOrder[] = []
  readonly bulk = {
    start: async (order: BulkOrder, tenant: TenantScope) => {
      this.#failIfTold()
      this.orders.push(order)
      return { ...operation, action: order.action, source: order.source, filters: order.filters, tenant }
    },
    preview: async ({ action }: BulkOrder) => {
      const sample = { id: letter.id, status: 'PENDING' as const, tenant: 'acme', taskType: 'work', queue: 'default' }
      return { action, matched: 1, isAtLeast: false, byStatus: { PENDING: 1 }, samples: [sample] }
    },
    get: async () => operation,
    getFinished: async (_id: Uuid, _tenant: TenantScope, { waitMs, signal }: WaitRequest) => {
      await this.#wait(waitMs, signal)
      return operation
    },
    list: async (_tenant: TenantScope, { limit }: PageRequest) => ({ items: [operation].slice(0, limit), next: null }),
    cancel: async () => ({ ...operation, status: 'CANCELLED' as const, completedAtMs: fixedAtMs }),
  }

  /** What every task is explained by. */
  explanation: Explanation = { status: 'PENDING', summary: 'It is the next of its lane.', causes: [] }
  readonly explainer = {
    explain: async (id: Uuid, tenant: TenantScope) => {
      this.#record(id, tenant)
      return this.explanation
    },
  }

  readonly asked: LogRequest[] = []
  /** What every log answers. */
  logPage: LogPage = { lines: [], next: 0, hasMore: false, isComplete: false, dropped: 0, progress: null }
  readonly logs = {
    read: async (id: Uuid, tenant: TenantScope, { waitMs, signal, ...request }: LogRequest & WaitRequest) => {
      this.#record(id, tenant)
      this.asked.push(request)
      await this.#wait(waitMs, signal)
      return this.logPage
    },
  }

  readonly recurring = new MemoryCron(fixedAtMs, newId)
  readonly cron = this.recurring.service

  readonly graphs = new MemoryWorkflows(fixedAtMs, newId, (waitMs, signal) => this.#wait(waitMs, signal))
  readonly workflows = this.graphs.service

  readonly queues = {
    list: async (_tenant: TenantScope, { after, limit }: PageRequest) => {
      const names = this.queueNames.filter((name) => after === null || name > after)
      const items = names.slice(0, limit).map((name) => this.#queue(name))
      return { items, next: names.length > limit ? (names[limit - 1] ?? null) : null }
    },
    get: async (name: string) => this.#queue(name),
    pause: async (name: string) => ({ ...this.#queue(name, true), isNew: false }),
    resume: async (name: string) => this.#queue(name),
    purge: async (name: string) => {
      this.#queue(name)
      return { cancelled: 3, remaining: 1, isComplete: true }
    },
  }

  readonly fleet = {
    list: async (_filter: WorkerFilter, { after, limit }: PageRequest) => {
      const ids = [...this.sessions.keys()].sort().reverse()
      const left = ids.filter((id) => after === null || id < after)
      const items = left.slice(0, limit).map((id) => this.#worker(id))
      return { items, next: left.length > limit ? (left[limit - 1] ?? null) : null }
    },
    get: async (id: Uuid) => this.#worker(id),
    drain: async (id: Uuid) => this.#worker(id),
  }

  readonly workers = {
    register: async (_registration?: WorkerRegistration, tenant: TenantScope = null) => {
      const id = newId()
      this.sessions.set(id, tenant)
      return { id, heartbeatMs: 5_000, leaseMs: 15_000 }
    },
    poll: async (session: SessionRef, request: { slots: number; waitMs: number }, signal: AbortSignal) => {
      this.#live(session)
      return this.#grants(request, signal)
    },
    report: async (session: SessionRef, reports: readonly Report[]) => {
      this.#live(session)
      return reports.map((report) => this.#report(report))
    },
    exchange: async (
      session: SessionRef,
      reports: readonly Report[],
      request: { slots: number; waitMs: number },
      signal: AbortSignal,
    ) => {
      this.#live(session)
      return {
        results: reports.map((report) => this.#report(report)),
        tasks: await this.#grants(request, signal),
      }
    },
    heartbeat: async (session: SessionRef, beat: HeartbeatRequest, signal: AbortSignal) => {
      this.#live(session)
      this.beats.push(beat)
      await this.#wait(beat.waitMs, signal)
      return {
        cancel: [{ lease: '1-0000000000000001', reason: 'cancel_requested' }],
        lost: ['2-00000000000000ff'],
        drain: false,
      }
    },
    dependencyResults: async (session: SessionRef, { names }: DependencyResultsRequest) => {
      this.#live(session)
      return names.map((name, place) => ({ name, result: place === 0 ? '{"n":1.0}' : null, isOmitted: place > 1 }))
    },
    leave: async (session: SessionRef) => {
      this.#live(session)
      this.sessions.delete(session.id)
    },
  }

  readonly keys = {
    create: async (key: NewApiKey) => {
      const record = { ...key, id: newId(), createdAtMs: fixedAtMs, lastUsedAtMs: null, revokedAtMs: null }
      return { record, secret: `duly_${'0'.repeat(52)}` }
    },
    list: async () => ({ items: [], next: null }),
    revoke: async () => ({ isLastAdmin: false }),
  }

  readonly cluster = {
    read: async () => ({ nodes: [], partitions: [], storeVersion: '18.0', storeLatencyMs: 0.5 }),
  }

  readonly stats = {
    read: async (_tenant: TenantScope, { windowMs, by }: StatsRequest) => {
      this.#failIfTold()
      const counts = { submitted: 4, started: 3, succeeded: 2, failed: 1, dead: 0, cancelled: 0, retried: 0 }
      const rates = { submittedPerSecond: 4 / 60, startedPerSecond: 0.05, finishedPerSecond: 0.05, errorRate: 1 / 3 }
      const base = { ...counts, ...rates, lost: 0, timedOut: 0, waitMs: null, runMs: { p50: 1, p90: 2, p99: 1_234.4 } }
      const items = by === null ? [] : [{ name: 'a', ...base, depth: null, running: 1 }]
      return { fromMs: fixedAtMs - windowMs, toMs: fixedAtMs, totals: { ...base, depth: 7, running: 1 }, by, items }
    },
  }

  readonly health = { notReady: async () => this.readiness, isLeaving: () => this.isLeaving }
  isLeaving = false

  /** Changes a record, as a worker or the watchdog would. */
  set(id: Uuid, change: Partial<TaskRecord>): TaskRecord {
    const entry = this.tasksById.get(id)
    if (!entry) throw new Error('unknown task')
    entry.record = { ...entry.record, ...change }
    return entry.record
  }

  #failIfTold(): void {
    const error = this.failNext
    this.failNext = null
    if (error !== null) throw error
  }

  #worker(id: Uuid): WorkerRecord {
    this.#failIfTold()
    const tenant = this.sessions.get(id)
    if (tenant === undefined) throw new DulyError('not_found', 'There is no such worker.')
    const names = { queues: ['default'], queueCount: 1, taskTypes: ['work'], taskTypeCount: 1 }
    const times = {
      registeredAtMs: fixedAtMs,
      beatAtMs: fixedAtMs,
      endedAtMs: null,
      heartbeatMs: 5_000,
      leaseMs: 15_000,
    }
    const told = { name: 'mailer', host: 'web-3', version: null, lagMs: 1.5, rssBytes: 1e6 }
    return { id, tenant, state: 'live', slots: 10, running: 1, ...names, ...times, ...told }
  }

  #queue(name: string, paused = false) {
    this.#failIfTold()
    if (!this.queueNames.includes(name)) throw new DulyError('not_found', 'There is no such queue.')
    const depthByPriority = { high: 1, medium: 2, low: 0 }
    const depthByTenant = [{ tenantId: 'acme', depth: 3 }]
    return { name, paused, depth: 3, depthByPriority, depthByTenant, running: 1, oldestReadyAtMs: fixedAtMs }
  }

  #live({ id, tenant }: SessionRef): void {
    this.#failIfTold()
    if (this.sessions.get(id) !== tenant) throw new DulyError('session_lost', 'The session is not live.')
  }

  #submit(task: NewTask): Submitted {
    this.#failIfTold()
    const key = task.idempotencyKey === null ? null : JSON.stringify([task.tenant, task.idempotencyKey])
    const known = key === null ? undefined : this.#keys.get(key)
    const hash = task.requestHash?.toString('hex') ?? ''
    if (known && known.hash !== hash) throw new DulyError('idempotency_conflict', 'The key made another task.')
    if (known) return { ...known.answer, replayed: true }
    this.submitted.push(task)
    const record = newRecord(task)
    this.tasksById.set(record.id, { task, record })
    const { id, status, scheduledAtMs, createdAtMs } = record
    const answer: Submitted = { id, status, scheduledAtMs, createdAtMs, replayed: false }
    if (key !== null) this.#keys.set(key, { hash, answer })
    return answer
  }

  #record(id: Uuid, tenant: TenantScope = null): TaskRecord {
    this.#failIfTold()
    const entry = this.tasksById.get(id)
    if (!entry || !isVisible(tenant, entry.record.tenant)) throw new DulyError('not_found', 'There is no such task.')
    return entry.record
  }

  #cancel(id: Uuid, tenant: TenantScope) {
    const { status } = this.#record(id, tenant)
    if (status === 'RUNNING') return { id, status, cancelRequested: true, cancelledAtMs: null }
    if (!isOpen(status) && status !== 'CANCELLED') throw new DulyError('wrong_state', `The task is ${status}.`)
    this.set(id, { status: 'CANCELLED' })
    return { id, status: 'CANCELLED' as const, cancelRequested: false, cancelledAtMs: fixedAtMs }
  }

  async #grants({ slots, waitMs }: { slots: number; waitMs: number }, signal: AbortSignal): Promise<GrantedTask[]> {
    const pending = [...this.tasksById.values()].filter(({ record }) => record.status === 'PENDING')
    if (pending.length === 0) await this.#wait(waitMs, signal)
    return pending
      .slice(0, slots)
      .map(({ record }, index) => grantOf(this.set(record.id, { status: 'RUNNING' }), index + 1))
  }

  #report(report: Report) {
    this.reports.push(report)
    if (!this.tasksById.has(report.id)) return { id: report.id, accepted: false as const, code: 'lease_lost' as const }
    if (report.outcome === 'succeeded') this.set(report.id, { status: 'SUCCEEDED', result: report.result })
    return { id: report.id, accepted: true as const, status: this.#record(report.id).status }
  }

  async #wait(waitMs: number, signal: AbortSignal): Promise<void> {
    this.onWait(signal)
    if (waitMs === 0 || signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}

function newRecord(task: NewTask): TaskRecord {
  const { requestHash: _, delayMs, resultTtlMs: __, ...kept } = task
  const dueAtMs = task.scheduledAtMs ?? (delayMs === null ? null : fixedAtMs + delayMs)
  return {
    ...kept,
    id: newId(),
    status: dueAtMs === null || dueAtMs <= fixedAtMs ? 'PENDING' : 'SCHEDULED',
    createdAtMs: fixedAtMs,
    dueAtMs,
    startedAtMs: null,
    completedAtMs: null,
    attempts: 0,
    failures: 0,
    crashes: 0,
    cancelRequested: false,
    reason: null,
    workerId: null,
    workerName: null,
    result: null,
    error: null,
    workflowId: null,
    nodeName: null,
    cronId: null,
    discardedAtMs: null,
    progress: null,
  }
}

function grantOf(record: TaskRecord, grant: number): GrantedTask {
  const { id, taskType, queue, payload, metadata, timeoutMs, traceparent } = record
  return {
    ...{ grant, id, taskType, queue, payload, metadata, timeoutMs, traceparent },
    lease: '1-0000000000000001',
    attempt: 1,
    failures: 0,
    deadlineAtMs: fixedAtMs + timeoutMs,
    idempotencyKey: record.idempotencyKey ?? id,
    checkpoint: null,
    suspect: false,
    cronId: null,
    scheduledAtMs: record.scheduledAtMs,
  }
}
