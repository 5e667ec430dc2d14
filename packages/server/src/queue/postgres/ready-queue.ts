import type { Lane, Priority, Uuid } from '@duly/domain'
import type { Database } from '../../store/database.js'
import { instantArray, int2Array, int4Array, textArray, uuidArray } from '../../store/params.js'
import type { FoundLanes, LaneTake, ReadyHint, ReadyQueue, Take, TakenTask, TakeRequest } from '../port.js'
import * as sql from './claim-sql.js'

/** A taken task as the driver returns it: bigint comes as text. */
export type TakenRow = Omit<TakenTask, 'token'> & { readonly token: string }

/** A session to which nothing could be granted. */
interface RefusedRow {
  readonly id: null
  readonly session: Uuid
}

export function takenFromRow(row: TakenRow): TakenTask {
  return { ...row, token: BigInt(row.token) }
}

/** The indexes of `open_tasks` are the queue: nothing to push, nothing to remove, and a take is one claim. */
export class PostgresReadyQueue implements ReadyQueue {
  readonly #database: Database
  readonly #slot: number
  readonly #graceMs: number
  readonly #node: Uuid

  /** @param options.slot the counters' slot that this queue alone writes; claims of one queue object run one at a time. */
  constructor(database: Database, options: { slot: number; graceMs: number; node: Uuid }) {
    this.#database = database
    this.#slot = options.slot
    this.#graceMs = options.graceMs
    this.#node = options.node
  }

  async lanes(queues: readonly string[], limit: number): Promise<FoundLanes> {
    const rows = await this.#database.hot<Lane & { paused: boolean }>(sql.lanes, [textArray(queues), limit])
    return {
      lanes: rows.flatMap(({ paused, ...lane }) => (paused ? [] : [lane])),
      paused: rows.flatMap(({ paused, queue }) => (paused ? [queue] : [])),
    }
  }

  async push(_hints: readonly ReadyHint[]): Promise<void> {}

  async remove(_ids: readonly Uuid[]): Promise<void> {}

  async take(request: TakeRequest): Promise<Take> {
    const { takes } = request
    const first: number[] = []
    let place = 1
    for (const take of takes) {
      first.push(place)
      place += take.sessions.length
    }
    const rows = await this.#database.surely<TakenRow | RefusedRow>(sql.claim, [
      ...laneArrays(takes.map((take) => take.lane)),
      int4Array(takes.map((take) => take.sessions.length)),
      instantArray(takes.map((take) => take.fromMs)),
      int4Array(first),
      request.taskTypes === null ? null : textArray(request.taskTypes),
      uuidArray(takes.flatMap((take: LaneTake) => take.sessions)),
      request.token,
      this.#slot,
      this.#graceMs,
      this.#node,
    ])
    const tasks: TakenTask[] = []
    const refused: Uuid[] = []
    for (const row of rows) {
      if (row.id === null) refused.push(row.session)
      else tasks.push(takenFromRow(row))
    }
    return { tasks, refused }
  }

  async depths(queue?: string): Promise<readonly { readonly lane: Lane; readonly depth: number }[]> {
    const rows = await this.#database.query<Lane & { depth: number }>(sql.depths, [queue ?? null])
    return rows.map(({ depth, ...lane }) => ({ lane, depth }))
  }

  async setAside(lane: Lane, servedTypes: readonly string[], limit: number): Promise<number> {
    const values = [lane.queue, lane.priority, lane.tenant, textArray(servedTypes), limit, this.#slot]
    const [row] = await this.#database.hot<{ moved: number }>(sql.setAside, values)
    return row?.moved ?? 0
  }
}

function laneArrays(lanes: readonly Lane[]): Buffer[] {
  return [
    textArray(lanes.map((lane) => lane.queue)),
    int2Array(lanes.map((lane): Priority => lane.priority)),
    textArray(lanes.map((lane) => lane.tenant)),
    textArray(lanes.map((lane) => lane.gate)),
  ]
}
