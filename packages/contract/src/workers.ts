import { type FinalStatus, limits } from '@duly/domain'
import Type, { type Static } from 'typebox'
import {
  Count,
  closed,
  Instant,
  id,
  Json,
  MetadataSchema,
  NullableText,
  name,
  nullable,
  plainText,
  seconds,
  WaitSeconds,
} from './common.js'
import { logLevels } from './task-logs.js'

/** Queues and task types that one session may name, and slots that one process may have. */
const workerLimits = {
  queues: 1_000,
  taskTypes: 10_000,
  slots: 10_000,
  leases: 10_000,
  reports: 10_000,
  logLines: 1_000,
} as const

/** Bounds of a heartbeat interval wished by a worker, in seconds. The lease is three times it. */
const heartbeatBounds = { min: 0.5, max: 90 } as const

export const RegisterWorker = closed(
  {
    name: plainText(limits.nameMaxChars, { description: 'For people; need not be unique.' }),
    host: Type.Optional(nullable<string>('string', { maxLength: 255 })),
    version: Type.Optional(nullable<string>('string', { maxLength: 128 })),
    queues: Type.Array(name(), { minItems: 1, maxItems: workerLimits.queues }),
    task_types: Type.Array(name(), { minItems: 1, maxItems: workerLimits.taskTypes }),
    slots: Type.Integer({
      minimum: 1,
      maximum: workerLimits.slots,
      description: 'Handlers that run at the same time.',
    }),
    heartbeat_seconds: Type.Optional(
      Type.Number({
        minimum: heartbeatBounds.min,
        maximum: heartbeatBounds.max,
        description: "A wish; absent: the deployment's default.",
      }),
    ),
  },
  {
    examples: [
      {
        name: 'mailer',
        host: 'web-3',
        version: '1.4.0',
        queues: ['email-queue'],
        task_types: ['send_email'],
        slots: 10,
      },
    ],
  },
)
export type RegisterWorkerBody = Static<typeof RegisterWorker>

export const WorkerSessionSchema = closed({
  worker_id: id('worker'),
  heartbeat_seconds: Type.Number(),
  lease_seconds: Type.Number({ description: 'Without a heartbeat for this long the session is dead.' }),
})

const Received = Type.Integer({
  minimum: 0,
  maximum: 2 ** 31 - 1,
  description: 'The highest grant number received in this session; 0 at first.',
})
const Slots = Type.Integer({
  minimum: 0,
  maximum: limits.pollMaxSlots,
  description:
    'How many tasks it can take now. 0 only acknowledges. More than it registered count as what it registered.',
})
const LeaseText = Type.String({ minLength: 1, maxLength: 64, description: 'The fence of the attempt, opaque.' })

export const Poll = closed({
  slots: Slots,
  wait_seconds: Type.Optional(WaitSeconds),
  received: Type.Optional(Received),
})

export const Grant = closed({
  grant: Count,
  task_id: id('task'),
  lease: LeaseText,
  attempt: Type.Integer({ minimum: 1 }),
  failures: Count,
  task_type: name(),
  queue: name(),
  payload: Json,
  timeout_ms: Count,
  deadline_at: Instant,
  idempotency_key: Type.String({ description: 'Stable over attempts, for calls to other services.' }),
  checkpoint: Json,
  dependency_results: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description: `Of a task of a workflow: the results of its dependencies by their names, up to ${limits.dependencyResultsMaxBytes / 2 ** 20} MiB in all; null: it has none.`,
  }),
  dependency_results_omitted: Type.Optional(
    Type.Array(name(), { description: 'Dependencies whose results were too large to come along: fetch them.' }),
  ),
  dependency_statuses: Type.Optional(
    Type.Unsafe<Record<string, FinalStatus>>({
      type: 'object',
      description: 'How its dependencies ended, by their names; those that have not are left out.',
    }),
  ),
  metadata: Type.Union([MetadataSchema, Type.Null()]),
  tenant_id: name({ description: 'Whose it is: what it submits should name the same, in `metadata.tenant_id`.' }),
  suspect: Type.Boolean({
    description: 'An earlier attempt took its worker with it: acknowledge before the handler starts.',
  }),
  traceparent: NullableText,
  scheduled_at: nullable<string>('string', {
    format: 'date-time',
    description:
      'When it was asked to run; of a recurring task the fire time, however late it starts. Null: at once, or triggered by hand.',
  }),
  cron_id: nullable<string>('string', { description: 'The recurring task that made it.' }),
  workflow_id: Type.Optional(Type.String({ description: 'The workflow that it is a task of; absent: of none.' })),
  node_name: Type.Optional(Type.String({ description: 'Its name in that workflow.' })),
})

export const PollAnswer = closed({ tasks: Type.Array(Grant) })

const report = { task_id: id('task'), lease: LeaseText }
const delaySeconds = { minimum: 0, maximum: seconds(limits.delayMaxMs) }

