import type { Uuid } from '@duly/domain'
import { type TakenRow, takenFromRow } from '../queue/postgres/ready-queue.js'
import { type Connection, type Database, rowsOf } from './database.js'
import { bigintArray, booleanArray, int4Array, textArray, uuidArray } from './params.js'
import { requestCancel } from './plain-change-sql.js'
import * as sql from './settle-sql.js'
import type {
  ClosedWorkflow,
  EndedNode,
  LockedWorkflow,
  NodeEnding,
  NodeLane,
  OpenNode,
  ReadyNode,
  Tally,
  ToldNode,
  UnblockedNode,
  VerdictFacts,
  WaitingEnd,
} from './workflow-rows.js'
import { keepSweep, lockOf, lockOne, tally } from './workflow-sql.js'

/** A child as the store tells of it: null where no slot may be asked for it. */
type ToldRow = Omit<ToldNode, 'lane'> & { readonly [K in keyof NodeLane]: NodeLane[K] | null }

/** The statements by which ends move through a workflow. All but those without a connection run under its lock. */
export class SettleStore {
  readonly #database: Database
  readonly #graceMs: number
  readonly #node: Uuid

  constructor(database: Database, options: { graceMs: number; node: Uuid }) {
    this.#database = database
    this.#graceMs = options.graceMs
    this.#node = options.node
  }

  /** Locks the workflows of these tasks, in the order of their ids. */
  lockOf(client: Connection, tasks: readonly Uuid[]): Promise<LockedWorkflow[]> {
    return rowsOf<LockedWorkflow>(client, lockOf, [uuidArray(tasks)])
  }

  /** Null: there is none of that tenant. */
  async lockOne(client: Connection, id: Uuid, tenant: string | null): Promise<LockedWorkflow | null> {
    const [row] = await rowsOf<LockedWorkflow>(client, lockOne, [id, tenant])
    return row ?? null
  }

  /** @param withLanes whether a slot may be asked for what becomes ready */
  async passOn(client: Connection, ends: readonly NodeEnding[], withLanes: boolean): Promise<ToldNode[]> {
    const rows = await rowsOf<ToldRow>(client, sql.passOn, [
      uuidArray(ends.map(({ id }) => id)),
      textArray(ends.map(({ kind }) => kind)),
      booleanArray(ends.map(({ isNoted }) => isNoted)),
      withLanes,
    ])
    return rows.map(({ tenant, queue, taskType, ...node }) =>
      tenant === null || queue === null || taskType === null
        ? { ...node, lane: null }
        : { ...node, lane: { tenant, queue, taskType } },
    )
  }

  async putOff(client: Connection, ends: readonly NodeEnding[]): Promise<void> {
    await rowsOf(client, sql.putOff, [
      uuidArray(ends.map(({ id }) => id)),
      uuidArray(ends.map(({ workflowId }) => workflowId)),
      textArray(ends.map(({ kind }) => kind)),
    ])
  }

  async takeUnsettled(client: Connection, workflow: Uuid, limit: number): Promise<NodeEnding[]> {
    const rows = await rowsOf<Omit<NodeEnding, 'isNoted'>>(client, sql.takeUnsettled, [workflow, limit])
    return rows.map((row) => ({ ...row, isNoted: true }))
  }

  async unsettled(limit: number): Promise<Uuid[]> {
    const rows = await this.#database.hot<{ id: Uuid }>(sql.unsettled, [limit])
    return [...new Set(rows.map(({ id }) => id))]
  }

  /** `slot` names the counters that this writer alone adds to. */
  async unblock(client: Connection, nodes: readonly ReadyNode[], slot: number): Promise<UnblockedNode[]> {
    const rows = await rowsOf<Omit<UnblockedNode, 'taken'> & TakenRow>(client, sql.unblock, [
      uuidArray(nodes.map(({ id }) => id)),
      uuidArray(nodes.map(({ handoff }) => handoff?.session ?? null)),
      bigintArray(nodes.map(({ handoff }) => handoff?.token ?? null)),
      textArray(nodes.map(({ handoff }) => handoff?.queue ?? null)),
      slot,
      this.#graceMs,
      this.#node,
    ])
    return rows.map((row) => ({ ...row, taken: row.status === 'RUNNING' ? takenFromRow(row) : null }))
  }

  endWaiting(
    client: Connection,
    ends: readonly WaitingEnd[],
    { actor, slot }: { readonly actor: string; readonly slot: number },
  ): Promise<EndedNode[]> {
    return rowsOf<EndedNode>(client, sql.endWaiting, [
      uuidArray(ends.map(({ id }) => id)),
      textArray(ends.map(({ how }) => how)),
      textArray(ends.map(({ reason }) => reason)),
      actor,
      slot,
    ])
  }

  /** The next open nodes of a workflow, at most `limit`, but for those that were marked before. */
  lockOpen(client: Connection, workflow: Uuid, limit: number): Promise<OpenNode[]> {
    return rowsOf<OpenNode>(client, sql.lockOpen, [workflow, limit])
  }

  /** Keeps for the next transaction that a workflow is being cancelled; null: that it no longer is. */
  async keepSweep(
    client: Connection,
    workflow: Uuid,
    sweep: { readonly reason: string; readonly actor: string } | null,
  ): Promise<void> {
    await rowsOf(client, keepSweep, [workflow, sweep?.reason ?? null, sweep?.actor ?? null])
  }

  /** Answers the sessions whose workers are to be told. */
  async mark(
    client: Connection,
    ids: readonly Uuid[],
    { actor, reason }: { readonly actor: string; readonly reason: string },
  ): Promise<Uuid[]> {
    const values = [uuidArray(ids), actor, reason, reason, this.#graceMs, null]
    return (await rowsOf<{ session: Uuid }>(client, requestCancel, values)).map(({ session }) => session)
  }

  verdictFacts(client: Connection, workflows: readonly Uuid[]): Promise<VerdictFacts[]> {
    return rowsOf<VerdictFacts>(client, sql.verdictFacts, [uuidArray(workflows)])
  }

  /** Answers those that it closed. */
  async tally(client: Connection, tallies: readonly Tally[]): Promise<ClosedWorkflow[]> {
    const rows = await rowsOf<ClosedWorkflow & { isOpen: boolean }>(client, tally, [
      uuidArray(tallies.map(({ id }) => id)),
      int4Array(tallies.map(({ ended }) => ended)),
      int4Array(tallies.map(({ failed }) => failed)),
      textArray(tallies.map(({ status }) => status)),
    ])
    return rows.filter(({ isOpen }) => !isOpen).map(({ isOpen: _, ...closed }) => closed)
  }
}
