import { DulyError, planRetry, type TenantScope, type Uuid } from '@duly/domain'
import type { Note } from '../store/commits.js'
import type { Edge, RetryRow, WorkflowChangeStore } from '../store/workflow-change-store.js'
import type { LockedWorkflow } from '../store/workflow-rows.js'
import type { NodeEnds, WorkflowTurn } from './node-ends.js'

/** Who runs nodes again, and which: all that failed or was cancelled, unless some are named. */
interface Reopen {
  readonly actor: string
  readonly named: ReadonlySet<Uuid> | null
  /** Those alone that ended by this instant; null: whenever. */
  readonly endedByMs: number | null
}

const always = { endedByMs: null } as const

/** Runs nodes of workflows again, and what they blocked, in one transaction that holds the workflow. */
export class Reopening {
  readonly #ends: NodeEnds
  readonly #store: WorkflowChangeStore

  constructor(ends: NodeEnds, store: WorkflowChangeStore) {
    this.#ends = ends
    this.#store = store
  }

  /** False: there is no such workflow. `judge` refuses by an error what its state does not allow. */
  async retry(
    id: Uuid,
    tenant: TenantScope,
    { actor, judge }: { readonly actor: string; readonly judge: (workflow: LockedWorkflow) => void },
  ): Promise<boolean> {
    const done = await this.#ends.ofWorkflow(id, tenant, async (turn) => {
      const [workflow] = turn.locked as [LockedWorkflow]
      judge(workflow)
      const opened = await this.#reopen(turn, workflow, { actor, named: null, ...always })
      if (opened.length === 0) throw nothingToRetry()
      return true
    })
    return done ?? false
  }

  /** False: the node is in no state to be run again. */
  async replay(id: Uuid, tenant: TenantScope, actor: string): Promise<boolean> {
    return this.#ends.ofTasks([id], async (turn) => {
      const [workflow] = turn.locked
      if (!workflow) throw recordsGone()
      if (tenant !== null && workflow.tenant !== tenant) return false
      if (workflow.cancelRequested && workflow.status === 'RUNNING') throw beingCancelled()
      return (await this.#reopen(turn, workflow, { actor, named: new Set([id]), ...always })).length > 0
    })
  }

  /**
   * Runs those of a workflow's nodes again, of these, that ended by an instant and can be: together, so that each waits for those before it
   * as in the first run. Answers which nodes are open again, what they blocked among them; the note is given the same.
   */
  async replayTogether(
    workflow: Uuid,
    ids: readonly Uuid[],
    { actor, endedByMs, note }: { readonly actor: string; readonly endedByMs: number; readonly note: Note },
  ): Promise<readonly Uuid[]> {
    const opened = await this.#ends.ofWorkflow(workflow, null, async (turn) => {
      const [locked] = turn.locked as [LockedWorkflow]
      if (locked.cancelRequested && locked.status === 'RUNNING') throw beingCancelled()
      const reopened = await this.#reopen(turn, locked, { actor, named: new Set(ids), endedByMs })
      await note(turn.client, reopened)
      return reopened
    })
    return opened ?? []
  }

  /** The nodes that were opened. */
  async #reopen({ client, settlement, slot }: WorkflowTurn, workflow: LockedWorkflow, how: Reopen): Promise<Uuid[]> {
    const { id, sweepReason } = workflow
    const store = this.#store
    if (sweepReason !== null || (await store.isUnsettled(client, id))) throw unsettled()
    const { nodes, edges } = await store.graph(client, id)
    const parents = parentsOf(nodes, edges)
    const { reopened, recounted, unmet } = planRetry(nodes, parents, {
      seeds: seedsOf(nodes, how),
      isNamed: how.named !== null,
    })
    if (reopened.length === 0) {
      const [first] = unmet
      if (first !== undefined) throw unmetRule(nodes, first, parents[first] ?? [])
      return []
    }
    const row = (place: number): RetryRow => nodes[place] as RetryRow
    const again = reopened.map(({ node, verdict, counts }) => {
      const { id: nodeId, isDelayed, triggerRule } = row(node)
      const next = verdict === 'run' && !isDelayed ? ('PENDING' as const) : ('BLOCKED' as const)
      return { id: nodeId, workflowId: id, verdict, counts, triggerRule, next }
    })
    const landed = await store.reopen(client, again, { actor: how.actor, slot })
    if (landed.length !== again.length) throw recordsGone()
    await store.recount(
      client,
      recounted.map(({ node, counts }) => ({ id: row(node).id, counts })),
    )
    const unfailed = reopened.filter(({ node }) => row(node).end === 'failed').length
    await store.resume(client, id, { opened: again.length, unfailed })
    settlement.resumed(id, { opened: again.length, unfailed })
    const judged = again.filter(({ verdict }) => verdict !== 'wait')
    await settlement.judge(judged.map(({ counts, ...node }) => ({ ...node, ...counts, lane: null })))
    return again.map((node) => node.id)
  }
}

/** Of nodes that are named, those that have ended without success; else all that failed or was cancelled. Discarded dead letters stay. */
function seedsOf(nodes: readonly RetryRow[], { named, endedByMs }: Reopen): number[] {
  return nodes.flatMap(({ id, end, isKept, endedAtMs }, place) => {
    const isMeant = named === null ? end === 'failed' || end === 'cancelled' : named.has(id) && end !== 'succeeded'
    const isInTime = endedByMs === null || (endedAtMs !== null && endedAtMs <= endedByMs)
    return isMeant && isInTime && end !== null && isKept ? [place] : []
  })
}

function parentsOf(nodes: readonly RetryRow[], edges: readonly Edge[]): number[][] {
  const places = new Map(nodes.map(({ id }, place) => [id, place]))
  const parents = nodes.map((): number[] => [])
  for (const { parent, child } of edges) {
    const place = places.get(parent)
    if (place !== undefined) parents[places.get(child) ?? -1]?.push(place)
  }
  return parents
}

const nothingToRetry = (): DulyError =>
  new DulyError('wrong_state', 'No task of the workflow failed or was cancelled that could be run again.')

const beingCancelled = (): DulyError =>
  new DulyError('wrong_state', 'The workflow of this task is being cancelled; run the task again when it is CANCELLED.')

/** What to do about it depends on what it waits for: one that was discarded, or succeeded, can not run again. */
function unmetRule(nodes: readonly RetryRow[], place: number, parents: readonly number[]): DulyError {
  const failed = parents
    .flatMap((parent) => nodes[parent] ?? [])
    .filter(({ end }) => end !== null && end !== 'succeeded')
  const again = failed.find(({ isKept }) => isKept)
  const gone = failed.find(({ isKept }) => !isKept)
  const advice = again
    ? `; run those again, such as ${again.name}`
    : gone
      ? `; ${gone.name} was discarded, or its record is gone, so that it can not run again`
      : ''
  const what = `The trigger rule of ${nodes[place]?.name ?? ''} can't be met by how the tasks ended that it depends on`
  return new DulyError('wrong_state', `${what}${advice}.`)
}

const unsettled = (): DulyError =>
  new DulyError('store_unavailable', 'Ends of tasks are still being passed on in this workflow; try again.', {
    retryAfterSeconds: 1,
  })

const recordsGone = (): DulyError =>
  new DulyError('wrong_state', 'Records of tasks of this workflow are gone; it can no longer be run again.')
