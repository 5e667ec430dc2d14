import type { SweepReason, Uuid } from '@duly/domain'
import type { Connection } from '../store/database.js'
import type { SettleStore } from '../store/settle-store.js'
import type { EndedNode, LockedWorkflow, WaitingEnd } from '../store/workflow-rows.js'

/** Why everything that is open is cancelled, and by whom. */
export interface Sweep {
  readonly actor: string
  readonly reason: SweepReason
}

/** What a part of a sweep did. */
export interface Swept {
  readonly ended: readonly EndedNode[]
  /** Sessions whose running attempts were marked. */
  readonly stopping: readonly Uuid[]
}

/** Nodes that one transaction cancels, of all its workflows together: some 100 ms (docs/performance.md). */
const maxSwept = 1_000

/**
 * Sweeps of one transaction: everything that is open in a workflow is cancelled, as much of it as one transaction can hold. What is
 * left stands in the row of the workflow and is the next one's; until then nothing of it is unblocked.
 */
export class Sweeps {
  readonly #client: Connection
  readonly #store: SettleStore
  readonly #slot: number
  /** Under way, by workflow: the first one that is begun is carried through. */
  readonly #underWay = new Map<Uuid, Sweep>()
  /** Those that stand in the rows of their workflows. */
  readonly #kept = new Set<Uuid>()
  readonly #done = new Set<Uuid>()
  #left = maxSwept

  constructor(
    client: Connection,
    { store, slot, locked }: { store: SettleStore; slot: number; locked: readonly LockedWorkflow[] },
  ) {
    this.#client = client
    this.#store = store
    this.#slot = slot
    for (const { id, sweepReason, sweepActor } of locked) {
      if (sweepReason === null) continue
      this.#underWay.set(id, { reason: sweepReason, actor: sweepActor ?? 'workflow' })
      this.#kept.add(id)
    }
  }

  /** What is open in it is cancelled, or about to be: nothing of it starts any more. */
  isUnderWay(workflow: Uuid): boolean {
    return this.#underWay.has(workflow)
  }

  /** More of it is to be cancelled. */
  isLeft(workflow: Uuid): boolean {
    return this.#underWay.has(workflow) && !this.#done.has(workflow)
  }

  get isAnyLeft(): boolean {
    return this.#done.size < this.#underWay.size
  }

  begin(workflow: Uuid, sweep: Sweep): void {
    if (!this.#underWay.has(workflow)) this.#underWay.set(workflow, sweep)
  }

  /** What waits ends at once; what runs is marked, and its end waited for. */
  async goOn(): Promise<Swept> {
    const ended: EndedNode[] = []
    const stopping: Uuid[] = []
    for (const [id, sweep] of this.#underWay) {
      while (this.#left > 0 && !this.#done.has(id)) {
        const part = await this.#part(id, sweep)
        ended.push(...part.ended)
        stopping.push(...part.stopping)
      }
    }
    return { ended, stopping }
  }

  async #part(id: Uuid, { actor, reason }: Sweep): Promise<Swept> {
    const limit = this.#left
    const open = await this.#store.lockOpen(this.#client, id, limit)
    this.#left -= open.length
    // one that an edit replaced at this very moment is found by another look
    if (open.length < limit && open.every(({ status }) => status !== null)) this.#done.add(id)
    const waiting = open.filter(({ status }) => status !== null && status !== 'RUNNING')
    const ends = waiting.map(({ id }): WaitingEnd => ({ id, how: 'cancel', reason }))
    const ended = ends.length === 0 ? [] : await this.#store.endWaiting(this.#client, ends, { actor, slot: this.#slot })
    const running = open.filter(({ status }) => status === 'RUNNING').map(({ id }) => id)
    const stopping = running.length === 0 ? [] : await this.#store.mark(this.#client, running, { actor, reason })
    return { ended, stopping }
  }

  /** Notes what is left at the workflows; answers which. `isClosing`: nothing is open in it any more. */
  async keep(isClosing: (workflow: Uuid) => boolean): Promise<Uuid[]> {
    const left: Uuid[] = []
    for (const [id, sweep] of this.#underWay) {
      const isOver = this.#done.has(id) || isClosing(id)
      if (!isOver) left.push(id)
      if (isOver === this.#kept.has(id)) await this.#store.keepSweep(this.#client, id, isOver ? null : sweep)
    }
    return left
  }
}
