import type { TenantScope } from '@duly/domain'
import type { QueueRecord } from '../model.js'
import type { Database, Statement } from './database.js'
import { ofTenant } from './tenant-scope.js'

/**
 * Depths from the counters, the oldest from the head of each lane, running from the session index (bounded by slots). For one tenant:
 * its own figures, of the queues in which it had work waiting once or runs some now.
 */
const list: Statement = {
  name: 'list_queues',
  text: `
with lane as materialized (
  select queue, priority, tenant, gate, sum(depth) as depth from counters
  where ${ofTenant('tenant', '$1')}
  group by 1, 2, 3, 4 having sum(depth) > 0
),
busy as materialized (
  select o.queue, count(*) as running from open_tasks o where o.session is not null and ${ofTenant('o.tenant', '$1')} group by 1
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
from queues q
where $1::text is null or exists (select from counters n where n.queue = q.name and n.tenant = $1::text)
  or exists (select from busy b where b.queue = q.name)
order by q.name limit 10000`,
}

/** Queues as the API lists them. */
export class QueueStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(tenant: TenantScope): Promise<QueueRecord[]> {
    type ListRow = Omit<QueueRecord, 'depthByPriority' | 'depthByTenant'> & {
      readonly high: number
      readonly medium: number
      readonly low: number
      readonly tenants: QueueRecord['depthByTenant']
    }
    const rows = await this.#database.query<ListRow>(list, [tenant])
    return rows.map(({ high, medium, low, tenants, ...row }) => ({
      ...row,
      depthByPriority: { high, medium, low },
      depthByTenant: tenants,
    }))
  }
}
