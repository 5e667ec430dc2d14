import type { Uuid } from '@duly/domain'
import type { Statement } from '../database.js'
import type { OwnConnection } from '../own-connection.js'
import * as counters from './counter-sweep-sql.js'
import type { RelatedTable } from './sweep-sql.js'
import * as sql from './sweep-sql.js'
import * as graphs from './workflow-sweep-sql.js'

/** One step through a table: where the next one begins (null: it was the last), and how many rows went. */
export interface Swept<Place> {
  readonly next: Place | null
  readonly removed: number
}

/** A place among the workflows that have ended: instant, id. */
export type WorkflowPlace = readonly [completedAt: string, id: Uuid]
/** A place among the keys: instant, tenant, key. */
export type KeyPlace = readonly [createdAt: string, tenant: string, key: string]
/** A place among the firings: when it was judged, definition, fire time. */
export type FiringPlace = readonly [firedAt: string, cronId: Uuid, fireTime: string]
/** A place among the lanes: queue, priority, tenant, gate. */
export type LanePlace = readonly [queue: string, priority: number, tenant: string, gate: string]
/** A place among the groups of dead letters: tenant, queue, task type, fingerprint. */
export type GroupPlace = readonly [tenant: string, queue: string, taskType: string, fingerprint: string]

/** Removal of what hangs on tasks, and of what is simply old: bounded steps, each a statement of its own. */
export class SweepStore {
  readonly #connection: OwnConnection

  constructor(connection: OwnConnection) {
    this.#connection = connection
  }

  related(table: RelatedTable, place: Uuid, edge: Uuid, limit: number): Promise<Swept<Uuid>> {
    return this.#step<Uuid>(sql.sweepRelated[table], [place, edge, limit])
  }

  keys(cutoff: string, place: KeyPlace, limit: number): Promise<Swept<KeyPlace>> {
    return this.#step<KeyPlace>(sql.sweepKeys, [cutoff, ...place, limit])
  }

  counters(place: LanePlace, limit: number): Promise<Swept<LanePlace>> {
    return this.#step<LanePlace>(counters.sweepCounters, [...place, limit])
  }

  letterCounts(place: GroupPlace, limit: number): Promise<Swept<GroupPlace>> {
    return this.#step<GroupPlace>(counters.sweepLetterCounts, [...place, limit])
  }

  async bulk(cutoff: string, limit: number): Promise<number> {
    return (await this.#step(sql.sweepBulk, [cutoff, limit])).removed
  }

  async runs(cutoff: string, limit: number): Promise<number> {
    return (await this.#step(sql.sweepRuns, [cutoff, limit])).removed
  }

  firings(cutoff: string, place: FiringPlace, limit: number): Promise<Swept<FiringPlace>> {
    return this.#step<FiringPlace>(sql.sweepFirings, [cutoff, ...place, limit])
  }

  async sessions(limit: number): Promise<number> {
    return (await this.#step(sql.sweepSessions, [limit])).removed
  }

  async workflowKeys(cutoff: string, limit: number): Promise<number> {
    return (await this.#step(graphs.freeWorkflowKeys, [cutoff, limit])).removed
  }

  /** Below the edge; `limit` of them at once, and ten times as many rows of their graphs. */
  workflows(
    cutoff: string,
    place: WorkflowPlace,
    { limit, edge }: { limit: number; edge: string },
  ): Promise<Swept<WorkflowPlace>> {
    return this.#step<WorkflowPlace>(graphs.sweepWorkflows, [cutoff, ...place, limit, limit * 10, edge])
  }

  async revoked(cutoff: string, limit: number): Promise<number> {
    return (await this.#step(sql.sweepRevoked, [cutoff, limit])).removed
  }

  /** `seen`: those that were looked at; fewer than the limit when there are no more. */
  async results(limit: number): Promise<{ readonly removed: number; readonly seen: number }> {
    const [row] = await this.#connection.query<{ removed: number; seen: number }>(sql.clearResults, [limit])
    return row ?? { removed: 0, seen: 0 }
  }

  async #step<Place = never>(statement: Statement, values: readonly unknown[]): Promise<Swept<Place>> {
    const [row] = await this.#connection.query<Swept<Place>>(statement, values)
    return row ?? { next: null, removed: 0 }
  }
}
