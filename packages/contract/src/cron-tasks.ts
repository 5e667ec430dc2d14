import { cronStatuses, firingOutcomes, misfirePolicies, overlapPolicies } from '@duly/domain'
import Type, { type Static } from 'typebox'
import {
  Count,
  closed,
  Instant,
  id,
  list,
  NullableId,
  NullableInstant,
  NullableText,
  name,
  nullable,
  PageQuery,
  PriorityEnum,
} from './common.js'
import { enabled, schedule, task_type, taskFields } from './cron-parts.js'
import { Task } from './tasks.js'

const Name = name({ description: 'Unique in its tenant.', examples: ['daily-report-generation'] })

/** A definition: when, and what. Everything of a task but `scheduled_at`, `delay_seconds` and `idempotency_key`. */
export const CreateCronTask = closed(
  { name: Name, ...schedule, enabled: enabled('Default true.'), task_type, ...taskFields },
  {
    examples: [
      {
        name: 'daily-report-generation',
        cron_expression: '0 9 * * 1-5',
        timezone: 'America/New_York',
        task_type: 'generate_report',
        payload: { report_type: 'daily_sales' },
        max_retries: 2,
        timeout_seconds: 600,
        overlap_policy: 'skip',
        enabled: true,
      },
    ],
  },
)
export type CreateCronTaskBody = Static<typeof CreateCronTask>

export const PutCronTask = closed(
  {
    ...schedule,
    enabled: enabled('Absent: as it stands; of a new one true.'),
    task_type,
    ...taskFields,
  },
  { examples: [{ cron_expression: '0 9 * * 1-5', timezone: 'America/New_York', task_type: 'generate_report' }] },
)
export type PutCronTaskBody = Static<typeof PutCronTask>

/** At least one field; what is absent stays. A new expression, interval, time zone or start begins now; what comes next stays otherwise. */
export const EditCronTask = closed(
  {
    ...schedule,
    enabled: enabled('True: as `resume`.'),
    task_type: Type.Optional(name({ description: 'Which handler runs it.' })),
    ...taskFields,
  },
  { minProperties: 1, examples: [{ cron_expression: '30 9 * * 1-5' }] },
)
export type EditCronTaskBody = Static<typeof EditCronTask>

const recordFields = {
  cron_id: id('cron'),
  name: name(),
  tenant_id: name(),
  status: Type.Enum([...cronStatuses], {
    description: 'ACTIVE; PAUSED: `enabled` is false; ENDED: nothing more will come.',
  }),
  enabled: Type.Boolean(),
  cron_expression: NullableText,
  every_seconds: nullable<number>('number'),
  timezone: Type.String(),
  description: Type.String({ description: 'The schedule in words.' }),
  next_fire_time: nullable<string>('string', {
    format: 'date-time',
    description: 'The nominal one, without jitter; null unless ACTIVE.',
  }),
  last_fire_time: nullable<string>('string', {
    format: 'date-time',
    description: 'The nominal time of the last firing that made a task.',
  }),
  last_fired_at: nullable<string>('string', { format: 'date-time', description: 'When that task was made.' }),
  last_task_id: NullableId,
  fired: Type.Integer({ minimum: 0, description: 'Tasks made so far.' }),
  skipped: Type.Integer({
    minimum: 0,
    description: 'Firings that made none, by overlap or misfire policy; what was missed at a time counts as one.',
  }),
  error: nullable<string>('string', {
    description: 'Why it could not be evaluated; tried again every five minutes, and when it is edited.',
  }),
  overlap_policy: Type.Enum([...overlapPolicies]),
  misfire_policy: Type.Enum([...misfirePolicies]),
  misfire_grace_seconds: Type.Number(),
  starts_at: NullableInstant,
  ends_at: NullableInstant,
  jitter_seconds: Type.Number(),
  jitter_offset_seconds: Type.Number({
    minimum: 0,
    description: 'How long after each fire time it fires: its own share of the jitter.',
  }),
  created_at: Instant,
  updated_at: nullable<string>('string', { format: 'date-time', description: 'Of its definition; firings leave it.' }),
  task_type: name(),
  queue: name(),
  priority: PriorityEnum,
  metadata: Task.properties.metadata,
  tags: Task.properties.tags,
  expires_at: NullableInstant,
  max_retries: Count,
  retry_backoff: Task.properties.retry_backoff,
  retry_jitter: Task.properties.retry_jitter,
  retry_delay_seconds: Type.Number(),
  retry_max_delay_seconds: Type.Number(),
  timeout_seconds: Type.Number(),
  result_ttl_seconds: nullable<number>('number'),
  concurrency_key: NullableText,
}

export const CronTask = closed({ ...recordFields, payload: Task.properties.payload })

/** What a list tells of a definition: all but its payload, which can be large. */
export const CronTaskSummary = closed(recordFields)
export const CronTaskList = list(CronTaskSummary)

export const CronTaskListQuery = closed({
  tenant_id: Type.Optional(name({ description: 'A key that is bound to a tenant lists its own anyway.' })),
  status: Type.Optional(Type.Enum([...cronStatuses])),
  task_type: Type.Optional(name()),
  queue: Type.Optional(name()),
  name: Type.Optional(name({ description: 'Exactly this one.' })),
  name_prefix: Type.Optional(name({ description: 'Names that begin with this.' })),
  ...PageQuery,
})
export type CronTaskListQueryBody = Static<typeof CronTaskListQuery>

export const Firing = closed({
  fire_time: Type.String({
    format: 'date-time',
    description: 'The nominal time; of a trigger the instant of the call.',
  }),
  fired_at: Instant,
  outcome: Type.Enum([...firingOutcomes], {
    description:
      'fired and triggered made a task; skipped_overlap: an earlier one was unfinished; skipped_misfire: it was missed, and the policy asks for no task. One of these stands for all that were missed at a time: it is the latest of them.',
  }),
  task_id: NullableId,
})
export const FiringList = list(Firing)
export const FiringListQuery = closed(PageQuery)

export const CronTaskParams = closed({ cron_id: id('cron', { description: 'The id of the recurring task.' }) })
/** Whose name it is. */
export const CronTaskNameQuery = closed({
  tenant_id: Type.Optional(
    name({ description: 'Of which tenant; default "default". A key that is bound to a tenant reads its own anyway.' }),
  ),
})
export const CronTaskNameParams = closed({ cron_name: name({ description: 'Its name, percent-encoded.' }) })
