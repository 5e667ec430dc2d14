import { backoffs, defaultRetryPolicy, jitters, limits } from '@duly/domain'
import Type, { type Static } from 'typebox'
import {
  Count,
  closed,
  Instant,
  id,
  Json,
  list,
  MetadataSchema,
  NullableId,
  NullableInstant,
  NullableText,
  name,
  nullable,
  PriorityEnum,
  plainText,
  Status,
  seconds,
  WaitSeconds,
} from './common.js'

const delaySeconds = { minimum: 0, maximum: seconds(limits.delayMaxMs) }

/** A request to run one task. Only `task_type` is required. */
export const SubmitTask = closed(
  {
    task_type: name({ description: 'Which handler runs it.', examples: ['send_email'] }),
    payload: Type.Optional(Json),
    priority: Type.Optional(PriorityEnum),
    scheduled_at: Type.Optional(
      nullable<string>('string', {
        format: 'date-time',
        description: 'Not before this instant. Absent, null or in the past: now.',
      }),
    ),
    delay_seconds: Type.Optional(
      Type.Number({ ...delaySeconds, description: "In place of `scheduled_at`, counted from the store's clock." }),
    ),
    expires_at: Type.Optional(
      nullable<string>('string', {
        format: 'date-time',
        description: 'Not started by then: CANCELLED with reason expired.',
      }),
    ),
    max_retries: Type.Optional(
      Type.Integer({
        minimum: limits.maxRetriesMin,
        maximum: limits.maxRetriesMax,
        description: `Default ${defaultRetryPolicy.maxRetries}: at most one failure more.`,
      }),
    ),
    retry_backoff: Type.Optional(Type.Enum([...backoffs], { description: `Default ${defaultRetryPolicy.backoff}.` })),
    retry_jitter: Type.Optional(Type.Enum([...jitters], { description: `Default ${defaultRetryPolicy.jitter}.` })),
    retry_delay_seconds: Type.Optional(
      Type.Number({ ...delaySeconds, description: `Default ${seconds(defaultRetryPolicy.delayMs)}.` }),
    ),
    retry_max_delay_seconds: Type.Optional(
      Type.Number({ ...delaySeconds, description: `Default ${seconds(defaultRetryPolicy.maxDelayMs)}.` }),
    ),
    timeout_seconds: Type.Optional(
      Type.Number({
        minimum: seconds(limits.timeoutMinMs),
        maximum: seconds(limits.timeoutMaxMs),
        description: 'Of one attempt. Default 300.',
      }),
    ),
    idempotency_key: Type.Optional(
      plainText(limits.idempotencyKeyMaxChars, {
        description: 'The same key and the same request give the same task. Also as the header Idempotency-Key.',
      }),
    ),
    concurrency_key: Type.Optional(
      plainText(limits.concurrencyKeyMaxChars, {
        description: 'Kept with the task; limits by key come with a later version.',
      }),
    ),
    queue: Type.Optional(name({ description: 'Default "default".' })),
    result_ttl_seconds: Type.Optional(
      Type.Number({ ...delaySeconds, minimum: 0.001, description: 'How long the result is kept after the end.' }),
    ),
    tags: Type.Optional(
      Type.Array(plainText(limits.tagMaxChars), { maxItems: limits.tagsMaxCount, uniqueItems: true }),
    ),
    metadata: Type.Optional(MetadataSchema),
  },
  {
    examples: [
      {
        task_type: 'send_email',
        payload: { to: 'user@example.com', template_id: 'onboarding-v2' },
        priority: 'high',
        scheduled_at: '2026-04-04T09:00:00Z',
        max_retries: 3,
        idempotency_key: 'welcome-user-123',
        queue: 'email-queue',
        metadata: { tenant_id: 'acme-corp', correlation_id: 'req-abc' },
      },
    ],
  },
)
export type SubmitTaskBody = Static<typeof SubmitTask>

export const SubmitBatch = closed({
  tasks: Type.Array(SubmitTask, {
    minItems: 1,
    maxItems: limits.batchMaxItems,
    description: 'All or none, in this order.',
  }),
})

export const SubmittedTask = closed({
  task_id: id('task'),
  status: Status,
  scheduled_at: NullableInstant,
  created_at: Instant,
})

export const SubmittedBatch = closed({
  tasks: Type.Array(closed({ task_id: id('task'), status: Status, replayed: Type.Boolean() })),
})

export const TaskErrorSchema = closed({ class: Type.String(), message: Type.String(), stack: NullableText })
export const NullableError = Type.Union([TaskErrorSchema, Type.Null()])

