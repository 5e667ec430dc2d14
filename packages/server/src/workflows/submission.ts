import { type Clock, type IdMinter, partitionOf, partitionOfKey, type Uuid } from '@duly/domain'
import { Batcher } from '../base/batcher.js'
import { busy } from '../base/busy.js'
import type { NewTask, NewWorkflow, SubmittedWorkflow } from '../model.js'
import type { MintedNode, MintedWorkflow } from '../store/workflow-rows.js'
import type { PlacedNode } from '../store/workflow-store.js'
import type { WorkflowCommitter } from './committer.js'

export interface SubmissionOptions {
  readonly committer: WorkflowCommitter
  readonly ensureNames: (tasks: readonly Pick<NewTask, 'queue' | 'taskType' | 'boundTo'>[]) => Promise<void>
  readonly minter: IdMinter
  readonly partitions: number
  readonly clock: Clock
  /** Slots of `counters`: of groups of small workflows, and of large ones. */
  readonly groupSlots: readonly number[]
  readonly largeSlots: readonly number[]
  /** Told of every commit. */
  readonly onCommitted: (nodes: readonly MintedNode[], placed: readonly PlacedNode[], tookMs: number) => void
}

/** What one transaction of small workflows has: so many nodes, or bytes of payloads. */
const maxNodes = 500
const maxBytes = 8 * 1024 * 1024
/** A node weighs as much of the bytes as it takes of the nodes, so that one limit bounds both. */
const nodeBytes = maxBytes / maxNodes
/** Workflows that may wait for a commit, and what they may weigh together (I10): some 30,000 nodes, or 512 MiB. */
const full = { items: 10_000, bytes: 512 * 1024 * 1024 }

/**
 * Accepts workflows: small ones that come at the same time share a commit, a large one stands alone and holds up no small one. Nothing
 * is answered before its commit (I1).
 */
export class WorkflowSubmission {
  readonly #options: SubmissionOptions
  readonly #small: Batcher<NewWorkflow, SubmittedWorkflow>
  readonly #large: Batcher<NewWorkflow, SubmittedWorkflow>

  constructor(options: SubmissionOptions) {
    this.#options = options
    const shared = { maxItems: maxNodes, maxBytes, full, sizeOf: weightOf }
    const lane = (slots: readonly number[]): Batcher<NewWorkflow, SubmittedWorkflow> =>
      new Batcher({ ...shared, lanes: slots.length, run: (some, lane) => this.#commit(some, slots[lane] as number) })
    this.#small = lane(options.groupSlots)
    this.#large = lane(options.largeSlots)
  }

  async submit(workflow: NewWorkflow): Promise<SubmittedWorkflow> {
    const lane = weightOf(workflow) > maxBytes ? this.#large : this.#small
    if (lane.isFull) throw busy('submissions')
    const { boundTo, nodes } = workflow
    await this.#options.ensureNames(nodes.map(({ task }) => ({ ...task, boundTo })))
    return lane.add(workflow)
  }

  async drained(): Promise<void> {
    await Promise.all([this.#small.drained(), this.#large.drained()])
  }

  async #commit(workflows: readonly NewWorkflow[], slot: number): Promise<readonly (SubmittedWorkflow | Error)[]> {
    const { committer, clock, onCommitted } = this.#options
    const rows = workflows.map((workflow) => this.#mint(workflow))
    const beganMs = clock.monotonicMs()
    const { results, placed } = await committer.commit(rows, slot)
    if (placed.length > 0) {
      const nodes = rows.flatMap((row) => row.nodes)
      onCommitted(nodes, placed, clock.monotonicMs() - beganMs)
    }
    return results
  }

  /** All ids are of one partition, that of the key; those of the nodes rise in the order given, so that equal instants keep it. */
  #mint(workflow: NewWorkflow): MintedWorkflow {
    const { minter, partitions } = this.#options
    const { tenant, idempotencyKey: key, nodes, scheduledAtMs } = workflow
    const place = key === null ? minter.drawPartition() : partitionOfKey(tenant, key, partitions)
    const [id, ...ids] = minter.mintMany(place, nodes.length + 1) as [Uuid, ...Uuid[]]
    const minted = nodes.map(
      (node, position): MintedNode => ({
        ...{ id: ids[position] as Uuid, workflowId: id, partition: partitionOf(id), position, node },
        parents: node.dependencies.map((dependency) => ids[dependency] as Uuid),
        startAtMs: scheduledAtMs,
      }),
    )
    return { id, workflow, nodes: minted }
  }
}

function weightOf({ nodes }: NewWorkflow): number {
  return nodes.reduce((sum, { task }) => sum + Math.max(nodeBytes, task.payload.length), 0)
}
