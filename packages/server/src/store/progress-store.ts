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

/** A line that a running attempt logged. */
export interface LogWrite {
  readonly lease: HeldLease
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

/**
 * Lines in the order given, as long as the task's log has room (I10): the task's row of task_progress counts them, so that a
 * full log costs one look. The lines of a task are numbered from 1 without gaps.
 */
const writeLogs: Statement = {
  name: 'write_logs',
  text: `
with line as materialized (
  select o.id, o.attempt, w.at, w.level, w.message, w.ord,
    row_number() over (partition by o.id order by w.ord) as nth,
    sum(octet_length(w.message)) over (partition by o.id order by w.ord) as bytes
  from unnest($2::uuid[], $3::integer[], $4::bigint[], $5::timestamptz[], $6::text[], $7::text[])
    with ordinality as w (id, attempt, token, at, level, message, ord)
  join open_tasks o on ${holds}
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
select task_id as id, count(*)::integer as lines, sum(bytes)::integer as bytes from written group by 1`,
}

const countLogs: Statement = {
  name: 'count_logs',
  text: `
update task_progress p set log_lines = p.log_lines + c.lines, log_bytes = p.log_bytes + c.bytes
from unnest($1::uuid[], $2::integer[], $3::integer[]) as c (id, lines, bytes) where ${byKey('p.task_id', 'c.id')}`,
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

  /** Lines beyond the bound of a task's log are left out. */
  async writeLogs(session: Uuid, lines: readonly LogWrite[]): Promise<void> {
    const values = [
      session,
      ...fences(lines),
      instantArray(lines.map((line) => line.atMs)),
      textArray(lines.map((line) => line.level)),
      textArray(lines.map((line) => line.message)),
    ]
    const write = async (client: Connection): Promise<void> => {
      const written = await client.query<{ id: Uuid; lines: number; bytes: number }>({ ...writeLogs, values })
      const { rows } = written
      if (rows.length === 0) return
      const counts = [int4Array(rows.map((row) => row.lines)), int4Array(rows.map((row) => row.bytes))]
      await client.query({ ...countLogs, values: [uuidArray(rows.map((row) => row.id)), ...counts] })
    }
    await this.#database.transaction(write).catch((error: unknown) => {
      throw asDulyError(error)
    })
  }
}

function fences(writes: readonly { readonly lease: HeldLease }[]): Buffer[] {
  return [
    uuidArray(writes.map((w) => w.lease.id)),
    int4Array(writes.map((w) => w.lease.attempt)),
    bigintArray(writes.map((w) => w.lease.token)),
  ]
}
