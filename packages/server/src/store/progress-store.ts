import { limits, type Uuid } from '@duly/domain'
import { byKey, type Connection, type Database, type Statement } from './database.js'
import { asDulyError } from './faults.js'
import { bigintArray, float4Array, instantArray, int4Array, textArray, uuidArray } from './params.js'
import type { HeldLease } from './session-store.js'

/** What a running attempt wrote; null parts stay as they were. */
export interface ProgressWrite {
  readonly lease: HeldLease
  readonly percent: number | null
  readonly note: string | null
  readonly checkpoint: string | null
}

/** A line that an attempt logged; the lease need not be held any more. */
export interface LogWrite {
  readonly lease: Pick<HeldLease, 'id' | 'attempt' | 'token'>
  /** Its number among the lines of its session, from 1; null: its worker counts none. */
  readonly number: number | null
  readonly atMs: number
  readonly level: string
  readonly message: string
}

/** Only the attempt that holds the lease writes (I4). */
const holds = `
  ${byKey('o.id', 'w.id')} and o.session is not distinct from $1 and o.attempt = w.attempt and o.token = w.token`

const writeProgress: Statement = {
  name: 'write_progress',
  text: `
insert into task_progress (task_id, percent, note, checkpoint, updated_at)
select o.id, w.percent, w.note, w.checkpoint, now()
from unnest($2::uuid[], $3::integer[], $4::bigint[], $5::real[], $6::text[], $7::text[])
  as w (id, attempt, token, percent, note, checkpoint)
join open_tasks o on ${holds}
on conflict (task_id) do update set percent = coalesce(excluded.percent, task_progress.percent),
  note = coalesce(excluded.note, task_progress.note),
  checkpoint = coalesce(excluded.checkpoint, task_progress.checkpoint), updated_at = now()`,
}

/** Attempts that their worker reported a moment ago: their last lines may come after the report. */
const since = `now() - interval '${limits.logsGraceMs} milliseconds'`

/**
 * Lines in the order given, as long as the task's log has room (I10): the task's row of task_progress counts them, so that a
 * full log costs one look. The lines of a task are numbered from 1 without gaps. They are taken of attempts that hold their
 * lease, and of those that the same session has reported a moment ago.
 */
const writeLogs: Statement = {
  name: 'write_logs',
  text: `
with line as materialized (
  select w.id, w.attempt, w.at, w.level, w.message, w.ord,
    row_number() over (partition by w.id order by w.ord) as nth,
    sum(octet_length(w.message)) over (partition by w.id order by w.ord) as bytes
  from unnest($2::uuid[], $3::integer[], $4::bigint[], $5::timestamptz[], $6::text[], $7::text[])
    with ordinality as w (id, attempt, token, at, level, message, ord)
  left join lateral (select true as taken from open_tasks o where ${holds} limit 1) o on true
  left join lateral (select true as taken from outcomes u
    where u.id = w.id and o.taken is null and u.session = $1 and u.attempt = w.attempt and u.token = w.token
      and u.completed_at > ${since} limit 1) u on true
  left join lateral (select true as taken from failed_attempts f
    where f.task_id = w.id and o.taken is null and f.session = $1 and f.attempt = w.attempt and f.token = w.token
      and f.outcome not in ('lost', 'undelivered') and f.ended_at > ${since} limit 1) f on true
  where coalesce(o.taken, u.taken, f.taken)
),
before as materialized (
  insert into task_progress (task_id, updated_at)
  select distinct id, now() from line order by 1
  on conflict (task_id) do update set updated_at = now()
  returning task_id, log_lines, log_bytes
),
written as (
  insert into task_logs (task_id, line, attempt, at, level, message)
  select l.id, b.log_lines + l.nth, l.attempt, l.at, l.level, l.message
  from line l join before b on b.task_id = l.id
  where b.log_lines + l.nth <= ${limits.logsMaxLinesPerTask} and b.log_bytes + l.bytes <= ${limits.logsMaxBytesPerTask}
  returning task_id, octet_length(message) as bytes
)
select l.id, coalesce(w.lines, 0) as lines, coalesce(w.bytes, 0) as bytes, l.lines - coalesce(w.lines, 0) as dropped
from (select id, count(*)::integer as lines from line group by 1) l
left join (select task_id, count(*)::integer as lines, sum(bytes)::integer as bytes from written group by 1) w
  on w.task_id = l.id`,
}

