import type { Uuid } from '@duly/domain'
import { byKey, type Database, type Statement } from './database.js'
import { leaderLeaseMs } from './leader-store.js'

const seconds = (ms: number): string => `interval '${ms / 1_000} seconds'`

const isDead = 's.ended_at is null and s.live_until <= (select duly_judged_now())'

/** Sessions that hold running tasks, by skipping through the session index. */
const holders = `
with recursive holder as (
  (select o.session from open_tasks o where o.session is not null order by o.session limit 1)
  union all
  select (select o.session from open_tasks o where o.session > h.session order by o.session limit 1)
  from holder h where h.session is not null
)`

/**
 * Marks the store as writable, says that node $1 lives, and tells whether the watchdog has anything to do: one statement a
 * second, all that a scheduler at rest needs. When the last mark is more than 3 s old, the time since does not count: every
 * session and every node that lived at that mark gets a fresh, full lease, and no deadline is judged for one lease (15 s at
 * most: a worker with a long one must not switch off the time limits of all others), before anyone is judged.
 *
 * What it tells was true before it wrote: after an outage that is worth nothing.
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
seen as (
  update nodes n set seen_at = now()
  from old where n.id = $1 or (old.was_out and n.seen_at > old.marked_at - ${seconds(leaderLeaseMs)})
  returning n.id
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
  (select count(*)::integer from revived) as revived,
  exists (select 1 from seen where seen.id = $1) as "isKnown",
  exists (select 1 from worker_sessions s where ${isDead})
    or exists (${holders}
      select 1 from holder h where h.session is not null and not exists (
        select 1 from worker_sessions s where ${byKey('s.id', 'h.session')}
          and s.ended_at is null and s.live_until > (select duly_judged_now())))
    or exists (select 1 from open_tasks o where o.deadline_at is not null and o.wake_at <= now()
      and (select judge_after <= now() from store_marks)) as "isAwaited",
  exists (select 1 from bulk_operations b where b.runnable_at <= now()) as "isBulkAwaited",
  exists (select 1 from unsettled_ends) or exists (select 1 from workflows w where w.sweep_reason is not null) as "isUnsettled",
  (select count(*)::integer from nodes n where n.id <> $1 and n.seen_at > now() - interval '10 seconds') as others,
  array(select n.id from nodes n
    where 'scheduler' = any (n.roles)
      and (n.id = $1 or (n.seen_at > now() - ${seconds(leaderLeaseMs)} and n.seen_at > n.started_at))
    order by n.number) as schedulers,
  (select coalesce(sum(p.epoch), 0)::float8 from partitions p) as version
from old`,
}

/** Sessions whose lease ran out die here, once; they are never revived. */
const endDead: Statement = {
  name: 'end_dead_sessions',
  text: `
update worker_sessions s set ended_at = now(), end_reason = 'lost'
where ${isDead}
returning s.id, s.name`,
}

/** Looked for on every pass, not once per death, since a hand-off can land after the death was judged. */
const deadHolders: Statement = {
  name: 'dead_holders',
  text: `${holders}
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

/** What a mark tells. */
export interface Marked {
  /** The last mark was too old: what follows was judged before leases were renewed. */
  readonly wasOut: boolean
  readonly sinceMs: number
  /** Sessions whose lease was renewed. */
  readonly revived: number
  /** The node has its row; else it was forgotten and has to come back. */
  readonly isKnown: boolean
  /** A session is to be ended, or an attempt to be taken back or ended. */
  readonly isAwaited: boolean
  /** An operation on many tasks waits for a node that works at it. */
  readonly isBulkAwaited: boolean
  /** Ends in workflows are to be passed on. */
  readonly isUnsettled: boolean
  /** Other nodes that were seen in the last 10 s. */
  readonly others: number
  /** Nodes of that role that live, by their numbers; one that has just joined counts from its first mark on. */
  readonly schedulers: readonly Uuid[]
  /** Goes up whenever a partition changes hands. */
  readonly version: number
}

/** What the watchdog asks of the store. */
export class WatchStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** By the node of that id; by none, in tests. */
  async mark(node: Uuid | null = null): Promise<Marked> {
    const [row] = await this.#database.hot<Marked>(mark, [node])
    if (!row) throw new Error('the row of store_marks is gone: the database was tampered with')
    return row
  }

  endDead(): Promise<{ id: Uuid; name: string }[]> {
    return this.#database.hot(endDead, [])
  }

  deadHolders(): Promise<DeadHolder[]> {
    return this.#database.hot<DeadHolder>(deadHolders, [])
  }
}
