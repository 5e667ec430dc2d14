import { DulyError, type IdMinter, jitterOf, partitionOfKey, type TenantScope, type Uuid } from '@duly/domain'
import type {
  CronDefinition,
  CronEdit,
  CronFilters,
  CronPut,
  CronRecord,
  CronSummary,
  CrontabImport,
  FiringRecord,
  ImportedLine,
  NewTask,
  Page,
  PageRequest,
  PreviewRequest,
  PutResult,
  Submitted,
} from '../model.js'
import type { CronStore, ScheduledDefinition, StoredCron, StoredSummary } from '../store/cron-store.js'
import { readBack } from '../store/faults.js'
import { importCrontab } from './crontab-import.js'
import { isSameCourse, isSameDefinition } from './sameness.js'
import { anchorOf, fireTimesFrom, goesOn, nextAfter, wakeAt } from './schedule.js'
import type { Trigger } from './trigger.js'
import { describe } from './words.js'

export interface CronTasksOptions {
  readonly store: CronStore
  readonly trigger: Trigger
  readonly minter: IdMinter
  readonly partitions: number
  readonly storeNowMs: () => number
  /** Definitions that a tenant may have. */
  readonly limit: number
  /** Queue and task type come into being, or this rejects with `unprocessable`. */
  readonly ensureNames: (names: Pick<NewTask, 'queue' | 'taskType' | 'boundTo'>) => Promise<void>
  /** A definition is due then, by its row as committed. */
  readonly onScheduled: (wakeAtMs: number) => void
}

/** Others may edit the same definition at the same time, over and over. */
const maxTries = 8

/** Recurring tasks as the API has them. What is not of the caller's tenant is not there. */
export class CronTasks {
  readonly #options: CronTasksOptions

  constructor(options: CronTasksOptions) {
    this.#options = options
  }

  /** @throws DulyError `name_taken`, `unprocessable`, `invalid_request` (of its schedule) */
  async create({ boundTo, ...definition }: CronPut): Promise<CronRecord> {
    const wanted = { ...definition, enabled: definition.enabled ?? true }
    const scheduled = this.#scheduled(this.#mint(wanted), wanted)
    return this.#create(scheduled, boundTo)
  }

  /** Creates or replaces, or leaves as it is: by tenant and name. */
  async put(definition: CronPut): Promise<PutResult> {
    for (let attempt = 1; attempt <= maxTries; attempt++) {
      const result = await this.#put(definition)
      if (result !== null) return result
    }
    throw restless()
  }

