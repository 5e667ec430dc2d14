import { judgeNode, type Uuid } from '@duly/domain'
import type { HandOffs, Slots } from '../dispatch/hand-offs.js'
import type { Connection } from '../store/database.js'
import type { SettleStore } from '../store/settle-store.js'
import type {
  ClosedWorkflow,
  EndedNode,
  LockedWorkflow,
  NodeEnding,
  ReadyNode,
  ToldNode,
  UnblockedNode,
  WaitingEnd,
} from '../store/workflow-rows.js'
import { type Sweep, Sweeps } from './sweeps.js'
import { verdictsOf } from './verdicts.js'

/** What a transaction did to workflows beside the ends that it began with; told to whoever it concerns after the commit. */
export interface Settled {
  /** Nodes that were judged to run; some run already. */
  readonly unblocked: readonly UnblockedNode[]
  /** Nodes that ended without having run: skipped, failed for their dependencies, cancelled. */
  readonly ended: readonly EndedNode[]
  /** Sessions whose running attempts were marked. */
  readonly stopping: readonly Uuid[]
  readonly closed: readonly ClosedWorkflow[]
  /** Workflows of which ends, or nodes that are to be cancelled, are left for the next transaction. */
  readonly unsettled: readonly Uuid[]
}

export interface SettlementOptions {
  readonly store: SettleStore
  /** The counters' slot that the transaction alone adds to. */
  readonly slot: number
  readonly locked: readonly LockedWorkflow[]
  /** Slots of waiting workers for what becomes ready. */
  readonly handOffs: HandOffs
  readonly workers: Pick<Slots, 'isAnyoneWaiting'>
}

/** Ends that are passed on in one statement … */
const endsAtOnce = 500
/** … of workflows that have so many nodes together: what one statement can touch. */
const nodesAtOnce = 20_000
/** How far one transaction goes down the graph, and how many children it looks at; what is left is the next one's. */
const maxRounds = 64
const maxTold = 2_000
/**
 * What so few ends make ready goes straight to a worker that waits: the next step is quick. Where ends come by the dozen, workers are
 * busy, and one claim of many tasks costs less than many answers of one.
 */
const fewEnds = 8
/** An edit replaces the open row of a node: who meets one looks again, and finds the new row. */
const maxTries = 20

/**
 * What ends mean for the rest of their workflows, within one transaction that holds their locks: children are told and judged, those
 * that will not run end in turn and tell their own, down the graph; at last the workflows are tallied, and those without an open node
 * closed. So an end and all that it brings about are one commit.
 */
export class Settlement {
  readonly #client: Connection
  readonly #store: SettleStore
  readonly #slot: number
  readonly #handOffs: HandOffs
  readonly #workers: SettlementOptions['workers']
  /** One statement of a transaction grants: two would lock sessions in no order that all keep. */
  #mayHandOff = true
  readonly #workflows: Map<Uuid, LockedWorkflow>
  readonly #cancelling = new Set<Uuid>()
  readonly #sweeps: Sweeps
  readonly #gone = new Set<Uuid>()
  readonly #tallies = new Map<Uuid, { ended: number; failed: number; hasSucceeded: boolean }>()
  readonly #told = { unblocked: [] as UnblockedNode[], ended: [] as EndedNode[], stopping: new Set<Uuid>() }
  #queue: NodeEnding[] = []

  constructor(client: Connection, options: SettlementOptions) {
    this.#client = client
    this.#store = options.store
    this.#slot = options.slot
    this.#handOffs = options.handOffs
    this.#workers = options.workers
    this.#sweeps = new Sweeps(client, options)
    this.#workflows = new Map(options.locked.map((workflow) => [workflow.id, workflow]))
    for (const { id, cancelRequested } of options.locked) if (cancelRequested) this.#cancelling.add(id)
  }

