import type { Uuid } from '@duly/domain'
import { byKey, type Database, type Statement, unnested } from './database.js'
import { instantArray, int4Array, uuidArray } from './params.js'
import { ms } from './record-sql.js'

/** A definition whose next fire time depends on a time zone and lies ahead. Instants are epoch ms of the store. */
export interface ZonedCron {
  readonly id: Uuid
  readonly version: number
  readonly expression: string
  readonly timezone: string
  readonly startsAtMs: number | null
  readonly endsAtMs: number | null
  readonly jitterMs: number
  readonly nextFireAtMs: number
  /** No fire time up to here is still to be judged. */
  readonly judgedAtMs: number
}

/** Another next fire time; compared: version and fire time as they were read. */
export interface RenewedCron {
  readonly id: Uuid
  readonly version: number
  readonly fromMs: number
  readonly nextMs: number | null
  readonly wakeAtMs: number | null
}

/** By which data the deployment's next fire times are, if all of them are by one, or by newer. */
const fact = 'time_zone_data'

/** A node that was not seen for so long is gone. */
const isThere = `n.seen_at > now() - interval '60 seconds'`

/** Says which data this node has, and tells what the deployment remembers. */
const say: Statement = {
  name: 'say_zone_data',
  text: `
with me as (update nodes n set time_zone_data = $2::text where n.id = $1 and n.time_zone_data is distinct from $2::text)
select (select d.value from deployment d where d.name = '${fact}') as remembered`,
}

/** Unless somebody else did, or a node computes by older data still. */
const remember: Statement = {
  name: 'remember_zone_data',
  text: `
insert into deployment as d (name, value)
select '${fact}', $1::text where not exists (
  select 1 from nodes n where ${isThere} and coalesce(n.time_zone_data, '') collate "C" < $1::text)
on conflict (name) do update set value = excluded.value where d.value is not distinct from $2::text
returning 1`,
}

/**
 * The next $2 definitions behind $1. A change of a zone's rules moves a local time by a day at most (Samoa, 2011), so that what is
 * older than that was judged, whether its firing is still on record or not.
 */
const page: Statement = {
  name: 'page_zoned_cron',
  text: `
select c.id, c.version, c.expression, c.timezone, ${ms('c.starts_at', 'startsAtMs')}, ${ms('c.ends_at', 'endsAtMs')},
  c.jitter_ms::float8 as "jitterMs", ${ms('c.next_fire_at', 'nextFireAtMs')},
  ${ms(`greatest(c.updated_at, f.fire_time, now() - interval '26 hours')`, 'judgedAtMs')},
  c.expression is not null and c.next_fire_at > now() as "isZoned"
from (select c.* from cron_tasks c where c.id > $1 order by c.id limit $2) c
left join lateral (
  select f.fire_time from cron_firings f where f.cron_id = c.id and f.outcome <> 'triggered' and c.next_fire_at > now()
  order by f.fire_time desc limit 1
) f on true
order by c.id`,
}

const renew: Statement = {
  name: 'renew_cron',
  text: `
update cron_tasks c set next_fire_at = i.next_at, wake_at = i.wake_at
from (${unnested([
    ['id', 'uuid'],
    ['version', 'integer'],
    ['from_at', 'timestamptz'],
    ['next_at', 'timestamptz'],
    ['wake_at', 'timestamptz'],
  ])}) i
where ${byKey('c.id', 'i.id')} and c.version = i.version and c.next_fire_at = i.from_at
returning c.id, ${ms('c.wake_at', 'wakeAtMs')}`,
}

type PageRow = ZonedCron & { readonly isZoned: boolean }

/** The rules of time zones by which the deployment's fire times were computed, and the definitions that they concern. */
export class ZoneStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Answers what is remembered; null: nothing yet. */
  async say(node: string, data: string): Promise<string | null> {
    const [row] = await this.#database.query<{ remembered: string | null }>(say, [node, data])
    return row?.remembered ?? null
  }

  /** False: a node has older data still, or something else is remembered by now. */
  async remember(data: string, before: string | null): Promise<boolean> {
    return (await this.#database.query(remember, [data, before])).length > 0
  }

  /** One page by id; `next` is where to go on, null: that was the last. */
  async page(after: Uuid, limit: number): Promise<{ readonly zoned: ZonedCron[]; readonly next: Uuid | null }> {
    const rows = await this.#database.query<PageRow>(page, [after, limit])
    const zoned = rows.filter(({ isZoned }) => isZoned).map(whole)
    return { zoned, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) }
  }

  /** Those that still were as they were read, with the instants at which a node must look for them now. */
  async renew(crons: readonly RenewedCron[]): Promise<{ readonly id: Uuid; readonly wakeAtMs: number | null }[]> {
    if (crons.length === 0) return []
    return this.#database.query(renew, [
      uuidArray(crons.map(({ id }) => id)),
      int4Array(crons.map(({ version }) => version)),
      instantArray(crons.map(({ fromMs }) => fromMs)),
      instantArray(crons.map(({ nextMs }) => nextMs)),
      instantArray(crons.map(({ wakeAtMs }) => wakeAtMs)),
    ])
  }
}

/** PostgreSQL's instants come as doubles: fire times are compared, so that they must be whole again. */
function whole({ isZoned: _, ...row }: PageRow): ZonedCron {
  const rounded = (at: number | null): number | null => (at === null ? null : Math.round(at))
  return {
    ...row,
    startsAtMs: rounded(row.startsAtMs),
    endsAtMs: rounded(row.endsAtMs),
    nextFireAtMs: Math.round(row.nextFireAtMs),
  }
}
