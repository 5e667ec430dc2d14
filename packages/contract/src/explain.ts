import { backoffs, causeCodes, jitters, triggerRules } from '@duly/domain'
import Type from 'typebox'
import {
  Count,
  closed,
  Instant,
  id,
  NullableId,
  NullableInstant,
  NullableText,
  name,
  nullable,
  optional,
  PriorityEnum,
  Status,
} from './common.js'

const Seconds = Type.Number({ minimum: 0 })
const Share = Type.Number({ minimum: 0, maximum: 1 })

/** A worker that lacks one thing. */
const NearWorker = closed({
  worker_id: id('worker'),
  name: Type.String(),
  queues: Type.Array(name(), { description: 'The first 20.' }),
  task_types: Type.Array(name(), { description: 'The first 20.' }),
  missing: Type.Array(Type.Enum(['queue', 'task_type', 'tenant'])),
})

const Estimate = closed({
  wait_seconds: Seconds,
  starts_per_second: Type.Number({ minimum: 0 }),
  starts_of: Type.Enum(['queue', 'tenant'], {
    description:
      'Whose starts were counted: those of its queue; for a key that is bound to a tenant, those of the tenant in this queue.',
  }),
  window_seconds: Seconds,
  share: Type.Number({ minimum: 0, maximum: 1, description: 'The part of those starts that its lane gets.' }),
})

const Blocker = closed({ task_id: id('task'), node: NullableText, status: Status })

const CodeEnum = Type.Enum(
  causeCodes.map(({ code }) => code),
  { description: causeCodes.map(({ code, doc }) => `${code}: ${doc}`).join('\n') },
)

/** Each cause has the fields that belong to it, and no others. */
const details = {
  queue: name(),
  task_type: name(),
  tenant_id: name(),
  priority: PriorityEnum,
  gate: Type.String({ description: 'Empty: none.' }),
  in_seconds: Type.Number({ description: 'Until the instant of the cause; negative when that is past.' }),
  for_seconds: Type.Number({ description: 'Since the instant of the cause.' }),
  paused_at: NullableInstant,
  due_at: NullableInstant,
  expires_at: Instant,
  started_at: NullableInstant,
  deadline_at: Instant,
  ends_at: Instant,
  ended_at: Instant,
  completed_at: Instant,
  cancel_requested_at: Instant,
  last_heartbeat_at: NullableInstant,
  last_seen_at: NullableInstant,
  updated_at: Instant,
  workers: Count,
  slots: Count,
  running: Count,
  near_workers: Type.Array(NearWorker, { description: 'Live workers that lack one thing only, at most 5.' }),
  ahead: Type.Integer({ minimum: 0, description: 'Ready before it in its lane.' }),
  is_ahead_exact: Type.Boolean({ description: 'False: there are more than were counted.' }),
  depth: Type.Integer({ minimum: 0, description: 'Ready tasks of its lane in all, from the counters.' }),
  estimate: Type.Union([Estimate, Type.Null()], {
    description:
      'How long what is ahead may take; null: nothing was started in the last minutes, or nothing can start now.',
  }),
  priorities: Type.Array(closed({ priority: PriorityEnum, share: Share })),
  tenants: nullable<number>('integer', { minimum: 0, description: 'At most 1,000; null: not told to a bound key.' }),
  gates: Count,
  share: Share,
  attempt: Count,
  failures: Count,
  max_retries: Count,
  crashes: Count,
  max_crashes: Count,
  undelivered: Count,
  snoozes: Count,
  delay_seconds: nullable<number>('number', { minimum: 0 }),
  delay_from: Type.Union([Type.Enum(['backoff', 'handler']), Type.Null()], {
    description: 'Drawn, or asked for by the handler; null: nobody wrote it down.',
  }),
  retry_backoff: Type.Enum([...backoffs]),
  retry_jitter: Type.Enum([...jitters]),
  error: Type.Union([closed({ class: Type.String(), message: Type.String() }), Type.Null()]),
  worker_id: NullableId,
  worker_name: NullableText,
  is_lease_live: Type.Boolean(),
  percent: Type.Number(),
  note: NullableText,
  reason: NullableText,
  actor: NullableText,
  blockers: Type.Array(Blocker, { description: 'The first 20.' }),
  blocker_count: Count,
  trigger_rule: Type.Enum([...triggerRules], { description: 'Of a task of a workflow: by which it is judged.' }),
}

export const Cause = closed(
  { code: CodeEnum, message: Type.String({ description: 'One sentence for a person.' }), ...optional(details) },
  { description: 'Each code has the numbers that belong to it.' },
)

export const Explanation = closed({
  task_id: id('task'),
  status: Status,
  summary: Type.String({ description: 'The cause that matters most, in one sentence.' }),
  causes: Type.Array(Cause, { description: 'The one that matters most first; never empty.' }),
})
