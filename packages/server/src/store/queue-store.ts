import type { TenantScope } from '@duly/domain'
import type { QueueRecord } from '../model.js'
import { changeBy } from './commits.js'
import type { Database, Statement } from './database.js'
import { ofTenant } from './tenant-scope.js'

/**
 * A page of queues, or one by its name. Depths from the counters, the oldest from the head of each lane, running from the session
 * index (bounded by slots). For one tenant: its own figures, of the queues in which it had work waiting once or runs some now.
 */
const list: Statement = {
  name: 'list_queues',
  text: `
with busy as materialized (
  select o.queue, count(*) as running from open_tasks o where o.session is not null and ${ofTenant('o.tenant', '$1')}
  group by 1
),
page as materialized (
  select q.name, q.paused from queues q
  where ($2::text is null or q.name > $2::text) and ($4::text is null or q.name = $4::text)
    and ($1::text is null or exists (select from counters n where n.queue = q.name and n.tenant = $1::text)
      or exists (select from busy b where b.queue = q.name))
  order by q.name limit $3::integer
),
lane as materialized (
  select n.queue, n.priority, n.tenant, n.gate, sum(n.depth) as depth
  from page p join counters n on n.queue = p.name where ${ofTenant('n.tenant', '$1')}
  group by 1, 2, 3, 4 having sum(n.depth) > 0
)
select q.name, q.paused,
  coalesce((select sum(l.depth) from lane l where l.queue = q.name), 0)::float8 as depth,
  coalesce((select sum(l.depth) from lane l where l.queue = q.name and l.priority = 1), 0)::float8 as high,
  coalesce((select sum(l.depth) from lane l where l.queue = q.name and l.priority = 2), 0)::float8 as medium,
  coalesce((select sum(l.depth) from lane l where l.queue = q.name and l.priority = 3), 0)::float8 as low,
  coalesce((select jsonb_agg(jsonb_build_object('tenantId', d.tenant, 'depth', d.depth)) from (
    select l.tenant, sum(l.depth) as depth from lane l where l.queue = q.name group by 1 order by 2 desc, 1 limit 100) d),
    '[]') as tenants,
  coalesce((select b.running from busy b where b.queue = q.name), 0)::float8 as running,
  (select date_part('epoch', min(h.ready_at)) * 1000 from lane l cross join lateral (
    select o.ready_at from open_tasks o
    where o.status = 'PENDING' and o.queue = l.queue and o.priority = l.priority and o.tenant = l.tenant and o.gate = l.gate
    order by o.ready_at, o.id limit 1) h where l.queue = q.name) as "oldestReadyAtMs"
from page q order by q.name`,
}

/** A queue that does not exist comes into being, paused, while there are fewer than $2. A row that was there has been locked: xmax tells. */
const pause: Statement = {
  name: 'pause_queue',
  text: `
insert into queues (name, paused, paused_at)
select $1, true, now() where exists (select from queues q where q.name = $1) or (select count(*) from queues) < $2::integer
on conflict (name) do update set paused = true, paused_at = case when queues.paused then queues.paused_at else now() end
returning xmax = 0 as created`,
}

const resume: Statement = {
  name: 'resume_queue',
  text: `update queues set paused = false, paused_at = null where name = $1 returning name`,
}

interface ListRow extends Omit<QueueRecord, 'depthByPriority' | 'depthByTenant'> {
  readonly high: number
  readonly medium: number
  readonly low: number
  readonly tenants: QueueRecord['depthByTenant']
}

/** Queues as the API shows them, and whether they are paused. */
export class QueueStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Up to `limit` queues by name, from behind `after` on. */
  list(tenant: TenantScope, page: { readonly after: string | null; readonly limit: number }): Promise<QueueRecord[]> {
    return this.#read([tenant, page.after, page.limit, null])
  }

  async get(name: string, tenant: TenantScope): Promise<QueueRecord | null> {
    const [queue] = await this.#read([tenant, null, 1, name])
    return queue ?? null
  }

  /** Whether the queue is new; null: there is no such queue, and no room for another beside the `limit` that there are. */
  async pause(name: string, limit: number): Promise<boolean | null> {
    return (await changeBy<{ created: boolean }>(this.#database, pause, [name, limit]))[0]?.created ?? null
  }

  /** False: there is no such queue. */
  async resume(name: string): Promise<boolean> {
    return (await changeBy(this.#database, resume, [name])).length > 0
  }

  async #read(values: readonly unknown[]): Promise<QueueRecord[]> {
    const rows = await this.#database.query<ListRow>(list, values)
    return rows.map(({ high, medium, low, tenants, ...row }) => ({
      ...row,
      depthByPriority: { high, medium, low },
      depthByTenant: tenants,
    }))
  }
}
