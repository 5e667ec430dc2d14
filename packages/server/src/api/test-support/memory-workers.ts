import { DulyError, type TenantScope, type Uuid } from '@duly/domain'
import type {
  DependencyResultsRequest,
  GrantedTask,
  HeartbeatRequest,
  PageRequest,
  Report,
  SessionRef,
  TaskRecord,
  WorkerFilter,
  WorkerRecord,
  WorkerRegistration,
} from '../../model.js'
import type { MemoryTasks } from './memory-tasks.js'
import { fixedAtMs, newId, type Told } from './told.js'

/** Workers as the HTTP layer sees them: they get whatever is PENDING. */
export class MemoryWorkers {
  /** Sessions that are alive. */
  readonly sessions = new Map<Uuid, TenantScope>()
  readonly reports: Report[] = []
  readonly beats: HeartbeatRequest[] = []
  readonly #tasks: MemoryTasks
  readonly #told: Told

  constructor(tasks: MemoryTasks, told: Told) {
    this.#tasks = tasks
    this.#told = told
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

  readonly service = {
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
      await this.#told.wait(beat.waitMs, signal)
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

  #worker(id: Uuid): WorkerRecord {
    this.#told.failIfTold()
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

  #live({ id, tenant }: SessionRef): void {
    this.#told.failIfTold()
    if (this.sessions.get(id) !== tenant) throw new DulyError('session_lost', 'The session is not live.')
  }

  async #grants({ slots, waitMs }: { slots: number; waitMs: number }, signal: AbortSignal): Promise<GrantedTask[]> {
    const pending = [...this.#tasks.byId.values()].filter(({ record }) => record.status === 'PENDING')
    if (pending.length === 0) await this.#told.wait(waitMs, signal)
    return pending
      .slice(0, slots)
      .map(({ record }, index) => grantOf(this.#tasks.set(record.id, { status: 'RUNNING' }), index + 1))
  }

  #report(report: Report) {
    this.reports.push(report)
    if (!this.#tasks.byId.has(report.id))
      return { id: report.id, accepted: false as const, code: 'lease_lost' as const }
    if (report.outcome === 'succeeded') this.#tasks.set(report.id, { status: 'SUCCEEDED', result: report.result })
    return { id: report.id, accepted: true as const, status: this.#tasks.record(report.id).status }
  }
}

function grantOf(record: TaskRecord, grant: number): GrantedTask {
  const { id, taskType, queue, payload, metadata, tenant, timeoutMs, traceparent } = record
  return {
    ...{ grant, id, taskType, queue, payload, metadata, tenant, timeoutMs, traceparent },
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
