import type { TenantScope, Uuid } from '@duly/domain'
import type { Page, PageRequest, WorkflowFilters, WorkflowHead, WorkflowNodeRecord, WorkflowSummary } from '../model.js'
import { type Connection, type Database, rowsOf } from './database.js'
import { idBounds } from './list-store.js'
import { type ErrorColumns, errorOf } from './record-sql.js'
import * as sql from './workflow-record-sql.js'

/** A node as it is read. `parents`: the ids of what it depends on, one behind the other. */
export interface NodeRow extends Omit<WorkflowNodeRecord, 'dependencies' | 'addedBy'> {
  readonly addedBy: Uuid | null
  /** When it was judged to run. */
  readonly triggeredAtMs: number | null
  readonly parents: string | null
}

/** What a workflow is read from, of one instant. */
export interface FoundWorkflow {
  readonly workflow: WorkflowHead
  /** Of all nodes in their order: the ids, one behind the other, and the names. */
  readonly ids: string
  readonly names: readonly string[]
  /** The nodes in their order, so many at a time. */
  readonly parts: AsyncIterable<readonly NodeRow[]>
}

/** Nodes of one part, and dependencies of one. */
const partNodes = 250
const partEdges = 2_500

/** Rows that one page looks at when its filters find few. */
const lookLimit = 10_000

/** A scrape counts no further. */
const maxCounted = 100_000

/** Reads of workflows. What is not of the caller's tenant is not there. */
export class WorkflowRecordStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async summary(id: Uuid, tenant: TenantScope): Promise<WorkflowSummary | null> {
    const [row] = await this.#database.query<WorkflowSummary>(sql.readSummary, [id, tenant])
    return row ?? null
  }

  /** Reads all of it from one instant: its status and those of its tasks agree. Null: there is none of that tenant. */
  async read<T>(id: Uuid, tenant: TenantScope, read: (found: FoundWorkflow) => Promise<T>): Promise<T | null> {
    return this.#database.snapshot(async (client) => {
      const [row] = await rowsOf<WorkflowHead & { readonly edges: number }>(client, sql.readWorkflow, [id, tenant])
      if (!row) return null
      const [named] = await rowsOf<Pick<FoundWorkflow, 'ids' | 'names'>>(client, sql.readNames, [id])
      const perNode = Math.max(1, row.edges / row.nodes)
      const count = Math.max(1, Math.min(partNodes, Math.floor(partEdges / perNode)))
      return read({
        workflow: row,
        ids: named?.ids ?? '',
        names: named?.names ?? [],
        parts: partsOf(client, id, count),
      })
    })
  }

  /** How many run, up to a bound. */
  async countOpen(): Promise<number> {
    const [row] = await this.#database.list<{ open: number }>(sql.countOpen, [maxCounted])
    return row?.open ?? 0
  }

  /** One page, from one snapshot. It may be short, or empty, and yet not the last one: see `next`. */
  async page(filters: WorkflowFilters, { after, limit }: PageRequest): Promise<Page<WorkflowSummary>> {
    const { tenant, name, status, createdAfterMs, createdBeforeMs } = filters
    const instants = [createdAfterMs, createdBeforeMs].map((at) => (at === null ? null : new Date(at)))
    type Row = { readonly edge: Uuid | null } & ({ readonly id: null } | WorkflowSummary)
    const rows = await this.#database.list<Row>(sql.lists[driverOf(filters)], [
      ...idBounds(filters, after),
      ...[limit + 1, lookLimit, tenant, name, status, ...instants],
    ])
    const found = rows.flatMap((row) => (row.id === null ? [] : [summaryOf(row)]))
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : (rows[0]?.edge ?? null) }
  }
}

/** Cursors of a tenant's list hold that tenant's ids alone: it is walked by the tenant. */
function driverOf({ tenant, status }: WorkflowFilters): sql.WorkflowDriver {
  if (tenant !== null) return 'tenant'
  return status === null || status === 'SUCCEEDED' ? 'all' : 'status'
}

function summaryOf({ edge: _, ...summary }: WorkflowSummary & { readonly edge: unknown }): WorkflowSummary {
  return summary
}

async function* partsOf(client: Connection, id: Uuid, count: number): AsyncGenerator<readonly NodeRow[], void> {
  await rowsOf(client, sql.openNodes, [id])
  for (let isLast = false; !isLast; ) {
    const rows = await rowsOf<Omit<NodeRow, 'error'> & ErrorColumns>(client, sql.fetchNodes(count), [])
    isLast = rows.length < count
    yield rows.map(nodeOf)
  }
}

function nodeOf({ errorClass, errorMessage, errorStack, ...node }: Omit<NodeRow, 'error'> & ErrorColumns): NodeRow {
  return { ...node, error: errorOf({ errorClass, errorMessage, errorStack }) }
}
