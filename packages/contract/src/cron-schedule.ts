import { limits } from '@duly/domain'
import Type, { type Static } from 'typebox'
import { closed, Instant, nullable } from './common.js'
import { EverySeconds, Expression, TimeZone } from './cron-parts.js'

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
