import {
  DulyError,
  decodeLease,
  type FieldError,
  type IdMinter,
  limits,
  partitionOf,
  type TaskStatus,
  type TenantScope,
  type Uuid,
} from '@duly/domain'
import type { AddedNodes, AddedWorkflowNode, NewTask, WorkflowAddition } from '../model.js'
import { statementsOf } from '../store/commits.js'
import type { PlacedTask } from '../store/intake-store.js'
import type { FoundNode, WorkflowChangeStore } from '../store/workflow-change-store.js'
import { bytesOfNode, type LockedWorkflow, type MintedNode } from '../store/workflow-rows.js'
import type { WorkflowStore } from '../store/workflow-store.js'
import type { NodeEnds, WorkflowTurn } from './node-ends.js'

export interface AdditionsOptions {
  readonly ends: NodeEnds
  readonly store: WorkflowStore
  readonly changes: WorkflowChangeStore
  readonly minter: IdMinter
  readonly ensureNames: (tasks: readonly Pick<NewTask, 'queue' | 'taskType' | 'boundTo'>[]) => Promise<void>
  /** Told of every commit. */
  readonly onCommitted: (nodes: readonly MintedNode[], placed: readonly PlacedTask[]) => void
}

interface Added {
  readonly nodes: readonly MintedNode[]
  readonly placed: readonly PlacedTask[]
  readonly answer: AddedNodes
}

/**
 * Nodes that a running task hangs behind itself or behind others that are there, or that start beside it. They carry its lease: a lost one
 * adds nothing (I4).
 */
export class Additions {
  readonly #options: AdditionsOptions

  constructor(options: AdditionsOptions) {
    this.#options = options
  }

  /** Null: there is no such workflow. */
  async add(id: Uuid, tenant: TenantScope, addition: WorkflowAddition): Promise<AddedNodes | null> {
    const { ends, ensureNames, onCommitted } = this.#options
    await ensureNames(addition.nodes.map(({ task }) => ({ ...task, boundTo: tenant })))
    const added = await ends.ofWorkflow(id, tenant, (turn) => this.#add(turn, addition))
    if (added === null) return null
    if (added.placed.length > 0) onCommitted(added.nodes, added.placed)
    return added.answer
  }

  async #add(turn: WorkflowTurn, addition: WorkflowAddition): Promise<Added> {
    const { client, settlement, slot } = turn
    const { store, changes } = this.#options
    const [workflow] = turn.locked as [LockedWorkflow]
    await this.#checkLease(turn, workflow, addition)
    const found = await this.#find(turn, workflow, addition)
    const fresh = addition.nodes.filter(({ name }) => !found.has(name))
    checkRoom(workflow, fresh, addition)
    const nodes = this.#mint(workflow, fresh, { found, addition })
    const placed: PlacedTask[] = []
    for (const some of statementsOf(nodes, bytesOfNode)) placed.push(...(await store.insertNodes(client, some, slot)))
    if (nodes.length > 0) {
      const edges = nodes.reduce((sum, { parents }) => sum + parents.length, 0)
      await changes.grow(client, workflow.id, { nodes: nodes.length, edges })
      settlement.grew(workflow.id, nodes.length)
      const ids = nodes.map(({ id }) => id)
      await settlement.judge(await changes.countEnded(client, ids))
    }
    const judged = settlement.statuses()
    const standing = new Map(placed.map(({ id, status }) => [id, judged.get(id) ?? status]))
    const minted = new Map(nodes.map(({ id, node }) => [node.name, id]))
    const answer = addition.nodes.map(({ name }) => {
      const known = found.get(name)
      if (known) return { name, id: known.id, status: known.status, isNew: false }
      const id = minted.get(name) as Uuid
      return { name, id, status: standing.get(id) as TaskStatus, isNew: true }
    })
    return { nodes, placed, answer: { nodes: answer } }
  }

  async #checkLease({ client }: WorkflowTurn, workflow: LockedWorkflow, { adder, lease }: WorkflowAddition) {
    const fence = decodeLease(lease)
    const held = fence && (await this.#options.changes.lockAdder(client, workflow.id, { id: adder, ...fence }))
    if (!held)
      throw new DulyError('lease_lost', 'The lease is not that of a running attempt of a task of this workflow.')
    // of one that failed fast the tasks that ran are marked; one that was replayed since is not
    const isEnding = workflow.cancelRequested || held.cancelReason === 'workflow_failed'
    if (isEnding) throw new DulyError('wrong_state', 'The workflow is being cancelled; nothing can be added to it.')
  }

