import { partitionOf, type RecountedNode, type RetryNode, type TaskStatus, type Uuid } from '@duly/domain'
import { type Connection, rowsOf } from './database.js'
import { int2Array, int4Array, textArray, uuidArray } from './params.js'
import * as sql from './workflow-change-sql.js'
import type { ToldNode } from './workflow-rows.js'

/** What waits for what. */
export interface Edge {
  readonly parent: Uuid
  readonly child: Uuid
}

/** A node as a retry sees it. */
export interface RetryRow extends RetryNode {
  readonly id: Uuid
  readonly name: string
  /** It has a delay or a time of its own. */
  readonly isDelayed: boolean
  /** Its record is there, and was not discarded. */
  readonly isKept: boolean
  /** Null: it is open, or its record is gone. */
  readonly endedAtMs: number | null
}

/** A node that runs again. */
export interface Reopening extends Pick<RecountedNode, 'counts'> {
  readonly id: Uuid
  readonly next: 'PENDING' | 'BLOCKED'
}

/** A node that is there under a name. */
export interface FoundNode {
  readonly id: Uuid
  readonly name: string
  readonly addedBy: Uuid | null
  readonly requestHash: Buffer | null
  readonly status: TaskStatus
}

/** Changes that the API makes to workflows, each within a transaction that holds the workflow. */
export class WorkflowChangeStore {
  async requestCancel(client: Connection, id: Uuid, actor: string): Promise<void> {
    await rowsOf(client, sql.requestCancel, [id, actor])
  }

  async isUnsettled(client: Connection, id: Uuid): Promise<boolean> {
    const [row] = await rowsOf<{ is: boolean }>(client, sql.isUnsettled, [id])
    return row?.is ?? false
  }

  async graph(client: Connection, id: Uuid): Promise<{ readonly nodes: RetryRow[]; readonly edges: Edge[] }> {
    const nodes = await rowsOf<RetryRow>(client, sql.readStanding, [id])
    return { nodes, edges: await rowsOf<Edge>(client, sql.readEdges, [id]) }
  }

  /** Answers those that are open again. */
  async reopen(
    client: Connection,
    rows: readonly Reopening[],
    { actor, slot }: { readonly actor: string; readonly slot: number },
  ): Promise<Uuid[]> {
    const reopened = await rowsOf<{ id: Uuid }>(client, sql.reopen, [
      uuidArray(rows.map(({ id }) => id)),
      int2Array(rows.map(({ id }) => partitionOf(id))),
      textArray(rows.map(({ next }) => next)),
      ...countArrays(rows),
      actor,
      slot,
    ])
    return reopened.map(({ id }) => id)
  }

  async recount(client: Connection, rows: readonly (Pick<RecountedNode, 'counts'> & { readonly id: Uuid })[]) {
    if (rows.length > 0) await rowsOf(client, sql.recount, [uuidArray(rows.map(({ id }) => id)), ...countArrays(rows)])
  }

  async resume(
    client: Connection,
    id: Uuid,
    { opened, unfailed }: { readonly opened: number; readonly unfailed: number },
  ): Promise<void> {
    await rowsOf(client, sql.resume, [id, opened, unfailed])
  }

  /** Null: the lease is not the one of a running task of the workflow. The task stays as it is to the end of the transaction. */
  async lockAdder(
    client: Connection,
    workflow: Uuid,
    { id, attempt, token }: { readonly id: Uuid; readonly attempt: number; readonly token: bigint },
  ): Promise<{ readonly cancelReason: string | null } | null> {
    type Row = { readonly cancelReason: string | null }
    const [row] = await rowsOf<Row>(client, sql.lockAdder, [id, workflow, attempt, token])
    return row ?? null
  }

  findNodes(client: Connection, workflow: Uuid, names: readonly string[]): Promise<FoundNode[]> {
    return rowsOf<FoundNode>(client, sql.findNodes, [workflow, textArray(names)])
  }

  async grow(
    client: Connection,
    id: Uuid,
    { nodes, edges }: { readonly nodes: number; readonly edges: number },
  ): Promise<void> {
    await rowsOf(client, sql.grow, [id, nodes, edges])
  }

  /** Answers the new nodes that have parents which ended. */
  async countEnded(client: Connection, ids: readonly Uuid[]): Promise<ToldNode[]> {
    const rows = await rowsOf<Omit<ToldNode, 'lane'>>(client, sql.countEnded, [uuidArray(ids)])
    return rows.map((row) => ({ ...row, lane: null }))
  }
}

function countArrays(rows: readonly Pick<RecountedNode, 'counts'>[]): Buffer[] {
  return [
    int4Array(rows.map(({ counts }) => counts.succeeded)),
    int4Array(rows.map(({ counts }) => counts.skipped)),
    int4Array(rows.map(({ counts }) => counts.failed)),
  ]
}
