import { DulyError, isOpen, isVisible, type TenantScope, type Uuid } from '@duly/domain'
import type { NewTask, PageRequest, Submitted, TaskEdit, TaskFilters, TaskRecord, WaitRequest } from '../../model.js'
import { fixedAtMs, newId, type Told } from './told.js'

/** Tasks as the HTTP layer sees them: kept as given, and without any rule of the lifecycle. */
export class MemoryTasks {
  readonly submitted: NewTask[] = []
  readonly listed: { readonly filters: TaskFilters; readonly page: PageRequest }[] = []
  readonly edits: TaskEdit[] = []
  readonly byId = new Map<Uuid, { task: NewTask; record: TaskRecord }>()
  readonly #keys = new Map<string, { hash: string; answer: Submitted }>()
  readonly #told: Told

  constructor(told: Told) {
    this.#told = told
  }

  readonly intake = {
    submit: async (task: NewTask) => this.#submit(task),
    submitBatch: async (tasks: readonly NewTask[]) => tasks.map((task) => this.#submit(task)),
  }

  readonly service = {
    get: async (id: Uuid, tenant: TenantScope) => this.record(id, tenant),
    getFinished: async (id: Uuid, tenant: TenantScope, { waitMs, signal }: WaitRequest) => {
      this.record(id, tenant)
      await this.#told.wait(waitMs, signal)
      return this.record(id, tenant)
    },
    cancel: async (id: Uuid, tenant: TenantScope) => this.#cancel(id, tenant),
    replay: async (id: Uuid, tenant: TenantScope) => {
      const record = this.record(id, tenant)
      if (isOpen(record.status)) throw new DulyError('wrong_state', `The task is ${record.status}.`)
      return this.set(id, { status: 'PENDING', failures: 0, crashes: 0, completedAtMs: null })
    },
    attempts: async (id: Uuid, tenant: TenantScope) => {
      this.record(id, tenant)
      const error = { class: 'SmtpError', message: 'no', stack: null }
      const base = { attempt: 1, run: 0, workerId: null, workerName: 'mailer', retryDelayMs: 1_500, error }
      return [{ ...base, startedAtMs: fixedAtMs, endedAtMs: fixedAtMs + 5, outcome: 'failed' as const }]
    },
    list: async (filters: TaskFilters, tenant: TenantScope, page: PageRequest) => {
      this.#told.failIfTold()
      this.listed.push({ filters, page })
      const items = [...this.byId.values()]
        .map(({ record }) => record)
        .filter((record) => isVisible(tenant, record.tenant))
        .slice(0, page.limit)
      return { items, next: items.at(-1)?.id ?? null }
    },
    edit: async (id: Uuid, tenant: TenantScope, { edit }: { readonly edit: TaskEdit }) => {
      this.record(id, tenant)
      this.edits.push(edit)
      const { scheduledAtMs, ...change } = edit
      return this.set(id, scheduledAtMs === undefined ? change : { ...change, scheduledAtMs })
    },
    runs: async (id: Uuid, tenant: TenantScope, page: PageRequest) => {
      const { status } = this.record(id, tenant)
      const run = { run: 2, status, startedAtMs: null, completedAtMs: null, replayedAtMs: null, lastAttempt: 0 }
      const rest = { failures: 0, crashes: 0, reason: null, workerId: null, workerName: null, error: null }
      return { items: [{ ...run, ...rest }].slice(0, page.limit), next: null }
    },
    events: async (id: Uuid, tenant: TenantScope) => {
      this.record(id, tenant)
      const base = {
        at: fixedAtMs,
        transition: 'cancel',
        fromStatus: 'PENDING' as const,
        toStatus: 'CANCELLED' as const,
      }
      return [{ ...base, attempt: null, actor: 'api:req-1', reason: null }]
    },
  }

  /** Changes a record, as a worker or the watchdog would. */
  set(id: Uuid, change: Partial<TaskRecord>): TaskRecord {
    const entry = this.byId.get(id)
    if (!entry) throw new Error('unknown task')
    entry.record = { ...entry.record, ...change }
    return entry.record
  }

  #submit(task: NewTask): Submitted {
    this.#told.failIfTold()
    const key = task.idempotencyKey === null ? null : JSON.stringify([task.tenant, task.idempotencyKey])
    const known = key === null ? undefined : this.#keys.get(key)
    const hash = task.requestHash?.toString('hex') ?? ''
    if (known && known.hash !== hash) throw new DulyError('idempotency_conflict', 'The key made another task.')
    if (known) return { ...known.answer, replayed: true }
    this.submitted.push(task)
    const record = newRecord(task)
    this.byId.set(record.id, { task, record })
    const { id, status, scheduledAtMs, createdAtMs } = record
    const answer: Submitted = { id, status, scheduledAtMs, createdAtMs, replayed: false }
    if (key !== null) this.#keys.set(key, { hash, answer })
    return answer
  }

  record(id: Uuid, tenant: TenantScope = null): TaskRecord {
    this.#told.failIfTold()
    const entry = this.byId.get(id)
    if (!entry || !isVisible(tenant, entry.record.tenant)) throw new DulyError('not_found', 'There is no such task.')
    return entry.record
  }

  #cancel(id: Uuid, tenant: TenantScope) {
    const { status } = this.record(id, tenant)
    if (status === 'RUNNING') return { id, status, cancelRequested: true, cancelledAtMs: null }
    if (!isOpen(status) && status !== 'CANCELLED') throw new DulyError('wrong_state', `The task is ${status}.`)
    this.set(id, { status: 'CANCELLED' })
    return { id, status: 'CANCELLED' as const, cancelRequested: false, cancelledAtMs: fixedAtMs }
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
