import { DulyError, type Uuid } from '@duly/domain'
import type { DependencyResult, GrantedDependency } from '../model.js'
import type { Fence } from './attempt-store.js'
import type { Database } from './database.js'
import * as sql from './dependency-sql.js'
import { textArray, uuidArray } from './params.js'

/** Bytes of results in one answer to whoever asks for them. */
const answerMaxBytes = 16 * 1_024 * 1_024

/** What tasks of workflows are given of those that they waited for. */
export class DependencyStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** By task; results of one task are at most `maxBytes` in all. */
  async ofTasks(ids: readonly Uuid[], maxBytes: number): Promise<ReadonlyMap<Uuid, readonly GrantedDependency[]>> {
    type Row = GrantedDependency & { readonly task: Uuid }
    const found = new Map<Uuid, GrantedDependency[]>(ids.map((id) => [id, []]))
    const rows = await this.#database.hot<Row>(sql.dependenciesOf, [uuidArray(ids), maxBytes])
    for (const { task, ...dependency } of rows) found.get(task)?.push(dependency)
    return found
  }

  /**
   * Results by name, in the order asked for, as many as fit into one answer.
   * @throws DulyError `lease_lost`, `not_found` for a name that is none of the task's dependencies
   */
  async results(fence: Fence, names: readonly string[]): Promise<readonly DependencyResult[]> {
    const { id, session, attempt, token } = fence
    const held = await this.#database.query(sql.holdsLease, [id, session, attempt, String(token)])
    if (held.length === 0) throw new DulyError('lease_lost', 'The lease is not that of the running attempt.')
    const rows = await this.#database.query<DependencyResult>(sql.resultsOf, [id, textArray(names), answerMaxBytes])
    const known = new Set(rows.map(({ name }) => name))
    const unknown = names.find((name) => !known.has(name))
    if (unknown === undefined) return rows
    throw new DulyError('not_found', `The task has no dependency called ${JSON.stringify(unknown)}.`)
  }
}
