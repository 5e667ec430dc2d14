import { DulyError, encodeId, timestampMsOf, type Uuid } from '@duly/domain'
import { groupBy } from '../base/group-by.js'
import type { SubmittedWorkflow } from '../model.js'
import type { Connection, Database } from '../store/database.js'
import { asDulyError, faultKind, isUnknownOutcome, UnsettledOutcome } from '../store/faults.js'
import type { IntakeStore } from '../store/intake-store.js'
import type { MintedNode, MintedWorkflow, StandingNode, WorkflowKeyHolder } from '../store/workflow-rows.js'
import type { PlacedNode, WorkflowStore } from '../store/workflow-store.js'

/** What a commit did: one result a workflow, and where the nodes of those that are new stand. */
export interface CommittedWorkflows {
  readonly results: readonly (SubmittedWorkflow | Error)[]
  readonly placed: readonly PlacedNode[]
}

export interface WorkflowCommitterOptions {
  readonly database: Database
  readonly store: WorkflowStore
  readonly intake: IntakeStore
  /** Nodes of one statement. */
  readonly chunkRows: number
  readonly chunkBytes: number
}

const maxTries = 4
const nothing = { placed: [] } as const

/**
 * Writes workflows so that each is there as a whole exactly if its result says so: their rows in the order of their keys, then the nodes
 * of those whose key is free. A day that has no partition is made; a data error splits the group until the guilty one stands alone; a
 * commit that got no answer is looked up by its ids.
 */
export class WorkflowCommitter {
  readonly #options: WorkflowCommitterOptions

  constructor(options: WorkflowCommitterOptions) {
    this.#options = options
  }

  /** Each succeeds or fails for itself. `slot` names the counters that this writer alone adds to. */
  async commit(rows: readonly MintedWorkflow[], slot: number): Promise<CommittedWorkflows> {
    try {
      return await this.#retrying(rows, slot)
    } catch (error) {
      if (faultKind(error) !== 'data') throw asDulyError(error)
      if (rows.length === 1) return { ...nothing, results: [refused(error)] }
      const middle = rows.length >> 1
      const first = await this.#commitHalf(rows.slice(0, middle), slot)
      const second = await this.#commitHalf(rows.slice(middle), slot)
      return { results: [...first.results, ...second.results], placed: [...first.placed, ...second.placed] }
    }
  }

