import type { TenantScope, Uuid } from '@duly/domain'
import { Batcher } from '../base/batcher.js'
import { busy } from '../base/busy.js'
import { HandOffs, type Slots } from '../dispatch/hand-offs.js'
import type { EndedTask } from '../model.js'
import type { AttemptStore, Finish, Landed } from '../store/attempt-store.js'
import { decided, type Note } from '../store/commits.js'
import type { Connection, Database } from '../store/database.js'
import { asDulyError, faultKind, isCommitUnknown, isUnknownOutcome, outcomeUnknown } from '../store/faults.js'
import type { SettleStore } from '../store/settle-store.js'
import type { EndedNode, LockedWorkflow, NodeEnding, WaitingEnd } from '../store/workflow-rows.js'
import { endingOf, type Settled, Settlement } from './settlement.js'

export interface NodeEndsOptions {
  readonly database: Database
  readonly store: SettleStore
  readonly attempts: AttemptStore
  /** Slots of `counters`, one for each transaction that may be under way at once. */
  readonly slots: readonly number[]
  /** Waiting workers, for nodes that become ready. */
  readonly workers: Slots
  /** Told of every commit. */
  readonly onSettled: (settled: Settled) => void
}

/** What a transaction is given: its connection, the workflows that it holds, and what it tells of ends to. */
export interface WorkflowTurn {
  readonly client: Connection
  readonly locked: readonly LockedWorkflow[]
  readonly settlement: Settlement
  readonly slot: number
}

type Work = (slot: number) => Promise<unknown>

/** A transaction under locks of workflows. */
interface Turn<T> {
  readonly lock: (client: Connection) => Promise<readonly LockedWorkflow[]>
  readonly work: (turn: WorkflowTurn) => Promise<T>
  /** Somebody asked for it and is to be told what came of it, also when the answer to its commit gets lost; it costs a round trip. */
  readonly isAsked: boolean
}

const maxTries = 4
/** Ends that one transaction goes on with. */
const unsettledLimit = 500
/** Workflows that one pass of the duty goes on with. */
const workflowsAtOnce = 20
const maxWaiting = 20_000

/**
 * Every end of a task that belongs to a workflow goes through here: the workflow is locked, the end is written by the statement that
 * writes it for all tasks, and what it brings about is settled, all in one transaction. So the ends of one workflow are one after the
 * other, and each child is judged once (I7); those of different workflows do not meet.
 */
export class NodeEnds {
  readonly #options: NodeEndsOptions
  readonly #turns: Batcher<Work, unknown>
  #goingOn: Promise<void> = Promise.resolve()
  /** Workflows that this node is about to go on with … */
  readonly #waiting = new Set<Uuid>()
  /** … or goes on with, and the ends of their turns. */
  readonly #left = new Map<Uuid, Promise<void>>()

