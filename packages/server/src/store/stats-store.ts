import type { TenantScope, Uuid } from '@duly/domain'
import type { Database, Statement } from './database.js'
import { byteaArray, instantArray, int4Array, textArray } from './params.js'
import { ofTenant } from './tenant-scope.js'

export type StatsKind = 'all' | 'queue' | 'task_type' | 'tenant' | 'lane'

/** Both have no blank. Of one minute, and of starts alone. */
export const laneName = (queue: string, tenant: string): string => `${queue} ${tenant}`

/** What is counted. */
export const statsCounts = [
  'submitted',
  'started',
  'succeeded',
  'failed',
  'dead',
  'cancelled',
  'retried',
  'lost',
  'timed_out',
] as const
export type StatsSums = Record<(typeof statsCounts)[number], number>

/** Names beyond what is kept apart; no name of ours has parentheses. */
export const otherName = '(other)'

/** The figures of one name in one minute or hour. */
export interface StatsRow extends Readonly<StatsSums> {
  readonly kind: StatsKind
  readonly name: string
  readonly startMs: number
  readonly wait: Uint8Array
  readonly run: Uint8Array
  /** Of one minute: when in it the first start came. */
  readonly firstMs?: number | null
  /** … and up to where it was counted. */
  readonly untilMs?: number | null
}

/** A span of time of which there are figures. */
export interface StatsSpan {
  readonly startMs: number
  /** How long its end is past. */
  readonly agoMs: number
  readonly isSummed: boolean
}

/** Sums over rows; the histograms stand one behind the other. */
export type StatsSum = Omit<StatsRow, 'startMs' | 'firstMs' | 'untilMs'>

/** Rows of a grain, in seconds, that begin in `[fromMs, toMs)`. */
export interface StatsSegment {
  readonly seconds: number
  readonly fromMs: number
  readonly toMs: number
}

const columns = statsCounts.join(', ')
const instant = (parameter: string): string => `to_timestamp(${parameter}::float8 / 1000)`

/** Rows as they stand now, in the order of their keys: whoever writes the same ones waits, and nobody waits in a circle. */
const write: Statement = {
  name: 'write_stats',
  text: `
insert into stats_rollups (grain, writer, kind, start, name, ${columns}, wait, run, first_ms, until_ms)
select $1::integer, $2::uuid, i.* from unnest($3::text[], $4::timestamptz[], $5::text[],
  ${statsCounts.map((_, place) => `$${place + 6}::integer[]`).join(', ')}, $15::bytea[], $16::bytea[], $17::integer[], $18::integer[]) as i
  (kind, start, name, ${columns}, wait, run, first_ms, until_ms)
order by i.kind, i.start, i.name
on conflict (grain, kind, start, name, writer) do update
set ${[...statsCounts, 'wait', 'run', 'first_ms', 'until_ms'].map((column) => `${column} = excluded.${column}`).join(', ')}`,
}

const sums = `
  ${statsCounts.map((column) => `sum(r.${column})::float8 as ${column}`).join(', ')},
  coalesce(string_agg(r.wait, ''::bytea), '') as wait, coalesce(string_agg(r.run, ''::bytea), '') as run`

const volume = 'sum(r.submitted + r.started + r.succeeded + r.failed + r.dead + r.cancelled + r.retried)'

/**
 * One pass over the rows. The histograms of names that are cut off are gathered in vain: keeping the rows to read those of the
 * others afterwards took twice as long, most of it for writing them to disk.
 */
const read: Statement = {
  name: 'read_stats',
  text: `
select $1::text as kind, r.name, ${sums}
from unnest($2::integer[], $3::timestamptz[], $4::timestamptz[]) as s (grain, first, until)
cross join lateral (
  select r.* from stats_rollups r where r.grain = s.grain and r.kind = $1::text and r.start >= s.first and r.start < s.until
    and ($5::text is null or r.name = $5::text) offset 0
) r
group by r.name order by ${volume} desc, r.name limit $6::integer`,
}

const sumUp: Statement = {
  name: 'sum_up_stats',
  text: `
select r.kind, r.name, ${sums} from stats_rollups r
where r.grain = $2::integer and r.kind = $1::text and r.start >= ${instant('$3')} and r.start < ${instant('$4')}
group by r.kind, r.name order by ${volume} desc, r.name`,
}

/** Whole spans of $2 seconds that are past and of which there are rows of the grain below, $1; the earliest first. */
const unsummed: Statement = {
  name: 'stats_spans',
  text: `
select s.at * 1000 as "startMs", (date_part('epoch', now()) - s.at - $2::float8) * 1000 as "agoMs",
  exists (select from stats_rollups r where r.grain = $2::integer and r.kind = 'all' and r.start = to_timestamp(s.at)) as "isSummed"
from (
  select distinct floor(date_part('epoch', r.start) / $2::float8) * $2::float8 as at from stats_rollups r
  where r.grain = $1::integer and r.kind = 'all'
) s
where s.at + $2::float8 <= date_part('epoch', now()) order by s.at`,
}

/** Where each grain's sums end. */
const summedUntil: Statement = {
  name: 'stats_summed_until',
  text: `
select g.seconds, (date_part('epoch', r.start) + g.seconds) * 1000 as "untilMs"
from unnest($1::integer[]) as g (seconds) cross join lateral (
  select r.start from stats_rollups r where r.grain = g.seconds and r.kind = 'all' order by r.start desc limit 1) r`,
}

