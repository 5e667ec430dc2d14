import { isOpen, type ProgressFacts, type TaskStatus, type TenantScope, type Uuid } from '@duly/domain'
import type { LogPage, LogRequest, StoredLine } from '../model.js'
import type { Database, Statement } from './database.js'
import { textArray, uuidArray } from './params.js'
import { ms } from './record-sql.js'
import { ofTenant } from './tenant-scope.js'

/**
 * Where the task stands, how far its log goes, and lines of it, of one snapshot: what was written before the task ended is there
 * when the end is. Bounded by the log's own bound, whatever the filters.
 */
const page: Statement = {
  name: 'read_logs',
  text: `
select coalesce(u.status, o.status) as status, coalesce(p.log_lines, 0) as written, coalesce(p.log_dropped, 0) as dropped,
  p.percent, p.note, ${ms('p.updated_at', 'updatedAtMs')},
  (select coalesce(json_agg(json_build_object('line', l.line, 'attempt', l.attempt, 'atMs', date_part('epoch', l.at) * 1000,
      'level', l.level, 'message', l.message) order by l.line), '[]')
    from (
      select l.* from task_logs l
      where l.task_id = t.id and l.line > $3::integer and ($4::integer is null or l.attempt = $4::integer)
        and ($5::text[] is null or l.level = any ($5::text[]))
      order by l.line limit $6::integer
    ) l) as lines
from tasks t
left join lateral (select u.status from outcomes u where u.id = t.id limit 1) u on true
left join lateral (select o.status from open_tasks o where o.id = t.id limit 1) o on true
left join lateral (select p.* from task_progress p where p.task_id = t.id limit 1) p on true
where t.id = $1 and ${ofTenant('t.tenant', '$2')}`,
}

const written: Statement = {
  name: 'count_written_logs',
  text: `
select p.task_id as id, p.log_lines as lines from unnest($1::uuid[]) as i (id)
cross join lateral (select p.task_id, p.log_lines from task_progress p where p.task_id = i.id limit 1) p`,
}

interface PageRow {
  readonly status: TaskStatus | null
  readonly written: number
  readonly dropped: number
  readonly percent: number | null
  readonly note: string | null
  readonly updatedAtMs: number | null
  readonly lines: readonly StoredLine[]
}

/** Logs of tasks, as they are read. */
export class LogStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Null: there is no such task for the caller. */
  async page(id: Uuid, tenant: TenantScope, request: LogRequest): Promise<LogPage | null> {
    const { after, limit, attempt, levels } = request
    const values = [id, tenant, after, attempt, levels === null ? null : textArray(levels), limit + 1]
    const [row] = await this.#database.query<PageRow>(page, values)
    return row?.status ? pageOf({ ...row, status: row.status }, request) : null
  }

  /** How many lines the logs of these tasks have; a task without one is left out. */
  async written(ids: readonly Uuid[]): Promise<Map<Uuid, number>> {
    const rows = await this.#database.query<{ id: Uuid; lines: number }>(written, [uuidArray(ids)])
    return new Map(rows.map(({ id, lines }) => [id, lines]))
  }
}

function pageOf(row: PageRow & { readonly status: TaskStatus }, { after, limit }: LogRequest): LogPage {
  const hasMore = row.lines.length > limit
  const lines = row.lines.slice(0, limit)
  return {
    lines,
    // lines that do not fit are passed by for good
    next: hasMore ? (lines.at(-1)?.line ?? after) : Math.max(after, row.written),
    hasMore,
    isComplete: !hasMore && !isOpen(row.status),
    dropped: row.dropped,
    progress: progressOf(row),
  }
}

function progressOf({ percent, note, updatedAtMs }: PageRow): ProgressFacts | null {
  return percent === null || updatedAtMs === null ? null : { percent, note, updatedAtMs }
}
