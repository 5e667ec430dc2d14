import { histogramRelativeError } from '@duly/domain'
import Type from 'typebox'
import { Count, closed, Instant, nullable, typed } from './common.js'

export const statsWindow = { min: 60, max: 7 * 86_400, default: 3_600 } as const
const statsGroups = ['queue', 'task_type', 'tenant'] as const

const PerSecond = Type.Number({ minimum: 0 })

export interface QuantilesBody {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/** Seconds, or null when nothing was measured. */
const quantiles = (description: string) =>
  typed<QuantilesBody | null>({
    type: ['object', 'null'],
    description: `${description} Seconds, to ${(histogramRelativeError * 100).toFixed(0)} %; what is below a millisecond counts as one. Null: none.`,
    properties: { p50: PerSecond, p90: PerSecond, p99: PerSecond },
    required: ['p50', 'p90', 'p99'],
    additionalProperties: false,
  })

const figures = {
  submitted: Type.Integer({ minimum: 0, description: 'Tasks accepted as new.' }),
  started: Type.Integer({ minimum: 0, description: 'Attempts given to a worker.' }),
  succeeded: Count,
  failed: Count,
  dead: Count,
  cancelled: Count,
  retried: Type.Integer({ minimum: 0, description: 'Attempts that failed and are tried again.' }),
  lost: Type.Integer({ minimum: 0, description: 'Attempts taken back because their worker was lost.' }),
  timed_out: Type.Integer({ minimum: 0, description: 'Attempts ended because their time was up.' }),
  submitted_per_second: PerSecond,
  started_per_second: PerSecond,
  finished_per_second: PerSecond,
  error_rate: nullable<number>('number', {
    description: 'FAILED and DEAD among the tasks that SUCCEEDED, FAILED or are DEAD; null: none ended.',
  }),
  wait_seconds: quantiles('From the instant at which a task was ready to its start.'),
  run_seconds: quantiles('From the start of the last attempt of a task that ended to its end.'),
  depth: nullable<number>('integer', { minimum: 0, description: 'PENDING tasks now; null by task type: not kept.' }),
  running: Type.Integer({ minimum: 0, description: 'RUNNING tasks now.' }),
}

export const Figures = closed(figures)
export const NamedFigures = closed({
  name: Type.String({ description: '`(other)`: what goes beyond 200 names of a kind in a minute at a node.' }),
  ...figures,
})

export const Stats = closed({
  from: Instant,
  to: Instant,
  window_seconds: Type.Number({
    description:
      'What lies between: at least what was asked for. It begins with a whole minute, above two hours with ten, above a day with an hour.',
  }),
  totals: Figures,
  by: nullable<string>('string'),
  items: Type.Array(NamedFigures, { description: 'With `by`: the 100 names with the most events.' }),
})

export const StatsQuery = closed({
  window_seconds: Type.Optional(
    Type.Integer({
      minimum: statsWindow.min,
      maximum: statsWindow.max,
      description: `How far back; absent: ${statsWindow.default}.`,
    }),
  ),
  by: Type.Optional(
    Type.Enum([...statsGroups], { description: 'A caller that is bound to a tenant may ask by tenant only.' }),
  ),
})