const prune: Statement = {
  name: 'prune_stats',
  text: `
delete from stats_rollups r where r.ctid = any (array(
  select o.ctid from stats_rollups o
  where o.grain = $1::integer and o.kind = $2::text and o.start < ${instant('$3')} limit $4::integer))
returning 1`,
}

const depthOfQueues: Statement = {
  name: 'stats_depth_by_queue',
  text: `select n.queue as name, sum(n.depth)::float8 as value from counters n group by 1`,
}

const depthOfTenants: Statement = {
  name: 'stats_depth_by_tenant',
  text: `
select n.tenant as name, sum(n.depth)::float8 as value from counters n where n.tenant = any ($1::text[]) group by 1`,
}

/** Running tasks by the session index, which is bounded by slots. */
const running = (column: 'queue' | 'task_type' | 'tenant'): Statement => ({
  name: `stats_running_by_${column}`,
  text: `
select o.${column} as name, count(*)::float8 as value from open_tasks o
where o.session is not null and ${ofTenant('o.tenant', '$1')} group by 1`,
})
const runningBy = { queue: running('queue'), task_type: running('task_type'), tenant: running('tenant') }

interface Named {
  readonly name: string
  readonly value: number
}

const sumsWriter: Uuid = '00000000-0000-0000-0000-000000000000'
const writeLimit = 500

/** Rollups of what tasks did. */
export class StatsStore {
  readonly #database: Database
  readonly #writer: Uuid

  /** @param options.writer this node's own, which no other process ever has */
  constructor(database: Database, options: { writer: Uuid }) {
    this.#database = database
    this.#writer = options.writer
  }

  /** This node's own figures, whole: they take the place of what it wrote before. */
  writeMinute(rows: readonly StatsRow[]): Promise<void> {
    return this.#write(60, this.#writer, rows)
  }

  /** Sums over all writers. */
  writeSums(seconds: number, rows: readonly StatsRow[]): Promise<void> {
    return this.#write(seconds, sumsWriter, rows)
  }

  /** By name, those with the most events first. */
  read(
    kind: StatsKind,
    segments: readonly StatsSegment[],
    options: { readonly name: string | null; readonly limit: number },
  ): Promise<StatsSum[]> {
    return this.#database.query<StatsSum>(read, [
      kind,
      int4Array(segments.map((segment) => segment.seconds)),
      instantArray(segments.map((segment) => segment.fromMs)),
      instantArray(segments.map((segment) => segment.toMs)),
      options.name,
      options.limit,
    ])
  }

  /** Rows of one segment, summed up by name, those with the most events first. */
  sumUp(kind: StatsKind, { seconds, fromMs, toMs }: StatsSegment): Promise<StatsSum[]> {
    return this.#database.query<StatsSum>(sumUp, [kind, seconds, fromMs, toMs])
  }

  /** Whole, past spans of `seconds` of which there are rows of the grain `below`, the earliest first. */
  spans(below: number, seconds: number): Promise<StatsSpan[]> {
    return this.#database.query<StatsSpan>(unsummed, [below, seconds])
  }

  /** Up to when each of these grains is summed up; one without sums is left out. */
  async summedUntilMs(grains: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.#database.query<{ seconds: number; untilMs: number }>(summedUntil, [int4Array(grains)])
    return new Map(rows.map(({ seconds, untilMs }) => [seconds, untilMs]))
  }

  /** Deletes rows before an instant, at most `limit`; answers how many. */
  async prune(seconds: number, kind: StatsKind, options: { beforeMs: number; limit: number }): Promise<number> {
    return (await this.#database.query(prune, [seconds, kind, options.beforeMs, options.limit])).length
  }

  /** Tasks that wait, by queue, over all tenants: the sum of a row for each lane and writer. May be negative while tasks move. */
  async depthOfQueues(): Promise<Map<string, number>> {
    return toMap(await this.#database.query<Named>(depthOfQueues))
  }

  /** Tasks that wait, of some tenants. May be negative while tasks move. */
  async depthOfTenants(tenants: readonly string[]): Promise<Map<string, number>> {
    return toMap(await this.#database.query<Named>(depthOfTenants, [textArray(tenants)]))
  }

  async runningBy(kind: 'queue' | 'task_type' | 'tenant', tenant: TenantScope): Promise<Map<string, number>> {
    return toMap(await this.#database.query<Named>(runningBy[kind], [tenant]))
  }

  async #write(seconds: number, writer: Uuid, rows: readonly StatsRow[]): Promise<void> {
    for (let first = 0; first < rows.length; first += writeLimit) {
      const some = rows.slice(first, first + writeLimit)
      await this.#database.query(write, [
        seconds,
        writer,
        textArray(some.map((row) => row.kind)),
        instantArray(some.map((row) => row.startMs)),
        textArray(some.map((row) => row.name)),
        ...statsCounts.map((name) => int4Array(some.map((row) => Math.min(row[name], 2 ** 31 - 1)))),
        byteaArray(some.map((row) => Buffer.from(row.wait))),
        byteaArray(some.map((row) => Buffer.from(row.run))),
        int4Array(some.map(({ firstMs }) => firstMs ?? null)),
        int4Array(some.map(({ untilMs }) => untilMs ?? null)),
      ])
    }
  }
}

const toMap = (rows: readonly Named[]): Map<string, number> => new Map(rows.map(({ name, value }) => [name, value]))
