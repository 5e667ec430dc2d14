import { firstUuidAt, isOpen, type Uuid, uuidFromBytes } from '@duly/domain'
import type { BulkSample, Page, PageRequest, TaskFilters, TaskSummary } from '../model.js'
import type { Database } from './database.js'
import { type Driver, isShared, listOf, probes, type Standing } from './list-sql.js'
import { type ErrorColumns, errorOf, type ProgressColumns, progressOf } from './record-sql.js'

/** Rows that a page looks at, at most; fewer where each takes a look into a further table (measured: 3 and 6 µs a row). */
const lookLimit = 10_000
const joinedLookLimit = 1_500

/** A page ends early when its texts (metadata, errors, tags) come to more than this: some 4 MiB of answer. */
const pageMaxChars = 4 * 1024 * 1024

/**
 * An id is minted before created_at is taken, by a node whose idea of the store's clock is off by some ms; a commit may wait
 * for its group, a full pool or a time-out. Ids of tasks created in an interval lie within these of it.
 */
const idAheadMs = 5_000
const idBehindMs = 60_000

const firstId = '00000000-0000-0000-0000-000000000000'
const pastLastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** A task that whoever acts on many comes to. */
export interface Candidate extends BulkSample {
  readonly workflowId: Uuid | null
  /** No action changes it, whatever its status allows: it runs and is marked for cancellation already, or was discarded. */
  readonly isSettled: boolean
}

type ListRow = Omit<TaskSummary, 'error' | 'progress' | 'tags'> &
  Omit<ErrorColumns, 'errorStack'> &
  ProgressColumns & { readonly tags: string[] | null }

/** Lists of tasks, open and finished ones together. */
export class ListStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** One page, from one snapshot. It may be short, or empty, and yet not the last one: see `next`. */
  async page(filters: TaskFilters, { after, limit }: PageRequest): Promise<Page<TaskSummary>> {
    const values = [...idBounds(filters, after), limit + 1, lookFor(filters), ...valuesOf(filters)]
    const driver = await this.#driverFor(filters, values)
    const rows = await this.#database.list<Row<ListRow>>(listOf(driver, standingOf(filters.status)), values)
    const found = rows.flatMap((row) => (row.id === null ? [] : [summaryOf(row)]))
    const items = withinSize(found.slice(0, limit))
    const isCut = items.length < found.length
    return { items, next: isCut ? (items.at(-1)?.id ?? null) : nextOf(rows, filters, driver) }
  }

  /**
   * A page of tasks for whoever acts on them, by the same walks; of those alone that were created before `cutoff`, an instant as the
   * store spells it. Without a status: of the open ones.
   */
  async candidates(
    filters: TaskFilters,
    { after, limit, cutoff }: PageRequest & { readonly cutoff: string },
  ): Promise<Page<Candidate>> {
    const how = filters.status === null ? 'open' : standingOf(filters.status)
    const values = [...idBounds(filters, after), limit + 1, joinedLookLimit, ...valuesOf(filters)]
    const wanted = await this.#driverFor(filters, values)
    const driver = filters.status === null && (wanted === 'tenant' || wanted === 'all') ? 'open' : wanted
    const { createdBeforeMs } = filters
    const isBefore = createdBeforeMs !== null && createdBeforeMs <= Date.parse(cutoff)
    // $12: to the microsecond, since an operation means what was accepted before it
    if (!isBefore) values[createdBeforePlace] = cutoff
    const rows = await this.#database.list<Row<Candidate>>(listOf(driver, how, 'candidate'), values)
    const found = rows.flatMap(({ edge: _, ...row }) => (row.id === null ? [] : [row as Candidate]))
    const items = found.slice(0, limit)
    const isCut = items.length < found.length
    return { items, next: isCut ? (items.at(-1)?.id ?? null) : nextOf(rows, filters, driver) }
  }

  /** The index that leads to the fewest rows; between tenant and status the one that reaches further back in as many entries. */
  async #driverFor(filters: TaskFilters, values: readonly unknown[]): Promise<Driver> {
    if (filters.workflowId !== null) return 'workflow'
    if (filters.cronId !== null) return 'cron'
    const byStatus = statusDriver(filters.status)
    if (filters.tenant === null) return byStatus ?? 'all'
    if (byStatus === 'running') return byStatus
    if (byStatus !== 'waiting' && byStatus !== 'ended') return 'tenant'
    const [reach] = await this.#database.list<{ tenant: Uuid | null; status: Uuid | null }>(probes[byStatus], [
      values[0],
      values[1],
      filters.tenant,
      filters.status,
    ])
    return (reach?.status ?? '') <= (reach?.tenant ?? '') ? byStatus : 'tenant'
  }
}