export const Task = closed({
  task_id: id('task'),
  status: Status,
  tenant_id: name(),
  task_type: name(),
  queue: name(),
  priority: PriorityEnum,
  payload: Json,
  metadata: Type.Union([MetadataSchema, Type.Null()]),
  tags: Type.Array(Type.String()),
  created_at: Instant,
  scheduled_at: NullableInstant,
  due_at: nullable<string>('string', {
    format: 'date-time',
    description: 'When it becomes ready next: scheduled, snoozed or retrying.',
  }),
  expires_at: NullableInstant,
  started_at: NullableInstant,
  completed_at: NullableInstant,
  duration_ms: nullable<number>('integer', { description: 'From the start of the last attempt to the end.' }),
  max_retries: Count,
  retry_backoff: Type.Enum([...backoffs]),
  retry_jitter: Type.Enum([...jitters]),
  retry_delay_seconds: Type.Number(),
  retry_max_delay_seconds: Type.Number(),
  timeout_seconds: Type.Number(),
  attempts: Type.Integer({ minimum: 0, description: 'Claims so far; never goes back.' }),
  failures: Type.Integer({ minimum: 0, description: 'What max_retries limits.' }),
  crashes: Type.Integer({ minimum: 0, description: 'Workers lost while they ran it.' }),
  cancel_requested: Type.Boolean(),
  reason: NullableText,
  worker_id: NullableId,
  worker_name: NullableText,
  result: Json,
  error: NullableError,
  idempotency_key: NullableText,
  concurrency_key: NullableText,
  workflow_id: NullableId,
  node_name: nullable<string>('string', { description: 'Its name in that workflow.' }),
  cron_id: NullableId,
  trace_id: NullableText,
  discarded_at: nullable<string>('string', {
    format: 'date-time',
    description: 'When a DEAD task was taken out of the dead letters.',
  }),
  progress: Type.Union([closed({ percent: Type.Number(), note: NullableText }), Type.Null()]),
})

/** An edit of a task that waits: at least one field; what is absent stays. */
export const EditTask = closed(
  {
    scheduled_at: Type.Optional(
      nullable<string>('string', {
        format: 'date-time',
        description: 'Not before this instant. Null or in the past: now.',
      }),
    ),
    priority: Type.Optional(PriorityEnum),
    payload: Type.Optional(Json),
    queue: Type.Optional(name({ description: 'The queue that it moves to.' })),
    max_retries: Type.Optional(Type.Integer({ minimum: limits.maxRetriesMin, maximum: limits.maxRetriesMax })),
    timeout_seconds: Type.Optional(
      Type.Number({
        minimum: seconds(limits.timeoutMinMs),
        maximum: seconds(limits.timeoutMaxMs),
        description: 'Of one attempt.',
      }),
    ),
  },
  { minProperties: 1, examples: [{ priority: 'high', scheduled_at: null }] },
)
export type EditTaskBody = Static<typeof EditTask>

export const CancelledTask = closed({
  task_id: id('task'),
  status: Status,
  cancel_requested: Type.Boolean(),
  cancelled_at: NullableInstant,
})

const attemptOutcomes = [
  'running',
  'succeeded',
  'failed',
  'timed_out',
  'lost',
  'cancelled',
  'snoozed',
  'released',
] as const

export const Attempt = closed({
  attempt: Type.Integer({ minimum: 1 }),
  run: Type.Integer({ minimum: 0, description: 'Raised by each replay.' }),
  worker_id: NullableId,
  worker_name: NullableText,
  started_at: NullableInstant,
  ended_at: NullableInstant,
  outcome: Type.Enum([...attemptOutcomes]),
  error: NullableError,
  retry_delay_seconds: nullable<number>('number', { description: 'The delay drawn before the next attempt.' }),
})

export const TaskEvent = closed({
  at: Instant,
  transition: Type.String(),
  from_status: nullable<string>('string'),
  to_status: Status,
  attempt: nullable<number>('integer'),
  actor: Type.String(),
  reason: NullableText,
})

export const AttemptList = list(Attempt)
export const TaskEventList = list(TaskEvent)

export const TaskParams = closed({ task_id: id('task', { description: 'The id of the task.' }) })
export const TaskQuery = closed({ wait_seconds: Type.Optional(WaitSeconds) })
export const TaskHeaders = closed({
  'idempotency-key': Type.Optional(
    plainText(limits.idempotencyKeyMaxChars, {
      description: 'The same as the field; if both are given, they must be equal.',
    }),
  ),
  traceparent: Type.Optional(
    Type.String({ description: "W3C trace context of the caller; the task's spans join it." }),
  ),
})
