import type { Uuid } from '@duly/domain'
import type { OwnConnection } from '../own-connection.js'
import { uuidArray } from '../params.js'

/** What one step through the finished tasks of a range found. */
export interface Step {
  /** Where the next step begins; null: nothing was left to look at. */
  readonly last: Uuid | null
  /** Finished tasks whose records stay, and those whose records can go. */
  readonly staying: readonly Uuid[]
  readonly going: readonly Uuid[]
}

const stepFinished = {
  name: 'retention_step_finished',
  text: `
select (array_agg(w.id order by w.id desc))[1] as last,
  coalesce(array_agg(w.id) filter (where w.stays), '{}') as staying,
  coalesce(array_agg(w.id) filter (where not w.stays), '{}') as going
from (
  select u.id, duly_stays(u.id, u.status, u.completed_at, u.discarded_at, $3::timestamptz) as stays
  from outcomes u where u.id > $1::uuid and u.id < $2::uuid order by u.id limit $4
) w`,
}

const stepOpen = {
  name: 'retention_step_open',
  text: `select o.id from open_tasks o where o.id > $1::uuid and o.id < $2::uuid order by o.id limit $3`,
}

const countOpen = {
  name: 'retention_count_open',
  text: `
select count(*)::integer as open
from (select 1 from open_tasks o where o.id > $1::uuid and o.id < $2::uuid limit $3) o`,
}

/** The outcome is the compare-and-set: what was replayed meanwhile has none. */
const remove = {
  name: 'retention_remove',
  text: `
with gone as materialized (
  delete from outcomes u
  where u.id = any ($1::uuid[]) and u.id >= $2::uuid and u.id < $3::uuid
    and not duly_stays(u.id, u.status, u.completed_at, u.discarded_at, $4::timestamptz)
  returning u.id
),
asked as (delete from tasks t using gone g where t.id = g.id and t.id >= $2::uuid and t.id < $3::uuid)
select count(*)::integer as removed from gone`,
}

/** A range of ids that is looked at or rewritten. */
export interface Range {
  readonly lower: Uuid
  readonly upper: Uuid
}

/** Records of single tasks: which can go, and their removal one by one. */
export class RecordStore {
  readonly #connection: OwnConnection

  constructor(connection: OwnConnection) {
    this.#connection = connection
  }

  /** Looks at the next `limit` finished tasks after an id. */
  async stepFinished(after: Uuid, upper: Uuid, options: { cutoff: string; limit: number }): Promise<Step> {
    const [row] = await this.#connection.query<Step>(stepFinished, [after, upper, options.cutoff, options.limit])
    return row ?? { last: null, staying: [], going: [] }
  }

  /** The next `limit` open tasks after an id. */
  async stepOpen(after: Uuid, upper: Uuid, limit: number): Promise<Uuid[]> {
    return (await this.#connection.query<{ id: Uuid }>(stepOpen, [after, upper, limit])).map(({ id }) => id)
  }

  /** How many open tasks a range has; counting ends at `most`. */
  async countOpen({ lower, upper }: Range, most: number): Promise<number> {
    const [row] = await this.#connection.query<{ open: number }>(countOpen, [lower, upper, most])
    return row?.open ?? 0
  }

  /** Removes those of these tasks that can still go; answers how many. */
  async remove(ids: readonly Uuid[], { lower, upper }: Range, cutoff: string): Promise<number> {
    const [row] = await this.#connection.query<{ removed: number }>(remove, [uuidArray(ids), lower, upper, cutoff])
    return row?.removed ?? 0
  }
}