  /** What is there by the names that the nodes have and depend on; a name of theirs that belongs to another body is refused. */
  async #find(
    { client }: WorkflowTurn,
    workflow: LockedWorkflow,
    { adder, nodes }: WorkflowAddition,
  ): Promise<ReadonlyMap<string, FoundNode>> {
    const names = new Set(nodes.flatMap(({ name, dependencies }) => [name, ...dependencies]))
    const rows = await this.#options.changes.findNodes(client, workflow.id, [...names])
    const found = new Map(rows.map((row) => [row.name, row]))
    const errors = nodes.flatMap((node, place): FieldError[] => {
      const known = found.get(node.name)
      if (!known || (known.addedBy === adder && known.requestHash?.equals(node.requestHash))) return []
      const whose =
        known.addedBy === adder
          ? 'was added by this task before, with another body; what it adds must be the same in each attempt, or have another name'
          : 'is another task of this workflow'
      return [{ path: `tasks[${place}].task_id`, message: `${JSON.stringify(node.name)} ${whose}` }]
    })
    if (errors.length === 0) return found
    throw new DulyError('idempotency_conflict', 'Names of these tasks belong to others. Nothing was added.', { errors })
  }

  #mint(
    workflow: LockedWorkflow,
    fresh: readonly AddedWorkflowNode[],
    { found, addition }: { readonly found: ReadonlyMap<string, FoundNode>; readonly addition: WorkflowAddition },
  ): MintedNode[] {
    const partition = partitionOf(workflow.id)
    const ids = this.#options.minter.mintMany(partition, fresh.length)
    const idOf = new Map<string, Uuid>([...found].map(([name, { id }]) => [name, id]))
    for (const [place, { name }] of fresh.entries()) idOf.set(name, ids[place] as Uuid)
    checkKnown(addition, idOf)
    return fresh.map((node, place) => ({
      ...{ id: ids[place] as Uuid, workflowId: workflow.id, partition, position: workflow.nodes + place },
      node: { name: node.name, task: { ...node.task, tenant: workflow.tenant }, triggerRule: node.triggerRule },
      parents: isBehindAdder(node) ? [addition.adder] : node.dependencies.map((each) => idOf.get(each) as Uuid),
      startAtMs: null,
      handoff: null,
      added: { by: addition.adder, requestHash: node.requestHash },
    }))
  }
}

const isBehindAdder = ({ dependencies, waitsForAdder }: AddedWorkflowNode): boolean =>
  waitsForAdder && dependencies.length === 0

function checkKnown({ nodes }: WorkflowAddition, idOf: ReadonlyMap<string, Uuid>): void {
  const errors = nodes.flatMap(({ dependencies }, node) =>
    dependencies.flatMap((name, place): FieldError[] =>
      idOf.has(name)
        ? []
        : [
            {
              path: `tasks[${node}].dependencies[${place}]`,
              message: `no task of this workflow is called ${JSON.stringify(name)}`,
            },
          ],
    ),
  )
  if (errors.length > 0)
    throw new DulyError('invalid_request', 'Dependencies are unknown. Nothing was added.', { errors })
}

function checkRoom(workflow: LockedWorkflow, fresh: readonly AddedWorkflowNode[], { nodes }: WorkflowAddition): void {
  const errors: FieldError[] = nodes.flatMap(({ namedTenant }, place) =>
    namedTenant === null || namedTenant === workflow.tenant
      ? []
      : [{ path: `tasks[${place}].metadata.tenant_id`, message: `must be the workflow's: ${workflow.tenant}` }],
  )
  const edges = fresh.reduce((sum, node) => sum + (isBehindAdder(node) ? 1 : node.dependencies.length), 0)
  if (workflow.nodes + fresh.length > limits.workflowMaxNodes) {
    errors.push({
      path: 'tasks',
      message: `a workflow has at most ${limits.workflowMaxNodes} tasks; this one has ${workflow.nodes}`,
    })
  } else if (workflow.edges + edges > limits.workflowMaxEdges) {
    const message = `a workflow has at most ${limits.workflowMaxEdges} dependencies; this one has ${workflow.edges}`
    errors.push({ path: 'tasks', message })
  }
  if (errors.length > 0) throw new DulyError('invalid_request', 'These tasks can not be added.', { errors })
}