  constructor(options: NodeEndsOptions) {
    this.#options = options
    this.#turns = new Batcher<Work, unknown>({
      maxItems: 1,
      maxBytes: Number.POSITIVE_INFINITY,
      full: { items: maxWaiting, bytes: Number.POSITIVE_INFINITY },
      lanes: options.slots.length,
      run: async ([work], lane) => [await (work as Work)(options.slots[lane] as number)],
    })
  }

  /** Ends of attempts: what landed, as for tasks by themselves. */
  finish(rows: readonly Finish[]): Promise<Landed[]> {
    const ids = rows.map(({ fence }) => fence.id)
    return this.#ofTasks(ids, false, async ({ client, settlement, slot }) => {
      const landed = await this.#options.attempts.finishWithin(client, rows, slot)
      await settlement.began(landed.flatMap(ofAttempt))
      return landed
    })
  }

  /** Cancels a node that waits; null: it did not. */
  async cancel(
    id: Uuid,
    tenant: TenantScope,
    because: { readonly actor: string; readonly reason: string },
  ): Promise<(EndedTask & { readonly cancelledAtMs: number }) | null> {
    const ends: readonly WaitingEnd[] = [{ id, how: 'cancel', reason: because.reason }]
    const [gone] = await this.#end(ends, { actor: because.actor, tenant, isAsked: true })
    return gone ? { ...gone, cancelledAtMs: gone.endedAtMs } : null
  }

  /** Cancels those of these nodes that wait, whoever's they are, in one transaction. */
  cancelTogether(
    ids: readonly Uuid[],
    { actor, reason, note }: { readonly actor: string; readonly reason: string; readonly note: Note },
  ): Promise<EndedTask[]> {
    const ends = ids.map((id): WaitingEnd => ({ id, how: 'cancel', reason }))
    return this.#end(ends, { actor, tenant: null, isAsked: true, note })
  }

  /** Ends those of these nodes that were to start before an instant that has passed. */
  expire(ids: readonly Uuid[]): Promise<EndedTask[]> {
    const ends = ids.map((id): WaitingEnd => ({ id, how: 'expire', reason: 'expired' }))
    return this.#end(ends, { actor: 'timer', tenant: null, isAsked: false })
  }

  /** Ends those of these nodes that are ready. */
  purge(ids: readonly Uuid[], actor: string): Promise<EndedTask[]> {
    const ends = ids.map((id): WaitingEnd => ({ id, how: 'purge', reason: 'purged' }))
    return this.#end(ends, { actor, tenant: null, isAsked: true })
  }

  /** Goes on with what earlier transactions left. Answers whether there may be more. */
  async settle(): Promise<boolean> {
    const workflows = await this.#options.store.unsettled(workflowsAtOnce)
    for (const id of workflows) await this.#goOn(id)
    return workflows.length > 0
  }

  /** Resolves when nothing of what was left here is still to be passed on by this node. */
  async drained(): Promise<void> {
    for (let seen: Promise<void> | null = null; seen !== this.#goingOn; ) {
      seen = this.#goingOn
      await seen
      await this.#turns.drained()
    }
  }

  /** Resolves when this node has gone on with the workflow until nothing was left, or could not. */
  async goneOn(workflow: Uuid): Promise<void> {
    for (let turn = this.#left.get(workflow); turn; turn = this.#left.get(workflow)) await turn
  }

  /** Runs a transaction that holds the workflows of these tasks, for somebody who asked for it. */
  ofTasks<T>(tasks: readonly Uuid[], work: (turn: WorkflowTurn) => Promise<T>): Promise<T> {
    return this.#ofTasks(tasks, true, work)
  }

  /** Runs a transaction that holds one workflow, for somebody who asked for it; null: there is none of that tenant. */
  ofWorkflow<T>(id: Uuid, tenant: TenantScope, work: (turn: WorkflowTurn) => Promise<T>): Promise<T | null> {
    return this.#turn<T | null>({
      lock: (client) => this.#lockOne(client, id, tenant),
      work: async (turn) => (turn.locked.length === 0 ? null : work(turn)),
      isAsked: true,
    })
  }

  #ofTasks<T>(tasks: readonly Uuid[], isAsked: boolean, work: Turn<T>['work']): Promise<T> {
    return this.#turn({ lock: (client) => this.#options.store.lockOf(client, tasks), work, isAsked })
  }

  async #lockOne(client: Connection, id: Uuid, tenant: TenantScope): Promise<readonly LockedWorkflow[]> {
    const locked = await this.#options.store.lockOne(client, id, tenant)
    return locked ? [locked] : []
  }

  #end(
    ends: readonly WaitingEnd[],
    {
      actor,
      tenant,
      isAsked,
      note,
    }: { readonly actor: string; readonly tenant: TenantScope; readonly isAsked: boolean; readonly note?: Note },
  ): Promise<EndedNode[]> {
    if (ends.length === 0) return Promise.resolve([])
    const ids = ends.map(({ id }) => id)
    return this.#ofTasks(ids, isAsked, async ({ client, locked, settlement, slot }) => {
      if (locked.length === 0 || locked.some((workflow) => tenant !== null && workflow.tenant !== tenant)) return []
      const gone = await this.#options.store.endWaiting(client, ends, { actor, slot })
      await settlement.began(gone.map(endingOf))
      await note?.(
        client,
        gone.map(({ id }) => id),
      )
      return gone
    })
  }

  async #turn<T>(turn: Turn<T>): Promise<T> {
    if (this.#turns.isFull) throw busy('requests')
    const done = await this.#turns.add((slot) => this.#trying(slot, turn))
    const { result, settled } = done as { result: T; settled: Settled }
    this.#options.onSettled(settled)
    for (const id of settled.unsettled) this.#later(id)
    return result
  }

  /** Nothing is told before the commit, so that a transaction that met a deadlock is simply done again. */
  async #trying<T>(
    slot: number,
    { lock, work, isAsked }: Turn<T>,
  ): Promise<{ readonly result: T; readonly settled: Settled }> {
    const { database, store, workers } = this.#options
    for (let attempt = 1; ; attempt++) {
      let isWritten = false
      const handOffs = new HandOffs(workers.reserve)
      try {
        const transaction = async (client: Connection) => {
          const locked = await lock(client)
          const settlement = new Settlement(client, { store, slot, locked, handOffs, workers })
          const result = await work({ client, locked, settlement, slot })
          const settled = await settlement.finish()
          isWritten = true
          return { result, settled }
        }
        const done = await (isAsked ? decided(database, transaction) : database.transaction(transaction))
        for (const { taken } of done.settled.unblocked) if (taken !== null) handOffs.settle(taken.id, taken)
        handOffs.end(null)
        return done
      } catch (error) {
        // only the commit is left then: what failed before it was rolled back
        const isUnsure = isWritten && isUnknownOutcome(error)
        handOffs.end(isUnsure || isCommitUnknown(error) ? 'unknown' : null)
        if (attempt < maxTries && faultKind(error) === 'transient') continue
        if (isUnsure) throw outcomeUnknown(error)
        throw asDulyError(error)
      }
    }
  }

  /** At once, behind what is under way; if it fails, the duty finds it. */
  #later(workflow: Uuid): void {
    if (this.#waiting.has(workflow)) return
    this.#waiting.add(workflow)
    const turn = this.#goingOn.then(() => this.#goOn(workflow)).catch(() => {})
    this.#goingOn = turn
    this.#left.set(workflow, turn)
    void turn.then(() => {
      if (this.#left.get(workflow) === turn) this.#left.delete(workflow)
    })
  }

  async #goOn(workflow: Uuid): Promise<void> {
    const { store } = this.#options
    this.#waiting.delete(workflow)
    const taken = await this.#turn({
      lock: (client) => this.#lockOne(client, workflow, null),
      work: async ({ client, locked, settlement }) => {
        if (locked.length === 0 || !(await settlement.sweepOn())) return 0
        const ends = await store.takeUnsettled(client, workflow, unsettledLimit)
        settlement.goOn(ends)
        return ends.length
      },
      isAsked: false,
    })
    if (taken === unsettledLimit) this.#later(workflow)
  }
}

const kindOf = { SUCCEEDED: 'succeeded', FAILED: 'failed', DEAD: 'failed', CANCELLED: 'cancelled' } as const

function ofAttempt({ id, workflowId, status }: Landed): NodeEnding[] {
  if (workflowId === null || !(status in kindOf)) return []
  return [{ id, workflowId, kind: kindOf[status as keyof typeof kindOf], isNoted: false }]
}