  /** A half that fails as a whole says nothing about the other one, which may be committed. */
  async #commitHalf(rows: readonly MintedWorkflow[], slot: number): Promise<CommittedWorkflows> {
    return this.commit(rows, slot).catch((error: unknown) => {
      if (!(error instanceof Error)) throw error
      return { ...nothing, results: rows.map(() => error) }
    })
  }

  async #retrying(rows: readonly MintedWorkflow[], slot: number): Promise<CommittedWorkflows> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#options.database.transaction((client) => this.#write(client, rows, slot))
      } catch (error) {
        const kind = faultKind(error)
        if (attempt < maxTries && kind === 'transient') continue
        if (attempt < maxTries && kind === 'missing_day') {
          await this.#options.intake.makeDays(rows.map(({ id }) => timestampMsOf(id)))
          continue
        }
        if (error instanceof UnsettledOutcome) throw commitUnknown(error)
        if (error instanceof DulyError || !isUnknownOutcome(error)) throw error
        return await this.#lookUp(rows, error)
      }
    }
  }

  async #write(client: Connection, rows: readonly MintedWorkflow[], slot: number): Promise<CommittedWorkflows> {
    const { store } = this.#options
    const made = await store.insertWorkflows(client, rows)
    const placed: PlacedNode[] = []
    for (const chunk of this.#chunks(rows.filter(({ id }) => made.has(id)).flatMap(({ nodes }) => nodes))) {
      placed.push(...(await store.insertNodes(client, chunk, slot)))
    }
    const lost = rows.filter(({ id }) => !made.has(id))
    const replays = lost.length > 0 ? await this.#replays(client, lost) : null
    const statuses = new Map(placed.map(({ id, status }) => [id, status]))
    return {
      placed,
      results: rows.map((row) => replays?.get(row.id) ?? submitted(row, (id) => statuses.get(id) ?? 'PENDING')),
    }
  }

  *#chunks(nodes: readonly MintedNode[]): Generator<MintedNode[]> {
    let chunk: MintedNode[] = []
    let bytes = 0
    for (const each of nodes) {
      const size = each.node.task.payload.length
      if (chunk.length > 0 && (chunk.length >= this.#options.chunkRows || bytes + size > this.#options.chunkBytes)) {
        yield chunk
        chunk = []
        bytes = 0
      }
      chunk.push(each)
      bytes += size
    }
    if (chunk.length > 0) yield chunk
  }

  /** Those that lost their key are answered with the workflow that holds it, if it was the same request. */
  async #replays(
    client: Connection,
    lost: readonly MintedWorkflow[],
  ): Promise<ReadonlyMap<Uuid, SubmittedWorkflow | Error>> {
    const { store } = this.#options
    const holders = await store.keyHolders(client, lost)
    const byKey = new Map(holders.map((holder) => [keyOf(holder.tenant, holder.key), holder]))
    const holderOf = ({ workflow }: MintedWorkflow): WorkflowKeyHolder | undefined =>
      byKey.get(keyOf(workflow.tenant, workflow.idempotencyKey ?? ''))
    const same = lost.filter((row) => isSame(row, holderOf(row)))
    const standing = await store.standingWithin(client, [...new Set(same.map((row) => holderOf(row)?.id ?? row.id))])
    const workflows = groupBy(standing, ({ id }) => id)
    return new Map(
      lost.map((row) => {
        const holder = holderOf(row)
        if (!holder) return [row.id, keyVanished()]
        if (!isSame(row, holder)) return [row.id, conflict(holder)]
        const nodes = workflows.get(holder.id)
        return [row.id, nodes ? { ...told(nodes), replayed: true } : keyVanished()]
      }),
    )
  }

  /** The connection broke after the rows were sent: were they stored? */
  async #lookUp(rows: readonly MintedWorkflow[], cause: unknown): Promise<CommittedWorkflows> {
    const { store, database } = this.#options
    const unknown = (): never => {
      throw commitUnknown(cause)
    }
    const found = groupBy(await store.standing(rows.map(({ id }) => id)).catch(unknown), ({ id }) => id)
    if (found.size === 0) throw cause
    // the commit stands, so one that is missing had lost its key
    const missing = rows.filter(({ id }) => !found.has(id))
    const replays =
      missing.length === 0 ? null : await database.withHot((client) => this.#replays(client, missing)).catch(unknown)
    const results = rows.map(({ id }) => replays?.get(id) ?? { ...told(found.get(id) ?? []), replayed: false })
    return { ...nothing, results }
  }
}

function submitted(
  { id, nodes }: MintedWorkflow,
  statusOf: (id: Uuid) => SubmittedWorkflow['nodes'][number]['status'],
): SubmittedWorkflow {
  const standing = nodes.map(({ id, node }) => ({ name: node.name, id, status: statusOf(id) }))
  return { id, status: 'RUNNING', replayed: false, nodes: standing }
}

function told(rows: readonly StandingNode[]): Omit<SubmittedWorkflow, 'replayed'> {
  const [{ id, status }] = rows as [StandingNode]
  const inOrder = [...rows].sort((a, b) => a.position - b.position)
  return {
    id,
    status,
    nodes: inOrder.map(({ name, nodeId, nodeStatus }) => ({ name, id: nodeId, status: nodeStatus })),
  }
}

const keyOf = (tenant: string, key: string): string => `${tenant.length} ${tenant} ${key}`

const isSame = ({ workflow }: MintedWorkflow, holder: WorkflowKeyHolder | undefined): boolean =>
  holder !== undefined && (workflow.requestHash?.equals(holder.requestHash) ?? false)

function conflict(holder: WorkflowKeyHolder): DulyError {
  return new DulyError(
    'idempotency_conflict',
    `The idempotency key was used for a different request, which made ${encodeId('wf', holder.id)}.`,
  )
}

function commitUnknown(cause: unknown): DulyError {
  const detail =
    'The connection broke during the commit and the outcome could not be read. Repeat with the same idempotency key.'
  return new DulyError('commit_unknown', detail, { retryAfterSeconds: 1, cause })
}

/** The key's holder went between two statements (its retention ended, or its transaction failed): the repeat will succeed. */
function keyVanished(): DulyError {
  return new DulyError(
    'store_unavailable',
    'The submission met another one with its key that did not last; try again.',
    { retryAfterSeconds: 1 },
  )
}

function refused(cause: unknown): DulyError {
  return new DulyError('invalid_request', 'The store refused a value of this workflow.', { cause })
}
