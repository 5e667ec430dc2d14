import type { Uuid } from '@duly/domain'
import { type Connection, type Database, rowsOf } from './database.js'
import { booleanArray, int4Array, textArray, uuidArray } from './params.js'
import { requestCancel } from './plain-change-sql.js'
import * as sql from './settle-sql.js'
import type {
  ClosedWorkflow,
  EndedNode,
  LockedWorkflow,
  NodeEnding,
  OpenNode,
  Tally,
  ToldNode,
  UnblockedNode,
  VerdictFacts,
  WaitingEnd,
} from './workflow-rows.js'
import { lockOf, lockOne, tally } from './workflow-sql.js'

/** The statements by which ends move through a workflow. All but those without a connection run under its lock. */
export class SettleStore {
  readonly #database: Database
  readonly #graceMs: number

  constructor(database: Database, options: { graceMs: number }) {
    this.#database = database
    this.#graceMs = options.graceMs
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

  passOn(client: Connection, ends: readonly NodeEnding[]): Promise<ToldNode[]> {
    return rowsOf<ToldNode>(client, sql.passOn, [
      uuidArray(ends.map(({ id }) => id)),
      textArray(ends.map(({ kind }) => kind)),
      booleanArray(ends.map(({ isNoted }) => isNoted)),
    ])
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
    return (await this.#database.hot<{ id: Uuid }>(sql.unsettled, [limit])).map(({ id }) => id)
  }

  /** `slot` names the counters that this writer alone adds to. */
  unblock(client: Connection, ids: readonly Uuid[], slot: number): Promise<UnblockedNode[]> {
    return rowsOf<UnblockedNode>(client, sql.unblock, [uuidArray(ids), slot])
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

  lockOpen(client: Connection, workflows: readonly Uuid[]): Promise<OpenNode[]> {
    return rowsOf<OpenNode>(client, sql.lockOpen, [uuidArray(workflows)])
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
