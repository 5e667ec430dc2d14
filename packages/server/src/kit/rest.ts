import type { Uuid } from '@duly/domain'
import type { StoreTime } from './store-time.js'

/** A task that has something to do at the present instant. */
export interface RestlessTask {
  readonly id: Uuid
  /** Its own; `FIRING`: of a recurring task whose time has come; `OPERATING`: of an operation on many tasks that goes on. */
  readonly status: string
  readonly taskType: string
  readonly queue: string
  readonly attempt: number
  /** Who runs it. */
  readonly worker: string | null
}

/** How a store stands at an instant. */
export interface Rest {
  /** The present instant, epoch ms. */
  readonly atMs: number
  /** Some of the tasks that are not at rest; none: nothing happens any more until time passes. */
  readonly restless: readonly RestlessTask[]
  /** What is due next, to the microsecond as PostgreSQL writes it; null: nothing is. */
  readonly next: string | null
}

const shown = 20

/**
 * A task is not at rest while it runs (at a lost worker: once the lease is over), while a live worker could take it, and while its time has come; a recurring task is not
 * while its time has come, nor while what it made waits for the end of what it made before. A task that no worker serves rests:
 * it waits for one. `next` is the earliest instant that lies ahead, by the indexes of timers and of recurring
 * tasks, and the leases of lost workers.
 */
const look = {
  name: 'rest',
  text: `
with live as materialized (
  select queues, task_types, tenant from worker_sessions
  where ended_at is null and not draining and id not in (select session from virtual.lost)
),
restless as (
  (select o.id, o.status, o.task_type, o.queue, o.attempt, s.name as worker
   from open_tasks o left join worker_sessions s on s.id = o.session where o.session is not null
     and not exists (select 1 from virtual.lost l where l.session = o.session and l.until > now())
   limit ${shown})
  union all
  (select o.id, o.status, o.task_type, o.queue, o.attempt, null
   from open_tasks o
   where o.status = 'PENDING'
     and exists (select 1 from live l where o.queue = any (l.queues) and o.task_type = any (l.task_types)
       and (l.tenant is null or l.tenant = o.tenant))
     and not exists (select 1 from queues q where q.name = o.queue and q.paused)
   limit ${shown})
  union all
  (select o.id, o.status, o.task_type, o.queue, o.attempt, null
   from open_tasks o where o.partition = 0 and o.wake_at <= now() and o.deadline_at is null limit ${shown})
  union all
  (select o.id, o.status, o.task_type, o.queue, o.attempt, null
   from open_tasks o where o.status = 'BLOCKED' and o.cron_id is not null limit ${shown})
  union all
  (select c.id, 'FIRING', c.task_type, c.queue, 0, null
   from cron_tasks c where c.enabled and c.wake_at is not null and c.wake_at <= now() limit ${shown})
  union all
  (select b.id, 'OPERATING', b.action, b.source, 0, null from bulk_operations b where b.runnable_at is not null limit ${shown})
)
select date_part('epoch', now()) * 1000 as "atMs",
  (select min(n.wake_at)::text from (
    (select o.wake_at from open_tasks o
     where o.partition = 0 and o.wake_at > now() and o.deadline_at is null order by o.wake_at limit 1)
    union all
    (select c.wake_at from cron_tasks c where c.enabled and c.wake_at is not null and c.wake_at > now()
     order by c.wake_at limit 1)
    union all
    (select l.until from virtual.lost l where l.until > now() order by l.until limit 1)) n) as next,
  (select coalesce(json_agg(json_build_object('id', r.id, 'status', r.status, 'taskType', r.task_type, 'queue', r.queue,
     'attempt', r.attempt, 'worker', r.worker) order by r.id), '[]') from restless r) as restless`,
}

/** How it stands now. */
export async function lookAtRest({ client }: StoreTime): Promise<Rest> {
  const { rows } = await client.query<Rest>(look)
  return rows[0] as Rest
}