/**
 * Lines of a session up to number $2 are taken now. Answers up to which they were: an answer that got lost, or came too late, makes a
 * worker send lines again. The row is held to the end of the transaction, so that the two are one after the other.
 */
const takeLines: Statement = {
  name: 'take_lines',
  text: `
insert into session_logs as s (session, taken, taken_before) values ($1, $2, 0)
on conflict (session) do update set taken = greatest(s.taken, excluded.taken), taken_before = s.taken
returning s.taken_before::float8 as "takenBefore"`,
}

const countLogs: Statement = {
  name: 'count_logs',
  text: `
update task_progress p set log_lines = p.log_lines + c.lines, log_bytes = p.log_bytes + c.bytes,
  log_dropped = least(p.log_dropped::bigint + c.dropped, 2147483647)::integer
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[]) as c (id, lines, bytes, dropped)
where ${byKey('p.task_id', 'c.id')}`,
}

/** What running handlers leave for the next attempt and for whoever looks. */
export class ProgressStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async writeProgress(session: Uuid, writes: readonly ProgressWrite[]): Promise<void> {
    await this.#database.hot(writeProgress, [
      session,
      ...fences(writes),
      float4Array(writes.map((w) => w.percent)),
      textArray(writes.map((w) => w.note)),
      textArray(writes.map((w) => w.checkpoint)),
    ])
  }

  /**
   * Lines that were taken before are passed over; those beyond the bound of a task's log are left out, and counted. Answers the tasks
   * whose logs have grown.
   */
  async writeLogs(session: Uuid, lines: readonly LogWrite[]): Promise<Uuid[]> {
    const write = async (client: Connection): Promise<Uuid[]> => {
      const fresh = await freshLines(client, session, lines)
      if (fresh.length === 0) return []
      const { rows } = await client.query<WrittenLog>({ ...writeLogs, values: lineValues(session, fresh) })
      if (rows.length === 0) return []
      const counts = (['lines', 'bytes', 'dropped'] as const).map((name) => int4Array(rows.map((row) => row[name])))
      await client.query({ ...countLogs, values: [uuidArray(rows.map((row) => row.id)), ...counts] })
      return rows.flatMap(({ id, lines }) => (lines > 0 ? [id] : []))
    }
    return this.#database.transaction(write).catch((error: unknown) => {
      throw asDulyError(error)
    })
  }
}

async function freshLines(client: Connection, session: Uuid, lines: readonly LogWrite[]): Promise<readonly LogWrite[]> {
  const highest = Math.max(0, ...lines.map(({ number }) => number ?? 0))
  if (highest === 0) return lines
  const { rows } = await client.query<{ takenBefore: number }>({ ...takeLines, values: [session, highest] })
  const takenBefore = rows[0]?.takenBefore ?? 0
  return lines.filter(({ number }) => number === null || number > takenBefore)
}

const lineValues = (session: Uuid, lines: readonly LogWrite[]): unknown[] => [
  session,
  ...fences(lines),
  instantArray(lines.map((line) => line.atMs)),
  textArray(lines.map((line) => line.level)),
  textArray(lines.map((line) => line.message)),
]

interface WrittenLog {
  readonly id: Uuid
  readonly lines: number
  readonly bytes: number
  readonly dropped: number
}

function fences(writes: readonly { readonly lease: LogWrite['lease'] }[]): Buffer[] {
  return [
    uuidArray(writes.map((w) => w.lease.id)),
    int4Array(writes.map((w) => w.lease.attempt)),
    bigintArray(writes.map((w) => w.lease.token)),
  ]
}
