import type { Uuid } from '@duly/domain'
import type { EndedTask } from '../model.js'
import { change } from './commits.js'
import { byKey, type Database, rowsOf, type Statement } from './database.js'
import { waitingEnd } from './transition-parts.js'

/** Where a purge begins: what is PENDING by then is its matter, what comes later is not. Null: there is no such queue. */
const begin: Statement = {
  name: 'begin_purge',
  text: `select now()::text as cutoff from queues q where q.name = $1`,
}

/**
 * Cancels the next $9 waiting tasks of a queue in the order of its lanes, from behind the key ($4 … $8) on, so that a batch does not
 * wade through the dead index entries of those before it. Rows that a claim holds are skipped: they run, or the next call finds
 * them. Tasks of workflows are only named: they end in a transaction of their workflow.
 */
const purge: Statement = {
  name: 'purge_queue',
  text: `
with picked as materialized (
  select r.id, r.priority, r.tenant, r.gate, r.ready_at, r.workflow_id, row_number() over () as place
  from (
    select r.id, r.priority, r.tenant, r.gate, r.ready_at, r.workflow_id from open_tasks r
    where r.status = 'PENDING' and r.queue = $1
      and (r.priority, r.tenant, r.gate, r.ready_at, r.id) > ($4::smallint, $5::text, $6::text, $7::timestamptz, $8::uuid)
      and r.ready_at <= $2::timestamptz
    order by r.queue, r.priority, r.tenant, r.gate, r.ready_at, r.id
    limit $9::integer
    for update skip locked
  ) r
),
gone as materialized (
  delete from open_tasks o using picked k
  where ${byKey('o.id', 'k.id')} and k.workflow_id is null and o.status is not distinct from 'PENDING'
  returning o.*, k.place
),${waitingEnd({ transition: `'cancel'`, actor: '$3', reason: `'purged'`, slot: '$10' })}
select id, queue, priority, tenant, gate, task_type as "taskType", ready_at::text as "readyAt", place::integer, false as "isNode"
from gone
union all
select k.id, null, k.priority, k.tenant, k.gate, null, k.ready_at::text, k.place::integer, true
from picked k where k.workflow_id is not null`,
}

/** Tasks that wait in a queue, from the counters. */
const left: Statement = {
  name: 'purge_left',
  text: `select greatest(coalesce(sum(depth), 0), 0)::float8 as depth from counters where queue = $1`,
}

/** Where the next batch goes on; opaque. */
export type PurgeMark = readonly [priority: number, tenant: string, gate: string, readyAt: string, id: Uuid]

/** Before every task of the queue. */
export const purgeStart: PurgeMark = [0, '', '', '-infinity', '00000000-0000-0000-0000-000000000000']

interface PurgedRow extends EndedTask {
  readonly priority: number
  readonly gate: string
  readonly readyAt: string
  readonly place: number
  readonly isNode: boolean
}

/** Empties queues, batch by batch. */
export class PurgeStore {
  readonly #database: Database
  readonly #slot: number

  constructor(database: Database, options: { slot: number }) {
    this.#database = database
    this.#slot = options.slot
  }

  /** The instant by which tasks must be ready for a purge that begins now; null: there is no such queue. */
  async begin(queue: string): Promise<string | null> {
    const [row] = await this.#database.query<{ cutoff: string }>(begin, [queue])
    return row?.cutoff ?? null
  }

  /** One batch: what it ended, and tasks of workflows that are to be ended so. `mark` is null when nothing is behind it. */
  async batch(
    queue: string,
    options: { readonly cutoff: string; readonly actor: string; readonly after: PurgeMark; readonly limit: number },
  ): Promise<{
    readonly tasks: readonly EndedTask[]
    readonly nodes: readonly Uuid[]
    readonly mark: PurgeMark | null
  }> {
    const { cutoff, actor, after, limit } = options
    const values = [queue, cutoff, actor, ...after, limit, this.#slot]
    const rows = await change(this.#database, (client) => rowsOf<PurgedRow>(client, purge, values), 'hot')
    const last = rows.reduce<PurgedRow | null>((max, row) => (max === null || row.place > max.place ? row : max), null)
    const isLast = rows.length < limit || last === null
    const nodes = rows.filter(({ isNode }) => isNode).map(({ id }) => id)
    return {
      tasks: rows.filter(({ isNode }) => !isNode),
      nodes,
      mark: isLast ? null : [last.priority, last.tenant, last.gate, last.readyAt, last.id],
    }
  }

  async left(queue: string): Promise<number> {
    const [row] = await this.#database.query<{ depth: number }>(left, [queue])
    return row?.depth ?? 0
  }
}
