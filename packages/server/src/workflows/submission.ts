import { type Clock, type IdMinter, partitionOf, partitionOfKey, type Uuid } from '@duly/domain'
import { Batcher } from '../base/batcher.js'
import { busy } from '../base/busy.js'
import { HandOffs, handedOff, isDue, isUnsure, type Reserve } from '../dispatch/hand-offs.js'
import type { NewTask, NewWorkflow, SubmittedWorkflow } from '../model.js'
import type { TakenTask } from '../queue/port.js'
import type { PlacedTask } from '../store/intake-store.js'
import type { MintedNode, MintedWorkflow } from '../store/workflow-rows.js'
import type { CommittedWorkflows, WorkflowCommitter } from './committer.js'

export interface SubmissionOptions {
  readonly committer: WorkflowCommitter
  readonly ensureNames: (tasks: readonly Pick<NewTask, 'queue' | 'taskType' | 'boundTo'>[]) => Promise<void>
  readonly minter: IdMinter
  readonly partitions: number
  readonly clock: Clock
  /** Slots of `counters`: of groups of small workflows, and of large ones. */
  readonly groupSlots: readonly number[]
  readonly largeSlots: readonly number[]
  /** A waiting worker's slot for a task that is due now, or null. */
  readonly reserve: Reserve
  /** Told of every commit. */
  readonly onCommitted: (nodes: readonly MintedNode[], placed: readonly PlacedTask[], tookMs: number) => void
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
    const lane = (slots: readonly number[], reserve: Reserve): Batcher<NewWorkflow, SubmittedWorkflow> =>
      new Batcher({
        ...{ ...shared, lanes: slots.length },
        run: (some, lane) => this.#commit(some, slots[lane] as number, new HandOffs(reserve)),
      })
    this.#small = lane(options.groupSlots, options.reserve)
    // a long transaction must not hold up the claims of the workers it hands to
    this.#large = lane(options.largeSlots, () => null)
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

  async #commit(
    workflows: readonly NewWorkflow[],
    slot: number,
    handOffs: HandOffs,
  ): Promise<readonly (SubmittedWorkflow | Error)[]> {
    const { committer, clock, onCommitted } = this.#options
    const rows = workflows.map((workflow) => this.#mint(workflow, handOffs))
    const beganMs = clock.monotonicMs()
    const committed = await committer.commit(rows, slot).catch((error: unknown) => {
      handOffs.end(isUnsure(error) ? 'unknown' : null)
      throw error
    })
    settle(handOffs, rows, committed)
    const { results, placed } = committed
    if (placed.length > 0) {
      const nodes = rows.flatMap((row) => row.nodes)
      onCommitted(nodes, placed, clock.monotonicMs() - beganMs)
    }
    return results
  }

  /** All ids are of one partition, that of the key; those of the nodes rise in the order given, so that equal instants keep it. */
  #mint(workflow: NewWorkflow, handOffs: HandOffs): MintedWorkflow {
    const { minter, partitions } = this.#options
    const { tenant, idempotencyKey: key, nodes, scheduledAtMs } = workflow
    const place = key === null ? minter.drawPartition() : partitionOfKey(tenant, key, partitions)
    const [id, ...ids] = minter.mintMany(place, nodes.length + 1) as [Uuid, ...Uuid[]]
    const minted = nodes.map((node, position): MintedNode => {
      const nodeId = ids[position] as Uuid
      const { queue, taskType } = node.task
      const isReady = scheduledAtMs === null && node.dependencies.length === 0 && isDue(node.task)
      return {
        ...{ id: nodeId, workflowId: id, partition: partitionOf(id), position, node },
        parents: node.dependencies.map((dependency) => ids[dependency] as Uuid),
        startAtMs: scheduledAtMs,
        handoff: isReady ? handOffs.offer({ id: nodeId, queue, taskType, tenant }) : null,
      }
    })
    return { id, workflow, nodes: minted }
  }
}

/** The commit's word on each slot that was promised. */
function settle(handOffs: HandOffs, rows: readonly MintedWorkflow[], { results, placed }: CommittedWorkflows): void {
  if (handOffs.isNone) return
  const places = new Map(placed.map((place) => [place.id, place]))
  for (const [index, { nodes }] of rows.entries()) {
    const rest = isUnsure(results[index]) ? 'unknown' : null
    for (const minted of nodes) {
      if (minted.handoff === null) continue
      const place = places.get(minted.id)
      const taken = place?.status === 'RUNNING' ? takenOf(minted, place) : null
      handOffs.settle(minted.id, taken ?? (place === undefined ? rest : null))
    }
  }
}

const takenOf = ({ node, workflowId, ...row }: MintedNode, place: PlacedTask): TakenTask =>
  handedOff({ ...row, task: node.task }, place, { workflowId, name: node.name })

function weightOf({ nodes }: NewWorkflow): number {
  return nodes.reduce((sum, { task }) => sum + Math.max(nodeBytes, task.payload.length), 0)
}
