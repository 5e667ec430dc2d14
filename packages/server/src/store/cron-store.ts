import {
  type CronStatus,
  DulyError,
  type MisfirePolicy,
  type OverlapPolicy,
  type TenantScope,
  type Uuid,
} from '@duly/domain'
import type { CronDefinition, CronFilters, CronTemplate, FiringRecord, Page, PageRequest } from '../model.js'
import { changeBy } from './commits.js'
import * as sql from './cron-sql.js'
import { checkedPayload, packTemplate, type TemplateColumns, unpackTemplate } from './cron-template.js'
import type { Database } from './database.js'

/** What a definition's row says, but for its template. */
export interface CronRow extends Omit<CronDefinition, 'template'> {
  readonly id: Uuid
  readonly version: number
  /** From which instant an interval is counted. */
  readonly anchorAtMs: number
  readonly nextFireAtMs: number | null
  readonly lastFireAtMs: number | null
  readonly lastFiredAtMs: number | null
  readonly lastTaskId: Uuid | null
  readonly fired: number
  readonly skipped: number
  readonly error: string | null
  readonly status: CronStatus
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface StoredSummary extends CronRow {
  readonly template: Omit<CronTemplate, 'payload'>
}

export interface StoredCron extends CronRow {
  readonly template: CronTemplate
}

/** A definition with what its schedule says of it. */
export interface ScheduledDefinition extends CronDefinition {
  readonly id: Uuid
  readonly anchorAtMs: number
  readonly nextFireAtMs: number | null
  /** When a node must look; null exactly if there is nothing to come. */
  readonly wakeAtMs: number | null
}

export interface Replacing {
  /** The one that was looked at. */
  readonly version: number
  /** What comes next stays what the row says, within the end; else it is the given one. */
  readonly keepsNext: boolean
  /** By how much its jitter moves it. */
  readonly shiftMs: number
}

type SummaryRow = CronRow & TemplateColumns & { readonly overlap: OverlapPolicy; readonly misfire: MisfirePolicy }

/** A page looks at so many definitions. */
const lookLimit = 10_000

/** Definitions, and what became of their fire times. What is not of the caller's tenant is not there. */
export class CronStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * False: the tenant has `limit` of them.
   * @throws DulyError `name_taken`
   */
  async create(definition: ScheduledDefinition, limit: number): Promise<boolean> {
    const rows = await changeBy(this.#database, sql.create, [...valuesOf(definition), limit]).catch(
      (error: unknown) => {
        throw isTaken(error)
          ? new DulyError('name_taken', `There is a recurring task ${definition.name} already.`)
          : error
      },
    )
    return rows.length > 0
  }

  /** False: the definition is not of that version any more. */
  async replace(definition: ScheduledDefinition, { version, keepsNext, shiftMs }: Replacing): Promise<boolean> {
    const values = [...valuesOf(definition), version, keepsNext, shiftMs]
    return (await changeBy(this.#database, sql.replace, values)).length > 0
  }

  async read(id: Uuid, tenant: TenantScope): Promise<StoredCron | null> {
    const [row] = await this.#database.query<SummaryRow & { payload: string }>(sql.read, [id, tenant])
    return row ? stored(row) : null
  }

  async readByName(tenant: string, name: string): Promise<StoredCron | null> {
    const [row] = await this.#database.query<SummaryRow & { payload: string }>(sql.readByName, [tenant, name])
    return row ? stored(row) : null
  }

  /** False: there was none. */
  async remove(id: Uuid, tenant: TenantScope): Promise<boolean> {
    return (await changeBy(this.#database, sql.remove, [id, tenant])).length > 0
  }

  /** Newest first, by id. */
  async page(filters: CronFilters, { after, limit }: PageRequest): Promise<Page<StoredSummary>> {
    const { tenant, status, taskType, queue, name, namePrefix } = filters
    const statement = tenant === null ? sql.list : name === null ? sql.listOfTenant : sql.listNamed
    const values = [after, lookLimit, limit, tenant, status, taskType, queue, name, namePrefix]
    const rows = await this.#database.list<SummaryRow & { next: Uuid | null }>(statement, values)
    const items = rows.flatMap(({ next: _, ...row }) => (row.id === null ? [] : [summary(row)]))
    return { items, next: rows[0]?.next ?? null }
  }

  /** Latest first, behind `after`. */
  async firings(id: Uuid, tenant: TenantScope, { after, limit }: PageRequest): Promise<Page<FiringRecord>> {
    const before = after === null ? null : new Date(Number(after))
    const rows = await this.#database.query<FiringRecord>(sql.firings, [id, tenant, before, limit + 1])
    const items = rows.slice(0, limit).map(firing)
    return { items, next: rows.length > limit ? String(items.at(-1)?.fireAtMs) : null }
  }
}

function firing({ fireAtMs, firedAtMs, outcome, taskId }: FiringRecord): FiringRecord {
  return { fireAtMs: Math.round(fireAtMs), firedAtMs, outcome, taskId }
}

/** A row whose template is spoilt is shown without it: a list must not fail for one of them. */
function summary(row: SummaryRow): StoredSummary {
  const { taskType, queue, task, metadata, ...rest } = row
  return { ...whole(rest), template: shownTemplate({ taskType, queue, task, metadata }) }
}

function stored({ payload, ...row }: SummaryRow & { readonly payload: string }): StoredCron {
  const { template, ...rest } = summary(row)
  return { ...rest, template: { ...template, payload: shownPayload(payload) } }
}

function shownPayload(text: string): string {
  try {
    return checkedPayload(text)
  } catch {
    return 'null'
  }
}

function shownTemplate(columns: TemplateColumns): Omit<CronTemplate, 'payload'> {
  try {
    return unpackTemplate(columns)
  } catch {
    const { taskType, queue } = columns
    const none = { expiresAtMs: null, resultTtlMs: null, concurrencyKey: null }
    const retry = { maxRetries: 0, backoff: 'fixed', jitter: 'none', retryDelayMs: 0, retryMaxDelayMs: 0 } as const
    return { taskType, queue, metadata: null, priority: 2, tags: [], timeoutMs: 1, ...none, ...retry }
  }
}

/** PostgreSQL's instants come as doubles: fire times are compared, so that they must be whole again. */
function whole<T extends Pick<CronRow, 'nextFireAtMs' | 'anchorAtMs' | 'startsAtMs' | 'endsAtMs'>>(row: T): T {
  const { nextFireAtMs, anchorAtMs, startsAtMs, endsAtMs } = row
  return {
    ...row,
    anchorAtMs: Math.round(anchorAtMs),
    nextFireAtMs: rounded(nextFireAtMs),
    startsAtMs: rounded(startsAtMs),
    endsAtMs: rounded(endsAtMs),
  }
}

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms))

const at = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))

function valuesOf(definition: ScheduledDefinition): readonly unknown[] {
  const { id, tenant, name, expression, everyMs, anchorAtMs, timezone, overlap, misfire, graceMs } = definition
  const { startsAtMs, endsAtMs, jitterMs, enabled, nextFireAtMs, wakeAtMs, template } = definition
  return [
    ...[id, tenant, name, expression, everyMs, at(anchorAtMs), timezone, overlap, misfire, graceMs],
    ...[at(startsAtMs), at(endsAtMs), jitterMs, enabled, at(nextFireAtMs), at(wakeAtMs)],
    ...[template.taskType, template.queue, packTemplate(template), template.payload, template.metadata],
  ]
}

const isTaken = (error: unknown): boolean =>
  error instanceof Error && 'constraint' in error && error.constraint === 'cron_tasks_name'
