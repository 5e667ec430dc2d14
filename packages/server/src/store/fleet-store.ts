import type { TenantScope, Uuid } from '@duly/domain'
import type { WorkerFilter, WorkerRecord } from '../model.js'
import type { Database, Statement } from './database.js'
import { ofTenant } from './tenant-scope.js'

const state = `case
  when s.end_reason = 'left' then 'left'
  when s.ended_at is not null or s.live_until <= (select duly_judged_now()) then 'lost'
  when s.draining then 'draining'
  else 'live' end`

const ms = (column: string, name: string): string => `date_part('epoch', ${column}) * 1000 as "${name}"`

/** `names` cuts a session's lists of names, which can be long. */
const columns = (names: string): string => `
  s.id, s.name, s.host, s.version, ${state} as state, s.tenant, s.queues${names} as queues, cardinality(s.queues) as "queueCount",
  s.task_types${names} as "taskTypes", cardinality(s.task_types) as "taskTypeCount", s.slots,
  (select count(*)::integer from open_tasks o where o.session = s.id) as running,
  ${ms('s.registered_at', 'registeredAtMs')}, ${ms('s.beat_at', 'beatAtMs')}, s.heartbeat_ms as "heartbeatMs",
  s.lease_ms as "leaseMs", ${ms('s.ended_at', 'endedAtMs')}, s.lag_ms as "lagMs", s.rss_bytes::float8 as "rssBytes"`

const page = (condition: string): string => `
select ${columns('[1:100]')} from worker_sessions s
where ${condition} and ${ofTenant('s.tenant', '$1')} and ($2::uuid is null or s.id < $2::uuid)
order by s.id desc limit $3::integer`

/** Those that are there: as many as workers live now. */
const present: Statement = {
  name: 'list_workers',
  text: page(
    `s.ended_at is null and s.live_until > (select duly_judged_now()) and ($4::boolean is null or s.draining = $4::boolean)`,
  ),
}

const ended: Statement = { name: 'list_ended_workers', text: page('s.ended_at is not null') }

const read: Statement = {
  name: 'read_worker',
  text: `select ${columns('')} from worker_sessions s where s.id = $1 and ${ofTenant('s.tenant', '$2')}`,
}

/** Workers as operators see them. */
export class FleetStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The youngest first: those registered before `after`. */
  list(filter: WorkerFilter, page: { readonly after: Uuid | null; readonly limit: number }): Promise<WorkerRecord[]> {
    const { tenant, state } = filter
    const values = [tenant, page.after, page.limit]
    if (state === 'ended') return this.#database.query<WorkerRecord>(ended, values)
    return this.#database.query<WorkerRecord>(present, [...values, state === null ? null : state === 'draining'])
  }

  async get(id: Uuid, tenant: TenantScope): Promise<WorkerRecord | null> {
    const [row] = await this.#database.query<WorkerRecord>(read, [id, tenant])
    return row ?? null
  }
}
