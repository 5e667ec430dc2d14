import { limits } from '@duly/domain'
import Type, { type Static } from 'typebox'
import { closed, Instant, NullableText, optional, PageQuery, WaitSeconds } from './common.js'

/** From what matters least to what matters most. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const

export const LogLine = closed({
  line: Type.Integer({ minimum: 1, description: 'Its number in the log of the task, over all attempts and runs.' }),
  attempt: Type.Integer({ minimum: 1, description: 'The attempt that wrote it; attempts count on over the runs.' }),
  at: Type.String({ format: 'date-time', description: "By the worker's own clock, in UTC." }),
  level: Type.Enum([...logLevels]),
  message: Type.String({ description: 'As the handler wrote it: it may hold control characters.' }),
})

export const LogPage = closed({
  items: Type.Array(LogLine),
  next_cursor: NullableText,
  has_more: Type.Boolean({ description: 'There are more lines behind this page already.' }),
  is_complete: Type.Boolean({
    description: 'The task has ended, and this page brings the last of its lines; then alone `next_cursor` is null.',
  }),
  dropped_lines: Type.Integer({ minimum: 0, description: 'Lines that the log had no room for.' }),
  progress: Type.Union([closed({ percent: Type.Number(), note: NullableText, updated_at: Instant }), Type.Null()]),
})

/** A record of a stream: what a log and its task come to while they are followed. */
export const LogRecord = closed(
  {
    type: Type.Enum(['line', 'progress', 'end'], {
      description:
        'A line of the log; how far the handler is, when it says so anew; the last record, without which a stream was cut off.',
    }),
    cursor: Type.String({ description: 'To go on behind this record, in a later call with the same filters.' }),
    ...optional(LogLine.properties),
    percent: Type.Optional(Type.Number()),
    note: Type.Optional(NullableText),
    updated_at: Type.Optional(Instant),
    is_complete: Type.Optional(
      Type.Boolean({
        description:
          'Of the end: the task has ended, and all its lines were brought. False: come again, with the cursor.',
      }),
    ),
    dropped_lines: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Of the end: lines that the log had no room for.' }),
    ),
  },
  { description: 'Each type has the fields that belong to it.' },
)

export const LogsQuery = closed({
  ...PageQuery,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: limits.logsMaxItems, description: 'Lines of one page; absent: 50.' }),
  ),
  attempt: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: 'Of this attempt alone.' })),
  level: Type.Optional(Type.Enum([...logLevels], { description: 'Of this level and above.' })),
  wait_seconds: Type.Optional(WaitSeconds),
  follow: Type.Optional(
    Type.String({
      pattern: '^(true|false)?$',
      description:
        '`?follow` is `?wait_seconds=30`: the answer is held until there is a line, or the task has ended. A stream follows anyway.',
    }),
  ),
})
export type LogsQueryBody = Static<typeof LogsQuery>