  async get(id: Uuid, tenant: TenantScope): Promise<CronRecord> {
    return shown(await this.#stored(id, tenant))
  }

  async getByName(tenant: string, name: string): Promise<CronRecord> {
    const stored = await this.#options.store.readByName(tenant, name)
    if (stored === null) throw notFound()
    return shown(stored)
  }

  async list(filters: CronFilters, tenant: TenantScope, page: PageRequest): Promise<Page<CronSummary>> {
    if (tenant !== null && filters.tenant !== null && filters.tenant !== tenant) {
      throw new DulyError('forbidden', `tenant_id names another tenant than ${tenant}, which this key is bound to.`)
    }
    const found = await this.#options.store.page(tenant === null ? filters : { ...filters, tenant }, page)
    return { items: found.items.map(shown), next: found.next }
  }

  /** @throws DulyError `not_found`, `unprocessable`, `forbidden` (another tenant in its metadata) */
  async edit(id: Uuid, tenant: TenantScope, edit: CronEdit): Promise<CronRecord> {
    for (let attempt = 1; attempt <= maxTries; attempt++) {
      const stored = await this.#stored(id, tenant)
      const definition = edited(stored, edit)
      if (isSameDefinition(stored, definition)) return shown(stored)
      if (await this.#replace(stored, definition, tenant)) return readBack(() => this.get(id, tenant))
    }
    throw restless()
  }

  async remove(id: Uuid, tenant: TenantScope): Promise<void> {
    if (!(await this.#options.store.remove(id, tenant))) throw notFound()
  }

  async trigger(id: Uuid, tenant: TenantScope): Promise<Submitted> {
    await this.#stored(id, tenant)
    const submitted = await this.#options.trigger.fire(id, tenant)
    if (submitted === null) throw notFound()
    return submitted
  }

  /** What comes next, by the rules that fire it. */
  async fireTimes(id: Uuid, tenant: TenantScope, count: number): Promise<readonly number[]> {
    const stored = await this.#stored(id, tenant)
    const { nextFireAtMs, enabled } = stored
    if (nextFireAtMs === null) return []
    // what a paused one missed is its misfire policy's matter
    const fromMs = enabled ? nextFireAtMs : Math.max(nextFireAtMs, Math.ceil(this.#options.storeNowMs()))
    return fireTimesFrom(stored, fromMs, count)
  }

  async firings(id: Uuid, tenant: TenantScope, page: PageRequest): Promise<Page<FiringRecord>> {
    const found = await this.#options.store.firings(id, tenant, page)
    if (found.items.length === 0 && page.after === null) await this.#stored(id, tenant)
    return found
  }

  /** @throws DulyError `invalid_request`, `unprocessable` */
  preview({ afterMs, count, ...timing }: PreviewRequest): { fireTimesMs: readonly number[]; description: string } {
    const fromMs = afterMs ?? Math.floor(this.#options.storeNowMs())
    const open = { ...timing, anchorAtMs: fromMs, startsAtMs: null, endsAtMs: null }
    return { fireTimesMs: fireTimesFrom(open, fromMs + 1, count), description: describe(open) }
  }

  async import(request: CrontabImport): Promise<readonly ImportedLine[]> {
    return importCrontab(request, {
      judge: (definition) => void this.#scheduled(this.#mint(definition), { ...definition, enabled: true }),
      put: (definition) => this.put(definition),
    })
  }

  async #put({ boundTo, ...definition }: CronPut): Promise<PutResult | null> {
    const { store } = this.#options
    const stored = await store.readByName(definition.tenant, definition.name)
    const enabled = definition.enabled ?? stored?.enabled ?? true
    const wanted: CronDefinition = { ...definition, enabled }
    if (stored === null) {
      const scheduled = this.#scheduled(this.#mint(wanted), wanted)
      const record = await this.#create(scheduled, boundTo).catch(onlyIfTaken)
      return record === null ? null : { record, result: 'created' }
    }
    if (isSameDefinition(stored, wanted)) return { record: shown(stored), result: 'unchanged' }
    if (!(await this.#replace(stored, wanted, boundTo))) return null
    return { record: await readBack(() => this.get(stored.id, wanted.tenant)), result: 'replaced' }
  }

  async #create(scheduled: ScheduledDefinition, boundTo: TenantScope): Promise<CronRecord> {
    const { store, limit, ensureNames } = this.#options
    await ensureNames({ ...scheduled.template, boundTo })
    if (!(await store.create(scheduled, limit))) {
      const said = `The tenant ${scheduled.tenant} has its ${limit} recurring tasks already.`
      throw new DulyError('unprocessable', said)
    }
    this.#tell(scheduled)
    return readBack(() => this.get(scheduled.id, scheduled.tenant))
  }

  /** False: somebody else changed it meanwhile. */
  async #replace(stored: StoredCron, definition: CronDefinition, boundTo: TenantScope): Promise<boolean> {
    const { store, ensureNames } = this.#options
    const { id, version } = stored
    if (definition.endsAtMs !== stored.endsAtMs) this.#checkEnd(definition)
    const keepsNext = isSameCourse(stored, definition) && goesOn(stored, definition)
    const scheduled = keepsNext ? carriedOn(stored, definition) : this.#scheduled(id, definition, stored)
    await ensureNames({ ...definition.template, boundTo })
    const shiftMs = jitterOf(id, definition.jitterMs)
    if (!(await store.replace(scheduled, { version, keepsNext, shiftMs }))) return false
    this.#tell(scheduled)
    return true
  }

  #tell({ enabled, wakeAtMs }: ScheduledDefinition): void {
    if (enabled && wakeAtMs !== null) this.#options.onScheduled(wakeAtMs)
  }

  /** The definition with its first fire time from now on. `before`: what it replaces, whose beat it keeps on the same course. */
  #scheduled(id: Uuid, definition: CronDefinition, before: StoredCron | null = null): ScheduledDefinition {
    const nowMs = this.#checkEnd(definition)
    const { endsAtMs, jitterMs } = definition
    const keepsBeat = before !== null && isSameCourse(before, definition)
    const anchorAtMs = keepsBeat ? before.anchorAtMs : anchorOf(definition, nowMs)
    const nextFireAtMs = nextAfter({ ...definition, anchorAtMs }, nowMs)
    if (nextFireAtMs === null) throw nothingComes(endsAtMs)
    const { expiresAtMs } = definition.template
    if (expiresAtMs !== null && expiresAtMs <= nextFireAtMs) throw impossible('expires_at', allExpired)
    return { ...definition, id, anchorAtMs, nextFireAtMs, wakeAtMs: wakeAt(id, jitterMs, nextFireAtMs) }
  }

  /** Answers the present instant. */
  #checkEnd({ startsAtMs, endsAtMs }: CronDefinition): number {
    const nowMs = Math.floor(this.#options.storeNowMs())
    if (endsAtMs !== null && endsAtMs <= nowMs) throw impossible('ends_at', 'is past')
    if (endsAtMs !== null && startsAtMs !== null && endsAtMs < startsAtMs) {
      throw impossible('ends_at', 'is before starts_at')
    }
    return nowMs
  }

  async #stored(id: Uuid, tenant: TenantScope): Promise<StoredCron> {
    const stored = await this.#options.store.read(id, tenant)
    if (stored === null) throw notFound()
    return stored
  }

  #mint({ tenant, name }: Pick<CronDefinition, 'tenant' | 'name'>): Uuid {
    const { minter, partitions } = this.#options
    return minter.mint(partitionOfKey(tenant, name, partitions))
  }
}

/** The definition where the one stands that it replaces. */
function carriedOn(stored: StoredCron, definition: CronDefinition): ScheduledDefinition {
  const { id, anchorAtMs, nextFireAtMs } = stored
  return { ...definition, id, anchorAtMs, nextFireAtMs, wakeAtMs: wakeAt(id, definition.jitterMs, nextFireAtMs) }
}

/** The definition with what the edit changes. */
function edited(stored: StoredCron, { namedTenant, template, ...change }: CronEdit): CronDefinition {
  if (namedTenant !== undefined && namedTenant !== stored.tenant) {
    const said = `metadata.tenant_id names another tenant than ${stored.tenant}, whose recurring task this is.`
    throw new DulyError('forbidden', said)
  }
  return { ...stored, ...change, template: { ...stored.template, ...template } }
}

function shown(stored: StoredCron): CronRecord
function shown(stored: StoredSummary): CronSummary
function shown(stored: StoredSummary): CronSummary {
  const { version: _, anchorAtMs, nextFireAtMs, ...record } = stored
  const description = describe({ ...record, anchorAtMs })
  return { ...record, description, nextFireAtMs: stored.status === 'ACTIVE' ? nextFireAtMs : null }
}

/** Somebody else made one of that name: look again. */
function onlyIfTaken(error: unknown): null {
  if (error instanceof DulyError && error.code === 'name_taken') return null
  throw error
}

const allExpired = 'is not after its first fire time: every task of it would be cancelled at once'

function nothingComes(endsAtMs: number | null): DulyError {
  if (endsAtMs !== null)
    return impossible('ends_at', 'is before any fire time that would come: nothing would ever fire')
  return impossible('cron_expression', 'comes to no fire time: what matches falls into gaps of its clocks, or is over')
}

function impossible(path: string, message: string): DulyError {
  return new DulyError('unprocessable', `${path} ${message}.`, { errors: [{ path, message }] })
}

const notFound = (): DulyError => new DulyError('not_found', 'There is no such recurring task.')

const restless = (): DulyError =>
  new DulyError('store_unavailable', 'The recurring task was changed each time it was looked at; try again.', {
    retryAfterSeconds: 1,
  })
