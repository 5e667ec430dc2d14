import { DulyError, type Explanation, type TenantScope, type Uuid } from '@duly/domain'
import type { LogPage, LogRequest, NewApiKey, PageRequest, Services, StatsRequest, WaitRequest } from '../../model.js'
import { MemoryCron } from './memory-cron.js'
import { MemoryOperations } from './memory-operations.js'
import { MemoryTasks } from './memory-tasks.js'
import { MemoryWorkers } from './memory-workers.js'
import { MemoryWorkflows } from './memory-workflows.js'
import { fixedAtMs, newId, Told } from './told.js'

/**
 * The services as the HTTP layer sees them, in memory and without any rule of the lifecycle: enough to see what the
 * layer passes on and how it maps answers. Everything else is tested on the real services.
 */
export class MemoryServices implements Services {
  readonly told = new Told()

  readonly book = new MemoryTasks(this.told)
  readonly intake = this.book.intake
  readonly tasks = this.book.service
  readonly submitted = this.book.submitted
  readonly listed = this.book.listed
  readonly edits = this.book.edits

  readonly team = new MemoryWorkers(this.book, this.told)
  readonly workers = this.team.service
  readonly fleet = this.team.fleet
  readonly beats = this.team.beats
  readonly reports = this.team.reports

  readonly operations = new MemoryOperations(this.book, this.told)
  readonly deadLetters = this.operations.deadLetters
  readonly bulk = this.operations.bulk
  readonly orders = this.operations.orders

  readonly recurring = new MemoryCron(fixedAtMs, newId)
  readonly cron = this.recurring.service

  readonly graphs = new MemoryWorkflows(fixedAtMs, newId, (waitMs, signal) => this.told.wait(waitMs, signal))
  readonly workflows = this.graphs.service

  /** What every task is explained by. */
  explanation: Explanation = { status: 'PENDING', summary: 'It is the next of its lane.', causes: [] }
  readonly explainer = {
    explain: async (id: Uuid, tenant: TenantScope) => {
      this.book.record(id, tenant)
      return this.explanation
    },
  }

  readonly asked: LogRequest[] = []
  /** What every log answers. */
  logPage: LogPage = { lines: [], next: 0, hasMore: false, isComplete: false, dropped: 0, progress: null }
  readonly logs = {
    read: async (id: Uuid, tenant: TenantScope, { waitMs, signal, ...request }: LogRequest & WaitRequest) => {
      this.book.record(id, tenant)
      this.asked.push(request)
      await this.told.wait(waitMs, signal)
      return this.logPage
    },
  }

  /** Queues that there are, by name. */
  queueNames: readonly string[] = ['default']
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
      this.told.failIfTold()
      const counts = { submitted: 4, started: 3, succeeded: 2, failed: 1, dead: 0, cancelled: 0, retried: 0 }
      const rates = { submittedPerSecond: 4 / 60, startedPerSecond: 0.05, finishedPerSecond: 0.05, errorRate: 1 / 3 }
      const base = { ...counts, ...rates, lost: 0, timedOut: 0, waitMs: null, runMs: { p50: 1, p90: 2, p99: 1_234.4 } }
      const items = by === null ? [] : [{ name: 'a', ...base, depth: null, running: 1 }]
      return { fromMs: fixedAtMs - windowMs, toMs: fixedAtMs, totals: { ...base, depth: 7, running: 1 }, by, items }
    },
  }

  readiness: string | null = null
  isLeaving = false
  readonly health = { notReady: async () => this.readiness, isLeaving: () => this.isLeaving }

  #queue(name: string, paused = false) {
    this.told.failIfTold()
    if (!this.queueNames.includes(name)) throw new DulyError('not_found', 'There is no such queue.')
    const depthByPriority = { high: 1, medium: 2, low: 0 }
    const depthByTenant = [{ tenantId: 'acme', depth: 3 }]
    return { name, paused, depth: 3, depthByPriority, depthByTenant, running: 1, oldestReadyAtMs: fixedAtMs }
  }
}
