import { jitterOf, type MisfirePolicy, type OverlapPolicy, parseSchedule, type Uuid } from '@duly/domain'
import type { ClientBase } from 'pg'
import type { Finding } from './finding.js'

/** A recurring task with all that became of its fire times, oldest first. Its schedule was never changed. Instants are epoch ms. */
export interface CronHistory {
  readonly id: Uuid
  readonly expression: string | null
  readonly everyMs: number | null
  readonly anchorMs: number
  readonly timezone: string
  readonly overlap: OverlapPolicy
  readonly misfire: MisfirePolicy
  readonly graceMs: number
  readonly jitterMs: number
  /** The fire time that is to be judged next; null: none. */
  readonly nextFireMs: number | null
  readonly firings: readonly FiringHistory[]
  /** Tasks that carry its id, whichever firing made them. */
  readonly tasks: number
}

export interface FiringHistory {
  readonly fireMs: number
  readonly firedMs: number
  readonly outcome: 'fired' | 'triggered' | 'skipped_overlap' | 'skipped_misfire'
  /** The nominal time of the task that it made; null: there is no such task. */
  readonly taskFireMs: number | null
}

/** Instants come with fractions of a ms. */
const ROUNDING_MS = 1

export async function readCronHistory(client: ClientBase): Promise<readonly CronHistory[]> {
  return (await client.query<CronHistory>(HISTORY)).rows
}

/**
 * Point 5, I6: each fire time between the first and the last was judged once and has its task, or was passed over as its policies
 * say; what comes next follows from what was judged last.
 */
export function checkFireTimes(history: readonly CronHistory[]): Finding[] {
  return history.flatMap((cron) => {
    const times = cron.firings.filter(({ outcome }) => outcome !== 'triggered')
    return [...checkSequence(cron, times), ...times.flatMap((each) => checkPolicies(cron, each)), ...checkTasks(cron)]
  })
}

/** One row of a misfire stands for all that was missed up to it; nothing else may leave a fire time out. */
function checkSequence(cron: CronHistory, times: readonly FiringHistory[]): Finding[] {
  const { expression, everyMs, anchorMs, timezone } = cron
  const schedule =
    expression === null
      ? parseSchedule({ kind: 'every', everyMs: everyMs ?? 0, anchorMs })
      : parseSchedule({ kind: 'cron', expression, timezone })
  const strangers = times.filter(({ fireMs }) => schedule.previous(fireMs) !== fireMs)
  const gaps = times.flatMap(({ fireMs, outcome }, place) => {
    const before = times[place - 1]
    const wanted = before ? schedule.next(before.fireMs) : fireMs
    const isPassedOver = outcome === 'skipped_misfire' && wanted !== null && wanted < fireMs
    if (wanted === fireMs || isPassedOver) return []
    return [finding('a fire time is missing', cron, `${shown(wanted)}; the next that was judged is ${shown(fireMs)}`)]
  })
  const last = times.at(-1)
  const next = last ? schedule.next(last.fireMs) : cron.nextFireMs
  const isStuck = cron.nextFireMs !== null && next !== cron.nextFireMs
  return [
    ...strangers.map(({ fireMs }) => finding('fired at a time that the schedule does not have', cron, shown(fireMs))),
    ...gaps,
    ...(isStuck
      ? [finding('what comes next does not follow', cron, `${shown(cron.nextFireMs)}, not ${shown(next)}`)]
      : []),
  ]
}

function checkPolicies(cron: CronHistory, { outcome, fireMs, firedMs }: FiringHistory): Finding[] {
  const { id, overlap, misfire, graceMs, jitterMs } = cron
  const overdueMs = firedMs - fireMs - jitterOf(id, jitterMs) - graceMs
  const told = `${shown(fireMs)}, ${(overdueMs + graceMs).toFixed(0)} ms late`
  if (overdueMs < -graceMs - ROUNDING_MS) return [finding('judged before its time', cron, told)]
  if (outcome === 'skipped_misfire' && overdueMs < -ROUNDING_MS) return [finding('missed within its grace', cron, told)]
  if (outcome === 'fired' && misfire === 'skip' && overdueMs > ROUNDING_MS)
    return [finding('fired after it was missed', cron, told)]
  if (outcome === 'skipped_overlap' && overlap === 'queue')
    return [finding('skipped for another task, though they may overlap', cron, told)]
  return []
}

/** Each firing that makes a task made one, for its own time; no task is of none. */
function checkTasks(cron: CronHistory): Finding[] {
  const making = cron.firings.filter(({ outcome }) => outcome === 'fired' || outcome === 'triggered')
  const wrong = making.filter(({ outcome, fireMs, taskFireMs }) => outcome === 'fired' && taskFireMs !== fireMs)
  const findings = wrong.map(({ fireMs, taskFireMs }) =>
    finding('a firing without its task', cron, `${shown(fireMs)}: ${shown(taskFireMs)}`),
  )
  if (cron.tasks === making.length) return findings
  const told = `${cron.tasks} tasks of ${making.length} firings that make one`
  return [...findings, finding('a fire time has more than its one task, or less', cron, told)]
}

const shown = (ms: number | null): string => (ms === null ? 'none' : new Date(ms).toISOString())

function finding(rule: string, { id, expression, everyMs, overlap, misfire }: CronHistory, detail: string): Finding {
  return { point: 5, rule, subject: `${id} (${expression ?? `every ${everyMs} ms`}, ${overlap}, ${misfire})`, detail }
}

const HISTORY = `
with judged as (
  select f.cron_id, jsonb_agg(jsonb_build_object('fireMs', round(extract(epoch from f.fire_time) * 1000),
      'firedMs', extract(epoch from f.fired_at) * 1000, 'outcome', f.outcome,
      'taskFireMs', round(extract(epoch from t.scheduled_at) * 1000))
    order by f.fire_time) as list
  from cron_firings f left join tasks t on t.id = f.task_id and t.cron_id = f.cron_id
  group by f.cron_id
), made as (
  select cron_id, count(*)::int as count from tasks where cron_id is not null group by cron_id
)
select c.id, c.expression, c.every_ms::float8 as "everyMs", round(extract(epoch from c.anchor_at) * 1000)::float8 as "anchorMs",
  c.timezone, c.overlap, c.misfire, c.grace_ms::float8 as "graceMs", c.jitter_ms::float8 as "jitterMs",
  round(extract(epoch from c.next_fire_at) * 1000)::float8 as "nextFireMs",
  coalesce(j.list, '[]') as firings, coalesce(m.count, 0) as tasks
from cron_tasks c left join judged j on j.cron_id = c.id left join made m on m.cron_id = c.id
order by c.id`
