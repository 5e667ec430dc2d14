import { DulyError, isVisible, type TenantScope, type Uuid } from '@duly/domain'
import type {
  CronDefinition,
  CronEdit,
  CronFilters,
  CronPut,
  CronRecord,
  CrontabImport,
  ImportedLine,
  PageRequest,
  PreviewRequest,
  PutResult,
  Services,
  Submitted,
} from '../../model.js'

/** Recurring tasks as the HTTP layer sees them: kept as given, and never fired. */
export class MemoryCron {
  readonly byId = new Map<Uuid, CronRecord>()
  readonly edits: CronEdit[] = []
  readonly listed: CronFilters[] = []
  readonly previews: PreviewRequest[] = []
  readonly imports: CrontabImport[] = []
  readonly #atMs: number
  readonly #newId: () => Uuid

  constructor(atMs: number, newId: () => Uuid) {
    this.#atMs = atMs
    this.#newId = newId
  }

  readonly service: Services['cron'] = {
    create: async ({ boundTo: _, ...definition }) => this.#add({ ...definition, enabled: definition.enabled ?? true }),
    put: async (definition) => this.#put(definition),
    get: async (id, tenant) => this.#get(id, tenant),
    getByName: async (tenant, name) => {
      const record = this.#named({ tenant, name })
      if (!record) throw new DulyError('not_found', 'There is no such recurring task.')
      return record
    },
    list: async (filters, tenant, page: PageRequest) => {
      this.listed.push(filters)
      const items = [...this.byId.values()].filter((record) => isVisible(tenant, record.tenant)).slice(0, page.limit)
      return { items, next: items.at(-1)?.id ?? null }
    },
    edit: async (id, tenant, edit) => {
      const record = this.#get(id, tenant)
      this.edits.push(edit)
      const { template, namedTenant: _, ...change } = edit
      const status = change.enabled === false ? ('PAUSED' as const) : record.status
      const edited = { ...record, ...change, status, template: { ...record.template, ...template } }
      this.byId.set(id, edited)
      return edited
    },
    remove: async (id, tenant) => {
      this.#get(id, tenant)
      this.byId.delete(id)
    },
    trigger: async (id, tenant): Promise<Submitted> => {
      this.#get(id, tenant)
      const task = { id: this.#newId(), status: 'PENDING' as const, scheduledAtMs: null }
      return { ...task, createdAtMs: this.#atMs, replayed: false }
    },
    fireTimes: async (id, tenant, count) => {
      this.#get(id, tenant)
      return this.#times(count)
    },
    firings: async (id, tenant, page) => {
      this.#get(id, tenant)
      const times = { fireAtMs: this.#atMs, firedAtMs: this.#atMs + 5 }
      const items = [
        { ...times, outcome: 'fired' as const, taskId: this.#newId() },
        { ...times, outcome: 'skipped_overlap' as const, taskId: null },
      ]
      return { items: items.slice(0, page.limit), next: String(this.#atMs) }
    },
    preview: (request) => {
      this.previews.push(request)
      return { fireTimesMs: this.#times(request.count), description: 'in words' }
    },
    import: async (request): Promise<readonly ImportedLine[]> => {
      this.imports.push(request)
      const none = { id: null, name: null, message: null }
      return [
        { line: 1, text: '# comment', result: 'ignored', ...none },
        { line: 2, text: '0 3 * * * backup', result: 'created', id: this.#newId(), name: 'a/b', message: null },
        { line: 3, text: 'x', result: 'refused', ...none, message: 'has one field' },
      ]
    },
  }

  #times(count: number): number[] {
    return Array.from({ length: count }, (_, n) => this.#atMs + n * 60_000)
  }

  #get(id: Uuid, tenant: TenantScope): CronRecord {
    const record = this.byId.get(id)
    if (!record || !isVisible(tenant, record.tenant))
      throw new DulyError('not_found', 'There is no such recurring task.')
    return record
  }

  #named({ tenant, name }: Pick<CronDefinition, 'tenant' | 'name'>): CronRecord | undefined {
    return [...this.byId.values()].find((record) => record.tenant === tenant && record.name === name)
  }

  #add(definition: CronDefinition): CronRecord {
    if (this.#named(definition)) throw new DulyError('name_taken', 'There is one already.')
    const counts = { fired: 0, skipped: 0, error: null, lastFireAtMs: null, lastFiredAtMs: null, lastTaskId: null }
    const times = { nextFireAtMs: this.#atMs, createdAtMs: this.#atMs, updatedAtMs: this.#atMs }
    const status = definition.enabled ? ('ACTIVE' as const) : ('PAUSED' as const)
    const record = { ...definition, id: this.#newId(), status, description: 'in words', ...counts, ...times }
    this.byId.set(record.id, record)
    return record
  }

  #put({ enabled, boundTo: _, ...definition }: CronPut): PutResult {
    const known = this.#named(definition)
    if (!known) return { record: this.#add({ ...definition, enabled: enabled ?? true }), result: 'created' }
    const record = { ...known, ...definition, enabled: enabled ?? known.enabled }
    this.byId.set(record.id, record)
    return { record, result: 'replaced' }
  }
}