  /** Ends that this transaction brought about: they count in the tally. */
  async began(ends: readonly NodeEnding[]): Promise<void> {
    this.#ended(ends)
    const failing = ends.filter(({ workflowId, kind }) => kind === 'failed' && this.#isFailFast(workflowId))
    const swept = [...new Set(failing.map(({ workflowId }) => workflowId))]
    if (swept.length > 0) await this.sweep(swept, { actor: 'workflow', reason: 'workflow_failed' })
  }

  /** Ends that stand at their nodes already and were left to be passed on. */
  goOn(ends: readonly NodeEnding[]): void {
    this.#queue.push(...ends)
  }

  /** The transaction gave the workflow so many nodes more. */
  grew(id: Uuid, nodes: number): void {
    const workflow = this.#workflows.get(id)
    if (workflow) this.#workflows.set(id, { ...workflow, nodes: workflow.nodes + nodes, open: workflow.open + nodes })
  }

  /** The transaction opened so many nodes again, of which so many had failed; a cancellation that was asked for before is over. */
  resumed(id: Uuid, { opened, unfailed }: { readonly opened: number; readonly unfailed: number }): void {
    const workflow = this.#workflows.get(id)
    if (!workflow) return
    const { open, failed } = workflow
    this.#workflows.set(id, { ...workflow, status: 'RUNNING', open: open + opened, failed: failed - unfailed })
    this.#cancelling.delete(id)
  }

  /** Where verdicts of this transaction have brought nodes so far. */
  statuses(): ReadonlyMap<Uuid, UnblockedNode['status'] | EndedNode['status']> {
    const { unblocked, ended } = this.#told
    return new Map([...unblocked, ...ended].map(({ id, status }) => [id, status] as const))
  }

  /** Judges nodes whose parents are counted already. */
  async judge(told: readonly ToldNode[]): Promise<void> {
    const run: ToldNode[] = []
    const ends: WaitingEnd[] = []
    for (const node of told) {
      // what is being swept neither starts nor ends in another way
      if (this.#gone.has(node.id) || this.#sweeps.isUnderWay(node.workflowId)) continue
      const verdict = judgeNode(node.triggerRule, node)
      if (verdict === 'run') run.push(node)
      else if (verdict === 'skip') ends.push({ id: node.id, how: 'skip', reason: 'skipped' })
      else if (verdict === 'fail') ends.push({ id: node.id, how: 'upstream_fail', reason: 'dependency' })
    }
    await this.unblock(this.#offered(run))
    const ended = await this.#all(ends, (some) =>
      this.#store.endWaiting(this.#client, some, { actor: 'dependency', slot: this.#slot }),
    )
    this.#told.ended.push(...ended)
    await this.began(ended.map(endingOf))
  }

  /** Nodes that are to run: with a worker's slot at once, else ready, or due at their own time. */
  async unblock(nodes: readonly ReadyNode[]): Promise<void> {
    const unblocked = await this.#all(nodes, (some) => this.#store.unblock(this.#client, some, this.#slot))
    this.#told.unblocked.push(...unblocked)
  }

  /** In the order of their ids, which is that of the graph: so they start, as from their lane. */
  #offered(nodes: readonly ToldNode[]): ReadyNode[] {
    const inOrder = [...nodes].sort((a, b) => (a.id < b.id ? -1 : 1))
    const offered = inOrder.map(({ id, lane }) => ({
      id,
      handoff: this.#mayHandOff && lane !== null ? this.#handOffs.offer({ id, ...lane }) : null,
    }))
    if (offered.some(({ handoff }) => handoff !== null)) this.#mayHandOff = false
    return offered
  }

  /** Cancels everything that is open: what waits at once; what runs is marked, and its end waited for. */
  async sweep(workflows: readonly Uuid[], sweep: Sweep): Promise<void> {
    for (const id of workflows) {
      if (sweep.reason === 'workflow_cancelled') this.#cancelling.add(id)
      this.#sweeps.begin(id, sweep)
    }
    await this.sweepOn()
  }

  /** Goes on with sweeps that were begun here or before. Answers whether nothing is left of them. */
  async sweepOn(): Promise<boolean> {
    const { ended, stopping } = await this.#sweeps.goOn()
    this.#told.ended.push(...ended)
    this.#ended(ended.map(endingOf))
    for (const session of stopping) this.#told.stopping.add(session)
    return !this.#sweeps.isAnyLeft
  }

  /** Down the graph, as far as one transaction goes; then the tally. */
  async finish(): Promise<Settled> {
    let told = 0
    // nobody waits for these before the sweep is through: that many workflows are swept together costs no more than their nodes
    const later = this.#queue.filter(({ workflowId }) => this.#sweeps.isLeft(workflowId))
    if (later.length > 0) this.#queue = this.#queue.filter(({ workflowId }) => !this.#sweeps.isLeft(workflowId))
    for (let round = 0; this.#queue.length > 0 && round < maxRounds && told < maxTold; round++) {
      const ends = this.#take()
      const withLanes = this.#mayHandOff && ends.length <= fewEnds && this.#workers.isAnyoneWaiting()
      const children = await this.#store.passOn(this.#client, ends, withLanes)
      told += children.length
      await this.judge(children)
    }
    const left = [...this.#queue, ...later]
    if (left.length > 0) await this.#store.putOff(this.#client, left)
    const sweeping = await this.#sweeps.keep(
      (id) => this.#workflows.get(id)?.open === (this.#tallies.get(id)?.ended ?? 0),
    )
    const closed = await this.#tally()
    const { unblocked, ended, stopping } = this.#told
    const unsettled = [...new Set([...left.map(({ workflowId }) => workflowId), ...sweeping])]
    return { unblocked, ended, stopping: [...stopping], closed, unsettled }
  }

  #isFailFast(workflow: Uuid): boolean {
    return this.#workflows.get(workflow)?.failurePolicy === 'fail_fast'
  }

