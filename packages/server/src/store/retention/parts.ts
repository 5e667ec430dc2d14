import type { Uuid } from '@duly/domain'
import type { OwnConnection } from '../own-connection.js'

/** The partitions of `tasks` and `outcomes` for one day, or for the old days of one month, all or so far. */
export interface Part {
  /** `YYYYMMDD` or `YYYYMM`: what the tables' names end with. */
  readonly suffix: string
  /** Ids from here … */
  readonly lower: Uuid
  /** … to below this. */
  readonly upper: Uuid
  /** The month that it lies in, `YYYYMM`, and that month's ids. */
  readonly month: string
  readonly monthLower: Uuid
  readonly monthUpper: Uuid
  readonly isMonth: boolean
  /** All its tasks were made longer ago than the retention. */
  readonly isPast: boolean
  /** Its whole month is older than the retention and than the age at which days become months. */
  readonly isMonthOld: boolean
  /** It was not looked at within a day. */
  readonly isDue: boolean
}

const readParts = {
  name: 'retention_parts',
  text: `
with part as (
  select p.suffix, p.ids, length(p.suffix) = 6 as is_month, to_date(rpad(p.suffix, 8, '01'), 'YYYYMMDD') as first
  from (
    select substr(c.relname, 7) as suffix,
      regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''([^'']+)''\\) TO \\(''([^'']+)''\\)')::uuid[] as ids
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'tasks'::regclass and c.relname ~ '^tasks_[0-9]{6}([0-9]{2})?$'
  ) p
),
bound as (
  select p.*, case when p.is_month then (p.first + interval '1 month')::date else p.first + 1 end as last,
    date_trunc('month', p.first::timestamp)::date as month_first,
    (date_trunc('month', p.first::timestamp) + interval '1 month')::date as month_last
  from part p
)
select b.suffix, b.ids[1] as lower, b.ids[2] as upper, to_char(b.first, 'YYYYMM') as month,
  duly_day_bound(b.month_first) as "monthLower", duly_day_bound(b.month_last) as "monthUpper",
  b.is_month as "isMonth", b.last::timestamp at time zone 'UTC' <= now() - $1::integer * interval '24 hours' as "isPast",
  b.month_last::timestamp at time zone 'UTC' <= now() - greatest($1::integer, $2::integer) * interval '24 hours' as "isMonthOld",
  not exists (select 1 from retention_marks m where m.name = 'look ' || b.suffix and m.done_at > now() - interval '20 hours')
    as "isDue"
from bound b order by b.first`,
}

/** Days older than this become months, once the retention has passed too. */
const daysUntilMonths = 60

/** All partitions, oldest first, as a retention of `days` sees them. */
export function partsOf(connection: OwnConnection, days: number): Promise<Part[]> {
  return connection.query<Part>(readParts, [days, daysUntilMonths])
}

const readAge = {
  name: 'retention_age',
  text: `
select date_part('epoch', now()) * 1000 as "atMs",
  coalesce(date_part('epoch', now() - min(to_date(rpad(substr(c.relname, 7), 8, '01'), 'YYYYMMDD'))) * 1000, 0) as "oldestMs"
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'tasks'::regclass and c.relname ~ '^tasks_[0-9]{6}([0-9]{2})?$'`,
}

/** The store's time, and how long ago its oldest partition begins. */
export async function ageOf(connection: OwnConnection): Promise<{ atMs: number; oldestMs: number }> {
  const [row] = await connection.query<{ atMs: number; oldestMs: number }>(readAge)
  return row ?? { atMs: 0, oldestMs: 0 }
}
