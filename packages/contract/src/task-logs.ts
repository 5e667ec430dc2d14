import { limits } from '@duly/domain'
import Type, { type Static } from 'typebox'
import { closed, Instant, NullableText, PageQuery, WaitSeconds } from './common.js'

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
      description: '`?follow` is `?wait_seconds=30`: the answer is held until there is a line, or the task has ended.',
    }),
  ),
})
export type LogsQueryBody = Static<typeof LogsQuery>
