import type { Uuid } from '@duly/domain'
import { groupBy } from '../base/group-by.js'
import type { SubmittedWorkflow } from '../model.js'
import { type Committed, commit, commitEach, statementsOf } from '../store/commits.js'
import type { Connection, Database } from '../store/database.js'
import { answerLoser, isSameRequest, losersOf } from '../store/idempotency.js'
import { type IntakeStore, type PlacedTask, toldStatus } from '../store/intake-store.js'
import { bytesOfNode, type MintedWorkflow, type StandingNode } from '../store/workflow-rows.js'
import type { WorkflowStore } from '../store/workflow-store.js'

/** What a commit did: one result a workflow, and where the nodes of those that are new stand. */
export type CommittedWorkflows = Committed<SubmittedWorkflow, PlacedTask>

export interface WorkflowCommitterOptions {
  readonly database: Database
  readonly store: WorkflowStore
  readonly intake: IntakeStore
}

type Answers = ReadonlyMap<Uuid, SubmittedWorkflow | Error>

/**
 * Writes workflows so that each is there as a whole exactly if its result says so: their rows in the order of their keys, then the nodes
 * of those whose key is free.
 */
export class WorkflowCommitter {
  readonly #options: WorkflowCommitterOptions

  constructor(options: WorkflowCommitterOptions) {
    this.#options = options
  }

  /** Each succeeds or fails for itself. `slot` names the counters that this writer alone adds to. */
  commit(rows: readonly MintedWorkflow[], slot: number): Promise<CommittedWorkflows> {
    const { database, intake } = this.#options
    return commitEach(rows, 'workflow', (some) =>
      commit({
        ids: some.map(({ id }) => id),
        write: () => database.transaction((client) => this.#write(client, some, slot)),
        makeDays: (instantsMs) => intake.makeDays(instantsMs),
        lookUp: () => this.#lookUp(some),
      }),
    )
  }

  async #write(client: Connection, rows: readonly MintedWorkflow[], slot: number): Promise<CommittedWorkflows> {
    const { store } = this.#options
    const made = await store.insertWorkflows(client, rows)
    const placed: PlacedTask[] = []
    const nodes = rows.filter(({ id }) => made.has(id)).flatMap((row) => row.nodes)
    for (const some of statementsOf(nodes, bytesOfNode)) placed.push(...(await store.insertNodes(client, some, slot)))
    const answers = await this.#answerLosers(
      client,
      rows.filter(({ id }) => !made.has(id)),
    )
    const statuses = new Map(placed.map(({ id, status }) => [id, toldStatus(status)]))
    return {
      placed,
      results: rows.map((row) => answers.get(row.id) ?? submitted(row, (id) => statuses.get(id) ?? 'PENDING')),
    }
  }

  /** Those that lost their key are answered with the workflow that holds it. */
  async #answerLosers(client: Connection, lost: readonly MintedWorkflow[]): Promise<Answers> {
    if (lost.length === 0) return new Map()
    const { store } = this.#options
    const losers = losersOf(lost, ({ workflow }) => workflow, await store.keyHolders(client, lost))
    const repeated = lost.flatMap(({ id, workflow }) => {
      const holder = losers.get(id)
      return holder && isSameRequest(workflow, holder) ? [holder.id] : []
    })
    const workflows = groupBy(await store.standingWithin(client, [...new Set(repeated)]), ({ id }) => id)
    return new Map(
      lost.map(({ id, workflow }) => {
        const holder = losers.get(id) ?? null
        const nodes = holder ? workflows.get(holder.id) : undefined
        return [id, answerLoser(workflow, holder, { kind: 'wf', told: nodes && told(nodes) })]
      }),
    )
  }

  async #lookUp(rows: readonly MintedWorkflow[]): Promise<CommittedWorkflows | null> {
    const { store, database } = this.#options
    const found = groupBy(await store.standing(rows.map(({ id }) => id)), ({ id }) => id)
    if (found.size === 0) return null
    // the commit stands, so one that is missing had lost its key
    const missing = rows.filter(({ id }) => !found.has(id))
    const answers =
      missing.length === 0 ? new Map() : await database.withHot((client) => this.#answerLosers(client, missing))
    const results = rows.map(
      ({ id }) => answers.get(id) ?? { ...told((found.get(id) ?? []).map(asSubmitted)), replayed: false },
    )
    return { placed: [], results }
  }
}

function submitted(
  { id, nodes }: MintedWorkflow,
  statusOf: (id: Uuid) => SubmittedWorkflow['nodes'][number]['status'],
): SubmittedWorkflow {
  const standing = nodes.map(({ id, node }) => ({ name: node.name, id, status: statusOf(id) }))
  return { id, status: 'RUNNING', replayed: false, nodes: standing }
}

const asSubmitted = (row: StandingNode): StandingNode => ({ ...row, nodeStatus: toldStatus(row.nodeStatus) })

function told(rows: readonly StandingNode[]): Omit<SubmittedWorkflow, 'replayed'> {
  const [{ id, status }] = rows as [StandingNode]
  const inOrder = [...rows].sort((a, b) => a.position - b.position)
  return {
    id,
    status,
    nodes: inOrder.map(({ name, nodeId, nodeStatus }) => ({ name, id: nodeId, status: nodeStatus })),
  }
}
