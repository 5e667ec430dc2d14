import { cronStatuses, firingOutcomes, limits, misfirePolicies, overlapPolicies } from '@duly/domain'
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
  plainText,
  seconds,
} from './common.js'
import { SubmitTask, Task } from './tasks.js'

const {
  task_type,
  scheduled_at: _scheduledAt,
  delay_seconds: _delay,
  idempotency_key: _key,
  ...taskFields
} = SubmitTask.properties

const grace = { minimum: 0, maximum: seconds(limits.cronGraceMaxMs) }
const jitter = { minimum: 0, maximum: seconds(limits.cronJitterMaxMs) }

const expressionDoc =
  'Five fields, or six with the seconds first: names, ranges, steps, lists, `L`, `W`, `#`, `?`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.'

const Expression = plainText(limits.cronExpressionMaxChars, {
  description: `${expressionDoc} Either this or \`every_seconds\`.`,
  examples: ['0 9 * * 1-5'],
})
const EverySeconds = Type.Number({
  minimum: seconds(limits.cronEveryMinMs),
  maximum: seconds(limits.delayMaxMs),
  description: 'A fixed interval, to the millisecond, in place of an expression.',
})
const TimeZone = plainText(limits.timeZoneMaxChars, {
  description: 'An IANA time zone, in whose local time the expression is meant. Default "UTC".',
  examples: ['America/New_York'],
})
const Name = name({ description: 'Unique in its tenant.', examples: ['daily-report-generation'] })

/** What happens to firings that meet an unfinished task or come late, and from when to when there are any. */
const rules = {
  overlap_policy: Type.Optional(
    Type.Enum([...overlapPolicies], {
      description:
        'While an earlier task of it is unfinished: skip (default; the firing is recorded), queue (make the task anyway), cancel_running (cancel the old one; the new one is BLOCKED until it has ended).',
    }),
  ),
  misfire_policy: Type.Optional(
    Type.Enum([...misfirePolicies], {
      description:
        'Of fire times missed by more than the grace: fire_once (default; one task, for the latest), skip, fire_all (the latest 100, oldest first; each meets the overlap policy, so give it `queue`: with skip only the first of them becomes a task).',
    }),
  ),
  misfire_grace_seconds: Type.Optional(
    Type.Number({
      ...grace,
      description:
        'How late a fire time may be and is not missed yet. Default 60. Each comes some milliseconds late: with `skip` and next to no grace all are missed.',
    }),
  ),
  starts_at: Type.Optional(
    nullable<string>('string', { format: 'date-time', description: 'Nothing fires before this instant.' }),
  ),
  ends_at: Type.Optional(
    nullable<string>('string', { format: 'date-time', description: 'Nothing fires after this instant.' }),
  ),
  jitter_seconds: Type.Optional(
    Type.Number({
      ...jitter,
      description:
        'Moves it by a constant below this, drawn from its id: so that not all of 09:00 start at once. Default 0.',
    }),
  ),
}

const schedule = {
  cron_expression: Type.Optional(Expression),
  every_seconds: Type.Optional(EverySeconds),
  timezone: Type.Optional(TimeZone),
  ...rules,
}

const enabled = (when: string) => Type.Optional(Type.Boolean({ description: `False: PAUSED. ${when}` }))

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
export type CronTaskBody = Static<typeof CronTask>

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

const FireCount = Type.Integer({ minimum: 1, maximum: limits.cronFireTimesMaxItems, description: 'Default 10.' })

export const FireTimesQuery = closed({ count: Type.Optional(FireCount) })

export const FireTimes = closed({
  fire_times: Type.Array(Instant, {
    description: 'Earliest first, without jitter; fewer than asked for: no more come.',
  }),
})

export const PreviewSchedule = closed(
  {
    cron_expression: Type.Optional(Expression),
    every_seconds: Type.Optional(EverySeconds),
    timezone: Type.Optional(TimeZone),
    after: Type.Optional(
      nullable<string>('string', {
        format: 'date-time',
        description: 'Strictly after this instant. Absent or null: now.',
      }),
    ),
    count: Type.Optional(FireCount),
  },
  { examples: [{ cron_expression: '0 9 * * 1-5', timezone: 'America/New_York' }] },
)
export type PreviewScheduleBody = Static<typeof PreviewSchedule>

export const SchedulePreview = closed({
  fire_times: FireTimes.properties.fire_times,
  description: Type.String({ description: 'The schedule in words.' }),
})

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

/** Each line has a payload of its own. */
const { payload: _payload, ...importFields } = taskFields

/** A crontab, and what all recurring tasks that come of it have besides. */
export const ImportCrontab = closed(
  {
    crontab: Type.String({
      maxLength: limits.crontabMaxBytes,
      description: 'The text of a crontab. `CRON_TZ=…` and `TZ=…` lines are obeyed.',
    }),
    task_type: Type.Optional(
      name({
        description:
          'Of every task; default "run_command". Its payload is `{"command": …}`, with `stdin` for what stands behind a `%`, and `user`.',
      }),
    ),
    name_prefix: Type.Optional(
      name({ description: 'Names are this and one made of the command, so that an import can be repeated.' }),
    ),
    has_user: Type.Optional(
      Type.Boolean({ description: 'A system crontab, with the user before the command. Default false.' }),
    ),
    timezone: Type.Optional(TimeZone),
    ...rules,
    ...importFields,
    enabled: enabled('Absent: as they stand; of new ones true.'),
    dry_run: Type.Optional(Type.Boolean({ description: 'Judge only, store nothing.' })),
  },
  {
    examples: [
      { crontab: '0 3 * * * /usr/local/bin/backup', task_type: 'run_command', name_prefix: 'web-1/', dry_run: true },
    ],
  },
)
export type ImportCrontabBody = Static<typeof ImportCrontab>

export const ImportedCrontab = closed({
  lines: Type.Array(
    closed({
      line: Type.Integer({ minimum: 1 }),
      text: Type.String(),
      result: Type.Enum(['created', 'replaced', 'unchanged', 'would_import', 'ignored', 'refused'], {
        description: 'ignored: empty, a comment, or a variable.',
      }),
      cron_id: NullableId,
      name: NullableText,
      message: NullableText,
    }),
  ),
  imported: Count,
  refused: Count,
})

export const CronTaskParams = closed({ cron_id: id('cron', { description: 'The id of the recurring task.' }) })
/** Whose name it is. */
export const CronTaskNameQuery = closed({
  tenant_id: Type.Optional(
    name({ description: 'Of which tenant; default "default". A key that is bound to a tenant reads its own anyway.' }),
  ),
})
export const CronTaskNameParams = closed({ cron_name: name({ description: 'Its name, percent-encoded.' }) })