  #ended(ends: readonly NodeEnding[]): void {
    for (const { id, workflowId, kind } of ends) {
      this.#gone.add(id)
      const tally = this.#tallies.get(workflowId) ?? { ended: 0, failed: 0, hasSucceeded: false }
      this.#tallies.set(workflowId, tally)
      tally.ended++
      if (kind === 'failed') tally.failed++
      if (kind === 'succeeded') tally.hasSucceeded = true
    }
    this.#queue.push(...ends)
  }

  /** The next ends that one statement passes on. */
  #take(): NodeEnding[] {
    const workflows = new Set<Uuid>()
    let nodes = 0
    let count = 0
    for (const { workflowId } of this.#queue) {
      if (!workflows.has(workflowId)) {
        nodes += this.#workflows.get(workflowId)?.nodes ?? 0
        if (count > 0 && nodes > nodesAtOnce) break
        workflows.add(workflowId)
      }
      if (++count === endsAtOnce) break
    }
    const taken = this.#queue.slice(0, count)
    this.#queue = this.#queue.slice(count)
    return taken
  }

  /** Writes until all rows have landed: one that is missing was replaced by an edit. */
  async #all<I extends { readonly id: Uuid }, O extends { readonly id: Uuid }>(
    wanted: readonly I[],
    write: (some: readonly I[]) => Promise<O[]>,
  ): Promise<O[]> {
    const landed: O[] = []
    let left = wanted
    for (let attempt = 1; left.length > 0; attempt++) {
      if (attempt > maxTries) throw new Error(`nodes that are to be judged are not BLOCKED: ${left[0]?.id}`)
      const some = await write(left)
      landed.push(...some)
      const ids = new Set(some.map(({ id }) => id))
      left = left.filter(({ id }) => !ids.has(id))
    }
    return landed
  }

  async #tally(): Promise<readonly ClosedWorkflow[]> {
    const counted = [...this.#tallies].flatMap(([id, tally]) => {
      const workflow = this.#workflows.get(id)
      if (!workflow) throw new Error(`a node of workflow ${id} ended without its lock`)
      return [{ workflow, ...tally }]
    })
    if (counted.length === 0) return []
    const closing = counted
      .filter(({ workflow, ended }) => workflow.open === ended)
      .map(({ workflow, failed, hasSucceeded }) => ({
        ...workflow,
        failed: workflow.failed + failed,
        cancelRequested: this.#cancelling.has(workflow.id),
        hasSucceeded,
      }))
    const verdicts = await verdictsOf(closing, (ids) => this.#store.verdictFacts(this.#client, ids))
    return this.#store.tally(
      this.#client,
      counted.map(({ workflow: { id }, ended, failed }) => ({ id, ended, failed, status: verdicts.get(id) ?? null })),
    )
  }
}

/** A node that ended while it waited, as its children are told of it. */
export function endingOf({ id, workflowId, status, reason }: EndedNode): NodeEnding {
  const kind = status === 'FAILED' ? 'failed' : reason === 'skipped' ? 'skipped' : 'cancelled'
  return { id, workflowId, kind, isNoted: false }
}
