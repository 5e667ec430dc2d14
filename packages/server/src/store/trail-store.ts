import type { TaskStatus, Uuid } from '@duly/domain'
import type { EventRecord } from '../model.js'
import type { Statement } from './database.js'
import { ofTenant } from './tenant-scope.js'

/** A claim that was made, delivered or not. */
export interface Claimed {
  readonly attempt: number
  readonly startedAtMs: number
  /** When the task was to go on after this attempt; null: at once, or not at all. */
  readonly dueAtMs: number | null
}

/** A transition that was written down; of a reschedule the `scheduled_at` that it replaced. */
export interface WrittenEvent extends EventRecord {
  readonly previousAtMs: number | null
}

/** What the store keeps of a task's way, of one snapshot: timestamps, and the transitions that were written down. */
export interface TrailFacts {
  readonly status: TaskStatus
  readonly createdBy: 'api' | 'cron' | 'workflow'
  /** The API key of the call that created it, if it showed one. */
  readonly submittedBy: Uuid | null
  readonly createdAtMs: number
  /** A node that waited for others when it was made. */
  readonly wasBlocked: boolean
  /** When such a node was last judged to run, and whether it has a delay or a time of its own from then on. */
  readonly unblockedAtMs: number | null
  readonly isDelayed: boolean
  /** Null, or in the past: it was due at once. */
  readonly scheduledAtMs: number | null
  /** In the order of their numbers. */
  readonly claims: readonly Claimed[]
  /** In the order in which they were written. */
  readonly written: readonly WrittenEvent[]
  readonly success: { readonly atMs: number; readonly attempt: number; readonly session: Uuid } | null
}

const ms = (expression: string): string => `date_part('epoch', ${expression}) * 1000`

/** $2 bounds claims and events; every claim is either a row of failed_attempts or what the task runs or succeeded with. */
export const readTrail: Statement = {
  name: 'read_trail',
  text: `
select coalesce(u.status, o.status) as status,
  case when t.cron_id is not null then 'cron' when t.workflow_id is not null then 'workflow' else 'api' end as "createdBy", t.submitted_by as "submittedBy",
  coalesce(n.parents > 0, false) as "wasBlocked", ${ms('n.triggered_at')} as "unblockedAtMs",
  coalesce(n.delay_ms is not null or n.due_at is not null, false) as "isDelayed",
  ${ms('t.created_at')} as "createdAtMs", ${ms('t.scheduled_at')} as "scheduledAtMs",
  (select coalesce(json_agg(json_build_object('attempt', c.attempt, 'startedAtMs', ${ms('c.started_at')},
      'dueAtMs', ${ms(`c.ended_at + c.delay_ms * interval '1 millisecond'`)}) order by c.attempt), '[]')
    from (
      select f.attempt, coalesce(f.started_at, f.ended_at) as started_at, f.ended_at, f.retry_delay_ms as delay_ms
      from failed_attempts f where f.task_id = t.id
      union all
      select coalesce(u.attempt, o.attempt), coalesce(u.started_at, o.started_at), null, null
      where coalesce(u.status, o.status) in ('RUNNING', 'SUCCEEDED')
      order by 1 limit $2
    ) c) as claims,
  (select coalesce(json_agg(json_build_object('at', ${ms('e.at')}, 'transition', e.transition, 'fromStatus', e.from_status,
      'toStatus', e.to_status, 'attempt', e.attempt, 'actor', e.actor, 'reason', e.reason, 'previousAtMs', ${ms('e.previous_at')}) order by e.event_id), '[]')
    from (select * from task_events e where e.task_id = t.id order by e.event_id limit $2) e) as written,
  case when u.status = 'SUCCEEDED' then json_build_object('atMs', ${ms('u.completed_at')}, 'attempt', u.attempt,
    'session', u.session) end as success
from tasks t left join outcomes u on u.id = t.id left join open_tasks o on o.id = t.id
left join workflow_nodes n on n.id = t.id
where t.id = $1 and ${ofTenant('t.tenant', '$3')}`,
}
