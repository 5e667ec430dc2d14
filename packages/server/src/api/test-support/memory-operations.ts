import { firstUuidAt, type TenantScope, type Uuid } from '@duly/domain'
import type { BulkOrder, BulkRecord, DeadLetterFilters, PageRequest, WaitRequest } from '../../model.js'
import type { MemoryTasks } from './memory-tasks.js'
import { fixedAtMs, type Told } from './told.js'

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

/** Dead letters and operations on many tasks as the HTTP layer sees them: one of each, which nothing changes. */
export class MemoryOperations {
  readonly #tasks: MemoryTasks
  readonly #told: Told

  constructor(tasks: MemoryTasks, told: Told) {
    this.#tasks = tasks
    this.#told = told
  }

  readonly deadLetters = {
    list: async (_filters: DeadLetterFilters, _tenant: TenantScope, { limit }: PageRequest) => {
      this.#told.failIfTold()
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
    retry: async (id: Uuid, tenant: TenantScope) => this.#tasks.service.replay(id, tenant),
    discard: async (id: Uuid, tenant: TenantScope) =>
      void this.#tasks.set(this.#tasks.record(id, tenant).id, { discardedAtMs: 1 }),
  }

  readonly orders: BulkOrder[] = []
  readonly bulk = {
    start: async (order: BulkOrder, tenant: TenantScope) => {
      this.#told.failIfTold()
      this.orders.push(order)
      return { ...operation, action: order.action, source: order.source, filters: order.filters, tenant }
    },
    preview: async ({ action }: BulkOrder) => {
      const sample = { id: letter.id, status: 'PENDING' as const, tenant: 'acme', taskType: 'work', queue: 'default' }
      return { action, matched: 1, isAtLeast: false, byStatus: { PENDING: 1 }, samples: [sample] }
    },
    get: async () => operation,
    getFinished: async (_id: Uuid, _tenant: TenantScope, { waitMs, signal }: WaitRequest) => {
      await this.#told.wait(waitMs, signal)
      return operation
    },
    list: async (_tenant: TenantScope, { limit }: PageRequest) => ({ items: [operation].slice(0, limit), next: null }),
    cancel: async () => ({ ...operation, status: 'CANCELLED' as const, completedAtMs: fixedAtMs }),
  }
}
