import { limits } from '@duly/domain'
import Type, { type Static } from 'typebox'
import {
  Count,
  closed,
  id,
  list,
  NullableId,
  NullableInstant,
  NullableText,
  name,
  nullable,
  PageQuery,
  plainText,
  Status,
} from './common.js'
import { NullableError, Task } from './tasks.js'

const { payload: _payload, result: _result, ...summaryFields } = Task.properties

/** What a list tells of a task: all but payload, result and the stack of its error, which can be large. */
export const TaskSummary = closed({
  ...summaryFields,
  error: Type.Union([closed({ class: Type.String(), message: Type.String() }), Type.Null()]),
})

export const Run = closed({
  run: Type.Integer({ minimum: 1, description: 'Raised by each replay.' }),
  status: Status,
  started_at: NullableInstant,
  completed_at: NullableInstant,
  replayed_at: nullable<string>('string', {
    format: 'date-time',
    description: 'When a replay took its end back; null: the current run.',
  }),
  last_attempt: Type.Integer({
    minimum: 0,
    description: 'Number of its last attempt; attempts count on over the runs.',
  }),
  failures: Count,
  crashes: Count,
  reason: NullableText,
  worker_id: NullableId,
  worker_name: NullableText,
  error: NullableError,
})

export const TaskSummaryList = list(TaskSummary)
export const RunList = list(Run)

/** Which tasks are meant; all that is given must fit. */
export const taskFilters = {
  status: Type.Optional(Status),
  task_type: Type.Optional(name()),
  queue: Type.Optional(name()),
  tenant_id: Type.Optional(name({ description: 'A key that is bound to a tenant lists its own anyway.' })),
  tag: Type.Optional(plainText(limits.tagMaxChars, { description: 'One of its tags.' })),
  workflow_id: Type.Optional(id('wf')),
  cron_id: Type.Optional(id('cron')),
  created_after: Type.Optional(
    Type.String({ format: 'date-time', description: 'Created at this instant or later; in a URL, `+` is `%2B`.' }),
  ),
  created_before: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this instant.' })),
  correlation_id: Type.Optional(plainText(limits.nameMaxChars, { description: '`metadata.correlation_id` is this.' })),
}

export const TaskListQuery = closed({ ...taskFilters, ...PageQuery })
export type TaskListQueryBody = Static<typeof TaskListQuery>

/** Runs have whole errors with their stacks. */
export const RunListQuery = closed({
  ...PageQuery,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: limits.runsMaxItems, description: 'Items of one page; absent: 50.' }),
  ),
})