/** Longer texts are cut at character borders, not refused: an error must never be lost because of its text. */
export const ReportedError = closed({
  class: Type.Optional(nullable<string>('string', { description: `Cut to ${limits.errorClassMaxChars} characters.` })),
  message: Type.Optional(nullable<string>('string', { description: `Cut to ${limits.errorMessageMaxBytes} bytes.` })),
  stack: Type.Optional(nullable<string>('string', { description: `Cut to ${limits.errorStackMaxBytes} bytes.` })),
  retryable: Type.Optional(
    Type.Boolean({ description: 'False: permanent, the task is FAILED at once. Default true.' }),
  ),
  timed_out: Type.Optional(Type.Boolean({ description: "The worker's own limit ended the attempt. Default false." })),
})

export const reportOutcomes = ['succeeded', 'failed', 'snoozed', 'cancelled', 'released'] as const

/** One object with what every outcome takes; which field belongs to which outcome is a rule beside the schema. */
export const Report = closed({
  ...report,
  outcome: Type.Enum([...reportOutcomes]),
  result: Type.Optional(Json),
  error: Type.Optional(ReportedError),
  retry_after_seconds: Type.Optional(
    Type.Number({ ...delaySeconds, description: "With failed: the handler's own delay, which wins." }),
  ),
  delay_seconds: Type.Optional(Type.Number({ ...delaySeconds, description: 'With snoozed: required.' })),
})
export type ReportBody = Static<typeof Report>

const Reports = Type.Array(Report, { maxItems: workerLimits.reports })

export const ReportRequest = closed({ reports: Reports })

export const ReportResult = closed({
  task_id: id('task'),
  accepted: Type.Boolean(),
  status: Type.Optional(Type.String({ description: 'Where the task stands, when accepted.' })),
  code: Type.Optional(Type.String({ description: 'Why not, when not accepted: `lease_lost`.' })),
})

export const ReportAnswer = closed({ results: Type.Array(ReportResult) })

export const Exchange = closed({
  reports: Type.Optional(Reports),
  slots: Slots,
  wait_seconds: Type.Optional(WaitSeconds),
  received: Type.Optional(Received),
})

export const ExchangeAnswer = closed({ results: Type.Array(ReportResult), tasks: Type.Array(Grant) })

export const Heartbeat = closed({
  received: Type.Optional(Received),
  leases: Type.Optional(Type.Array(LeaseText, { maxItems: workerLimits.leases, description: 'Everything it holds.' })),
  wait_seconds: Type.Optional(WaitSeconds),
  progress: Type.Optional(
    Type.Array(
      closed({
        lease: LeaseText,
        percent: Type.Number({ minimum: 0, maximum: 100 }),
        note: Type.Optional(NullableText),
      }),
      { maxItems: workerLimits.leases },
    ),
  ),
  checkpoints: Type.Optional(
    Type.Array(closed({ lease: LeaseText, value: Json }), {
      maxItems: workerLimits.leases,
      description: `Each value at most ${limits.checkpointMaxBytes} bytes.`,
    }),
  ),
  logs: Type.Optional(
    Type.Array(
      closed({
        lease: LeaseText,
        task_id: Type.Optional(
          id('task', {
            description: `With it, lines of an attempt that this worker has reported are taken for another ${seconds(limits.logsGraceMs)} s.`,
          }),
        ),
        at: Instant,
        level: Type.Enum([...logLevels]),
        message: Type.String(),
      }),
      {
        maxItems: workerLimits.logLines,
        description: `Kept up to ${limits.logsMaxLinesPerTask} lines and ${limits.logsMaxBytesPerTask} bytes a task.`,
      },
    ),
  ),
  logs_after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'How many lines of this session were taken before these, as its worker knows. Of lines that it sends again, since an answer got lost, those that were taken all the same are passed over.',
    }),
  ),
  lag_ms: Type.Optional(nullable<number>('number', { minimum: 0, description: "Lag of the worker's event loop." })),
  rss_bytes: Type.Optional(nullable<number>('number', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
})
export type HeartbeatBody = Static<typeof Heartbeat>

export const HeartbeatAnswer = closed({
  cancel: Type.Array(closed({ lease: LeaseText, reason: Type.String() }), { description: 'Abort these handlers.' }),
  lost: Type.Array(LeaseText, { description: 'These attempts were taken back: abort them, report nothing.' }),
  drain: Type.Boolean({ description: 'Finish what runs, take nothing new.' }),
})

export const DependencyResults = closed(
  {
    ...report,
    names: Type.Array(name(), {
      minItems: 1,
      maxItems: limits.dependencyResultsMaxItems,
      uniqueItems: true,
      description: 'Dependencies of the task, by their names in the workflow.',
    }),
  },
  {
    examples: [{ task_id: 'task-01m8m8g63ye0v964cp0nfyyggj', lease: '1-00000000000000a1', names: ['create-account'] }],
  },
)

export const DependencyResultsAnswer = closed({
  results: Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'By name; null: it has none.' }),
  omitted: Type.Array(name(), { description: 'Too much for one answer: ask for these again. Never all of them.' }),
})

export const WorkerParams = closed({
  worker_id: id('worker', { description: 'The session, as registration gave it.' }),
})
