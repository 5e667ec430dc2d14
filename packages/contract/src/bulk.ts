import { bulkActions, bulkStatuses } from '@duly/domain'
import Type, { type Static } from 'typebox'
import {
  Count,
  closed,
  Instant,
  id,
  list,
  NullableInstant,
  NullableName,
  NullableText,
  name,
  PageQuery,
  Status,
  typed,
  WaitSeconds,
} from './common.js'
import { taskFilters } from './task-lists.js'

const Action = Type.Enum(
  bulkActions.map(({ name: action }) => action),
  { description: bulkActions.map(({ name: action, doc }) => `${action}: ${doc}`).join('\n') },
)

/** A request to change many tasks. */
export const BulkRequest = closed(
  {
    action: Action,
    filter: Type.Optional(
      closed(taskFilters, {
        description:
          'Which tasks, as in `GET /tasks`; all that is given must fit. Without a `status`, those that the action can change.',
      }),
    ),
    all: Type.Optional(Type.Boolean({ description: 'Needed in place of a filter, to mean every task.' })),
    dry_run: Type.Optional(Type.Boolean({ description: 'Only tell what it would change.' })),
  },
  { examples: [{ action: 'cancel', filter: { queue: 'email-queue', task_type: 'send_email' } }] },
)
export type BulkRequestBody = Static<typeof BulkRequest>

const sample = closed({ task_id: id('task'), status: Status, tenant_id: name(), task_type: name(), queue: name() })

export const BulkPreview = closed({
  action: Action,
  matched: Type.Integer({ minimum: 0, description: 'Tasks that it would change, as they stand now.' }),
  at_least: Type.Boolean({ description: 'The look stopped at its bound: there may be more.' }),
  by_status: typed<Readonly<Record<string, number>>>({
    type: 'object',
    description: 'The same by status.',
    additionalProperties: { type: 'integer', minimum: 0 },
    examples: [{ PENDING: 12, RUNNING: 1 }],
  }),
  samples: Type.Array(sample, { maxItems: 10, description: 'Some of them.' }),
})

export const BulkOperation = closed({
  bulk_id: id('bulk'),
  action: Action,
  source: Type.Enum(['tasks', 'dead_letters'], { description: 'Which list the filter is of.' }),
  filter: typed<Readonly<Record<string, string>>>({
    type: 'object',
    description: 'As it was asked for; empty: everything.',
    additionalProperties: { type: 'string' },
    examples: [{ queue: 'email-queue' }],
  }),
  tenant_id: NullableName,
  actor: Type.String({ description: 'Who asked for it, as it stands in the trail of the tasks.' }),
  status: Type.Enum(
    bulkStatuses.map(({ name: status }) => status),
    { description: bulkStatuses.map(({ name: status, doc }) => `${status}: ${doc}`).join('\n') },
  ),
  matched: Type.Integer({ minimum: 0, description: 'Tasks that fitted when it came to them.' }),
  done: Type.Integer({ minimum: 0, description: 'Changed: ended, marked, run again or discarded.' }),
  skipped: Type.Integer({ minimum: 0, description: 'Left alone, since their state had changed meanwhile.' }),
  failed: Count,
  error: NullableText,
  created_at: Instant,
  updated_at: Instant,
  completed_at: NullableInstant,
})

export const BulkOperationList = list(BulkOperation)
export const BulkParams = closed({ bulk_id: id('bulk', { description: 'The id of the operation.' }) })
export const BulkQuery = closed({ wait_seconds: Type.Optional(WaitSeconds) })
export const BulkListQuery = closed(PageQuery)
