import { errorPattern, type TenantScope, type Uuid } from '@duly/domain'
import type {
  DeadLetter,
  DeadLetterFilters,
  DeadLetterGroup,
  DeadLetterSummary,
  Page,
  PageRequest,
  SummaryFilters,
} from '../model.js'
import { changeBy } from './commits.js'
import type { Database } from './database.js'
import * as sql from './dead-letter-sql.js'
import { textArray, uuidArray } from './params.js'

/** Letters that a page looks at, and sums that a summary adds up. */
const lookLimit = 10_000

/** A page ends early when its messages come to more than this: some 4 MiB of answer. */
const pageMaxChars = 4 * 1024 * 1024

const first: readonly [string, Uuid] = ['infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff']

interface Placed {
  /** The key of a page that begins behind it. */
  readonly place: string
}

/** A task that an operation comes to. */
export interface LetterCandidate extends Placed {
  readonly id: Uuid
  readonly workflowId: Uuid | null
}

/** Dead letters: lists and groups of them, and how they are given up. */
export class DeadLetterStore {
  readonly #database: Database
  readonly #slot: number

  constructor(database: Database, options: { slot: number }) {
    this.#database = database
    this.#slot = options.slot
  }

  /** One page, the latest first. It may be short, or empty, and yet not the last one: see `next`. */
  async page(filters: DeadLetterFilters, page: PageRequest): Promise<Page<DeadLetter>> {
    const { items, next } = await this.#walk<DeadLetter & Placed>(sql.letterLists, filters, page)
    const fitting = withinSize(items)
    const last = fitting.at(-1)
    const isCut = fitting.length < items.length
    return {
      items: fitting.map(({ place: _, ...letter }) => letter),
      next: isCut && last !== undefined ? last.place : next,
    }
  }

  /** A page of tasks behind letters that were written before `cutoff`, an instant as the store spells it. */
  candidates(
    filters: DeadLetterFilters,
    { after, limit, cutoff }: PageRequest & { readonly cutoff: string },
  ): Promise<Page<LetterCandidate>> {
    const bound = `${cutoff} 00000000-0000-0000-0000-000000000000`
    return this.#walk<LetterCandidate>(sql.letterCandidates, filters, { limit, after: after ?? bound })
  }

  /** Tasks of one workflow behind letters that fit and were written before `cutoff`. */
  async ofWorkflow(filters: DeadLetterFilters, workflow: Uuid, cutoff: string): Promise<Uuid[]> {
    const { tenant, queue, taskType, errorClass, fingerprint } = filters
    const values = [workflow, cutoff, tenant, queue, taskType, errorClass, fingerprint]
    return (await this.#database.query<{ id: Uuid }>(sql.lettersOfWorkflow, values)).map(({ id }) => id)
  }

  async summary({ tenant, queue, taskType }: SummaryFilters, limit: number): Promise<DeadLetterSummary> {
    const statement = tenant === null ? sql.summaries.all : sql.summaries.tenant
    type Row = { readonly isComplete: boolean; readonly total: number; readonly groups: number } & (
      | { readonly fingerprint: null }
      | DeadLetterGroup
    )
    const rows = await this.#database.list<Row>(statement, [tenant, queue, taskType, limit, lookLimit])
    const { isComplete = true, total = 0, groups = 0 } = rows[0] ?? {}
    const items = rows.flatMap((row) => (row.fingerprint === null ? [] : [groupOf(row)]))
    return { letters: total, groups, items, isComplete }
  }

  /** Dead letters by queue, as many as one look adds up. */
  async byQueue(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.query<{ queue: string; letters: number }>(sql.lettersByQueue, [lookLimit])
    return new Map(rows.map(({ queue, letters }) => [queue, letters]))
  }

  async has(id: Uuid, tenant: TenantScope): Promise<boolean> {
    return (await this.#database.query(sql.findLetter, [id, tenant])).length > 0
  }

  /** Which of these were dead letters, and are none any more. */
  async discard(
    ids: readonly Uuid[],
    tenant: TenantScope,
    { actor, reason }: { readonly actor: string; readonly reason: string | null },
  ): Promise<Uuid[]> {
    const values = [uuidArray(ids), actor, reason, this.#slot, tenant, null]
    return (await changeBy<{ id: Uuid }>(this.#database, sql.discard, values)).map(({ id }) => id)
  }

  /** Gives letters of versions before what groups them by the rules of this one; answers whether there may be more. */
  async fill(limit: number): Promise<boolean> {
    const bare = await this.#database.query<{ id: Uuid; errorMessage: string }>(sql.bareLetters, [limit])
    if (bare.length === 0) return false
    const patterns = bare.map(({ errorMessage }) => errorPattern(errorMessage))
    await this.#database.query(sql.fillLetters, [uuidArray(bare.map(({ id }) => id)), textArray(patterns), this.#slot])
    return bare.length === limit
  }

  async #walk<T extends Placed>(
    statements: typeof sql.letterLists,
    filters: DeadLetterFilters,
    { after, limit }: PageRequest,
  ): Promise<Page<T>> {
    const { tenant, queue, taskType, errorClass, fingerprint } = filters
    const from = after === null ? first : after.split(' ')
    const values = [...from, limit + 1, lookLimit, tenant, queue, taskType, errorClass, fingerprint]
    type Row = { readonly edge: string | null } & ({ readonly id: null } | (T & { readonly id: Uuid }))
    const rows = await this.#database.list<Row>(statements[walkFor(filters)], values)
    const found = rows.flatMap((row) => (row.id === null ? [] : [letterOf<T>(row as T)]))
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? (items.at(-1)?.place ?? null) : (rows[0]?.edge ?? null) }
  }
}

/** A tenant's are walked along an index of its own, so that no page's key is another tenant's. */
function walkFor({ tenant, queue, fingerprint }: DeadLetterFilters): sql.LetterWalk {
  if (fingerprint !== null) return tenant === null ? 'group' : 'tenant_group'
  if (tenant !== null) return 'tenant'
  return queue === null ? 'all' : 'queue'
}

function letterOf<T extends Placed>(row: T & { readonly edge?: unknown; readonly died_at?: unknown }): T {
  const { edge: _, died_at: __, ...letter } = row
  return letter as unknown as T
}

function groupOf(row: DeadLetterGroup): DeadLetterGroup {
  const { fingerprint, queue, taskType, errorClass, errorPattern, letters, oldestAtMs, newestAtMs, sampleId } = row
  return { fingerprint, queue, taskType, errorClass, errorPattern, letters, oldestAtMs, newestAtMs, sampleId }
}

/** As many of the first as fit; always one. */
function withinSize<T extends DeadLetter>(items: readonly T[]): readonly T[] {
  let chars = 0
  const end = items.findIndex(({ errorMessage }) => {
    chars += errorMessage.length
    return chars > pageMaxChars
  })
  return end < 0 ? items : items.slice(0, Math.max(1, end))
}
