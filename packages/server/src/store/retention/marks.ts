import type { OwnConnection } from '../own-connection.js'

/** What counts as past in one pass, by the store's clock (I8). */
export interface Frame {
  /** Days that finished tasks stay: the longest that a live node was told. */
  readonly days: number
  /** Tasks that finished before this are past; as the store writes instants. */
  readonly cutoff: string
  /** The same for idempotency keys. */
  readonly keyCutoff: string
  /** Ids below this belong to days that are past as a whole. */
  readonly edge: string
}

/** A key outlives the end of its task by this at most, and never its record. */
const keyDays = 30

const readFrame = {
  name: 'retention_frame',
  text: `
select d.days, (now() - d.days * interval '24 hours')::text as cutoff,
  (now() - least(d.days, $2::integer) * interval '24 hours')::text as "keyCutoff",
  duly_day_bound(((now() - d.days * interval '24 hours') at time zone 'UTC')::date) as edge
from (select greatest($1::integer, max(n.retention_days)) as days from nodes n where n.seen_at > now() - interval '60 seconds') d`,
}

const isDone = {
  name: 'retention_is_done',
  text: `select 1 from retention_marks m where m.name = $1 and m.done_at > now() - $2::bigint * interval '1 millisecond'`,
}

const markDone = {
  name: 'retention_mark_done',
  text: `
insert into retention_marks (name, done_at) values ($1, now())
on conflict (name) do update set done_at = excluded.done_at`,
}

/** Looks at partitions that are gone tell nothing any more. */
const forgetLooks = {
  name: 'retention_forget_looks',
  text: `delete from retention_marks m where m.name like 'look %' and to_regclass('tasks_' || substr(m.name, 6)) is null`,
}

/** When what was done last: one record for all nodes, so that a restart repeats nothing. */
export class RetentionMarks {
  readonly #connection: OwnConnection

  constructor(connection: OwnConnection) {
    this.#connection = connection
  }

  async frame(ownDays: number): Promise<Frame> {
    const [row] = await this.#connection.query<Frame>(readFrame, [ownDays, keyDays])
    if (!row) throw new Error('the store did not tell the time')
    return row
  }

  /** Was it done within so many ms? */
  async isDone(name: string, withinMs: number): Promise<boolean> {
    return (await this.#connection.query(isDone, [name, withinMs])).length > 0
  }

  async markDone(name: string): Promise<void> {
    await this.#connection.query(markDone, [name])
  }

  async forgetLooks(): Promise<void> {
    await this.#connection.query(forgetLooks)
  }
}
