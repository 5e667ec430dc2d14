import type { Uuid } from '@duly/domain'
import { byKey, type Database, type Statement } from './database.js'

/**
 * Marks the store as writable. When the last mark is more than 3 s old, the time since does not count: every session that
 * lived at that mark gets a fresh, full lease, and no deadline is judged for one lease (15 s at most: a worker with a long one
 * must not switch off the time limits of all others), before anyone is judged.
 */
const mark: Statement = {
  name: 'mark_store',
  text: `
with old as materialized (select marked_at, marked_at < now() - interval '3 seconds' as was_out from store_marks for update),
revived as (
  update worker_sessions s set live_until = now() + s.lease_ms * interval '1 millisecond'
  from old where old.was_out and s.ended_at is null and s.live_until > old.marked_at
  returning s.id, s.lease_ms
),
marked as (
  update store_marks m
  set marked_at = greatest(m.marked_at, now()),
    judge_after = case when old.was_out
      then now() + least(15000, coalesce((select max(lease_ms) from revived), 15000)) * interval '1 millisecond'
      else m.judge_after end
  from old
)
select old.was_out as "wasOut", date_part('epoch', now() - old.marked_at) * 1000 as "sinceMs",
  (select count(*)::integer from revived) as revived
from old`,
}

/** Sessions whose lease ran out die here, once; they are never revived. */
const endDead: Statement = {
  name: 'end_dead_sessions',
  text: `
update worker_sessions s set ended_at = now(), end_reason = 'lost'
where s.ended_at is null and s.live_until <= (select duly_judged_now())
returning s.id, s.name`,
}

/**
 * Sessions that hold running tasks and do not live, by skipping through the session index: looked for on every pass, not
 * once per death, since a hand-off can land after the death was judged.
 */
const deadHolders: Statement = {
  name: 'dead_holders',
  text: `
with recursive holder as (
  (select o.session from open_tasks o where o.session is not null order by o.session limit 1)
  union all
  select (select o.session from open_tasks o where o.session > h.session order by o.session limit 1)
  from holder h where h.session is not null
)
select h.session as id, s.name, coalesce(s.draining, false) as draining, coalesce(n.received, 0) as received
from holder h left join worker_sessions s on ${byKey('s.id', 'h.session')}
left join session_grants n on ${byKey('n.session', 'h.session')}
where h.session is not null and (s.id is null or s.ended_at is not null or s.live_until <= (select duly_judged_now()))
limit 1000`,
}

/** A session that is dead and still holds tasks. */
export interface DeadHolder {
  readonly id: Uuid
  readonly name: string | null
  readonly draining: boolean
  readonly received: number
}

/** What the watchdog asks of the store. */
export class WatchStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async mark(): Promise<{ wasOut: boolean; sinceMs: number; revived: number }> {
    const [row] = await this.#database.hot<{ wasOut: boolean; sinceMs: number; revived: number }>(mark, [])
    return row ?? { wasOut: false, sinceMs: 0, revived: 0 }
  }

  endDead(): Promise<{ id: Uuid; name: string }[]> {
    return this.#database.hot(endDead, [])
  }

  deadHolders(): Promise<DeadHolder[]> {
    return this.#database.hot<DeadHolder>(deadHolders, [])
  }
}
