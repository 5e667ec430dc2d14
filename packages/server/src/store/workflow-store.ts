import type { Uuid } from '@duly/domain'
import { type Connection, type Database, rowsOf } from './database.js'
import type { KeyHolder } from './idempotency.js'
import { askedValues, sessionsOf } from './intake-sql.js'
import type { PlacedTask } from './intake-store.js'
import { bigintArray, byteaArray, instantArray, int4Array, textArray, uuidArray } from './params.js'
import type { MintedNode, MintedWorkflow, StandingNode } from './workflow-rows.js'
import * as sql from './workflow-sql.js'

/** What submissions of workflows ask of the store. */
export class WorkflowStore {
  readonly #database: Database
  readonly #graceMs: number
  readonly #node: Uuid

  constructor(database: Database, options: { graceMs: number; node: Uuid }) {
    this.#database = database
    this.#graceMs = options.graceMs
    this.#node = options.node
  }

  /** Those that were made; the key of each other one is held. */
  async insertWorkflows(client: Connection, rows: readonly MintedWorkflow[]): Promise<ReadonlySet<Uuid>> {
    const of = <T>(pick: (row: MintedWorkflow['workflow']) => T): T[] => rows.map(({ workflow }) => pick(workflow))
    const made = await rowsOf<{ id: Uuid }>(client, sql.insertWorkflows, [
      uuidArray(rows.map(({ id }) => id)),
      textArray(of(({ tenant }) => tenant)),
      textArray(of(({ name }) => name)),
      textArray(of(({ failurePolicy }) => failurePolicy)),
      textArray(of(({ idempotencyKey }) => idempotencyKey)),
      byteaArray(of(({ requestHash }) => requestHash)),
      textArray(of(({ metadata }) => metadata)),
      instantArray(of(({ scheduledAtMs }) => scheduledAtMs)),
      int4Array(rows.map(({ nodes }) => nodes.length)),
      int4Array(rows.map(({ nodes }) => nodes.reduce((sum, { parents }) => sum + parents.length, 0))),
      textArray(of(({ traceparent }) => traceparent)),
    ])
    return new Set(made.map(({ id }) => id))
  }

  /** `slot` names the counters that this writer alone adds to. */
  insertNodes(client: Connection, nodes: readonly MintedNode[], slot: number): Promise<PlacedTask[]> {
    return rowsOf<PlacedTask>(client, sql.insertNodes, [
      ...askedValues(nodes.map(({ id, partition, node }) => ({ id, partition, task: node.task }))),
      instantArray(nodes.map(({ startAtMs }) => startAtMs)),
      uuidArray(nodes.map(({ workflowId }) => workflowId)),
      textArray(nodes.map(({ node }) => node.name)),
      int4Array(nodes.map(({ position }) => position)),
      textArray(nodes.map(({ node }) => node.triggerRule)),
      int4Array(nodes.map(({ parents }) => parents.length)),
      uuidArray(nodes.map(({ added }) => added?.by ?? null)),
      byteaArray(nodes.map(({ added }) => added?.requestHash ?? null)),
      uuidArray(nodes.map(({ node }) => node.task.submittedBy ?? null)),
      uuidArray(nodes.map(({ handoff }) => handoff?.session ?? null)),
      bigintArray(nodes.map(({ handoff }) => handoff?.token ?? null)),
      uuidArray(nodes.flatMap(({ parents }) => parents)),
      uuidArray(nodes.flatMap(({ id, parents }) => parents.map(() => id))),
      slot,
      this.#graceMs,
      uuidArray(sessionsOf(nodes)),
      this.#node,
    ])
  }

  keyHolders(client: Connection, rows: readonly MintedWorkflow[]): Promise<KeyHolder[]> {
    return rowsOf<KeyHolder>(client, sql.keyHolders, [
      textArray(rows.map(({ workflow }) => workflow.tenant)),
      textArray(rows.map(({ workflow }) => workflow.idempotencyKey)),
    ])
  }

  standing(ids: readonly Uuid[]): Promise<StandingNode[]> {
    return this.#database.hot<StandingNode>(sql.standing, [uuidArray(ids)])
  }

  /** The same, seen from within a transaction. */
  standingWithin(client: Connection, ids: readonly Uuid[]): Promise<StandingNode[]> {
    return rowsOf<StandingNode>(client, sql.standing, [uuidArray(ids)])
  }
}