type Row<T> = { readonly edge: Uuid | null } & ({ readonly id: null } | T)

/** Where `created_before` stands among the values. */
const createdBeforePlace = 11

/** The key behind the last entry that a page looked at; null: that was all. */
function nextOf(rows: readonly Row<{ readonly id: Uuid }>[], { tenant }: TaskFilters, driver: Driver): Uuid | null {
  const edge = rows[0]?.edge ?? null
  // a page begins below its cursor, and this task is yet to be looked at
  return edge !== null && tenant !== null && isShared(driver) ? uuidAfter(edge) : edge
}

type StatusDriver = 'waiting' | 'running' | 'ended' | 'succeeded'

function statusDriver(status: TaskFilters['status']): StatusDriver | null {
  if (status === null) return null
  if (status === 'RUNNING') return 'running'
  if (status === 'SUCCEEDED') return 'succeeded'
  return isOpen(status) ? 'waiting' : 'ended'
}

function standingOf(status: TaskFilters['status']): Standing | null {
  const driver = statusDriver(status)
  return driver === 'running' ? null : driver
}

const lookFor = ({ status }: TaskFilters): number => (status === null ? lookLimit : joinedLookLimit)

/** The ids between which the page lies: the cursor's, and those of the interval of creation. */
export function idBounds(
  { createdAfterMs, createdBeforeMs }: Pick<TaskFilters, 'createdAfterMs' | 'createdBeforeMs'>,
  before: Uuid | null,
): [Uuid, Uuid] {
  const upper = createdBeforeMs === null ? pastLastId : firstUuidAt(Math.floor(createdBeforeMs) + idAheadMs)
  const lower = createdAfterMs === null ? firstId : firstUuidAt(Math.max(0, Math.floor(createdAfterMs) - idBehindMs))
  return [before !== null && before < upper ? before : upper, lower]
}

function valuesOf(filters: TaskFilters): unknown[] {
  const { tenant, taskType, queue, tag, workflowId, cronId, createdAfterMs, createdBeforeMs } = filters
  const instants = [createdAfterMs, createdBeforeMs].map((at) => (at === null ? null : new Date(at)))
  return [tenant, taskType, queue, tag, workflowId, cronId, ...instants, filters.correlationId, filters.status]
}

function uuidAfter(id: Uuid): Uuid {
  const digits = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0')
  return uuidFromBytes(Buffer.from(digits, 'hex'), 0)
}

function summaryOf({
  errorClass,
  errorMessage,
  percent,
  note,
  tags,
  ...row
}: ListRow & { edge?: unknown }): TaskSummary {
  const { edge: _, ...record } = row
  const error = errorOf({ errorClass, errorMessage, errorStack: null })
  return { ...record, tags: tags ?? [], error, progress: progressOf({ percent, note }) }
}

/** As many of the first as fit; always one. */
function withinSize(items: readonly TaskSummary[]): readonly TaskSummary[] {
  let chars = 0
  const end = items.findIndex((item) => {
    chars += (item.metadata?.length ?? 0) + (item.error?.message.length ?? 0)
    return chars > pageMaxChars
  })
  return end < 0 ? items : items.slice(0, Math.max(1, end))
}
