import { limits, misfirePolicies, overlapPolicies } from '@duly/domain'
import Type from 'typebox'
import { nullable, plainText, seconds } from './common.js'
import { SubmitTask } from './tasks.js'

/*
 * What the requests about recurring tasks are made of.
 */

const {
  task_type,
  scheduled_at: _scheduledAt,
  delay_seconds: _delay,
  idempotency_key: _key,
  ...taskFields
} = SubmitTask.properties

/** `taskFields`: what its tasks have, all of a task but its key and when it starts. */
export { task_type, taskFields }

const grace = { minimum: 0, maximum: seconds(limits.cronGraceMaxMs) }
const jitter = { minimum: 0, maximum: seconds(limits.cronJitterMaxMs) }

const expressionDoc =
  'Five fields, or six with the seconds first: names, ranges, steps, lists, `L`, `W`, `#`, `?`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.'

export const Expression = plainText(limits.cronExpressionMaxChars, {
  description: `${expressionDoc} Either this or \`every_seconds\`.`,
  examples: ['0 9 * * 1-5'],
})
export const EverySeconds = Type.Number({
  minimum: seconds(limits.cronEveryMinMs),
  maximum: seconds(limits.delayMaxMs),
  description: 'A fixed interval, to the millisecond, in place of an expression.',
})
export const TimeZone = plainText(limits.timeZoneMaxChars, {
  description: 'An IANA time zone, in whose local time the expression is meant. Default "UTC".',
  examples: ['America/New_York'],
})

/** What happens to firings that meet an unfinished task or come late, and from when to when there are any. */
export const rules = {
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

/** When it fires. */
export const schedule = {
  cron_expression: Type.Optional(Expression),
  every_seconds: Type.Optional(EverySeconds),
  timezone: Type.Optional(TimeZone),
  ...rules,
}

export const enabled = (when: string) => Type.Optional(Type.Boolean({ description: `False: PAUSED. ${when}` }))
