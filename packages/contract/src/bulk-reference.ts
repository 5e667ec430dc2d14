import { bulkActions, bulkStatuses, changedBy } from '@duly/domain'
import Type, { type TSchema } from 'typebox'
import { letterFilters } from './dead-letters.js'
import { type Described, fieldsOf, meaningOf } from './describe.js'
import { markdownTable } from './markdown.js'
import { taskFilters } from './task-lists.js'

/** The text of docs/reference/bulk.md. A test keeps file and tables equal. */
export function renderBulkReference(): string {
  return [
    '# Changing many tasks',
    '',
    'Generated from `packages/domain/src/bulk.ts` and the filters of the API by `npm run generate`; do not edit. How operations on',
    'many tasks are used stands in the [guide](../guide/dead-letters.md#many-at-once).',
    '',
    '## Actions',
    '',
    'Without a `status` in its filter an action means all statuses that it changes; a task in another one is not touched.',
    '',
    ...markdownTable(
      ['Action', 'Changes tasks that are', 'What it does'],
      bulkActions.map(({ name, doc }) => [`\`${name}\``, changedBy(name).join(', '), doc]),
    ),
    '',
    '## An operation',
    '',
    ...markdownTable(
      ['Status', 'Meaning'],
      bulkStatuses.map(({ name, doc }) => [name, doc]),
    ),
    '',
    '## Filters of `POST /tasks/bulk`, and of `GET /tasks`',
    '',
    'All that is given must fit. In place of a filter `all: true` means every task.',
    '',
    ...filterTable(taskFilters),
    '',
    '## Filters of `POST /dlq/retry-all` and `POST /dlq/discard-all`, and of `GET /dlq`',
    '',
    'All that is given must fit; without any, all dead letters are meant.',
    '',
    ...filterTable(letterFilters),
    '',
  ].join('\n')
}

/** Where the schema adds nothing, the name says what it is. */
function filterTable(filters: Readonly<Record<string, TSchema>>): string[] {
  const query: TSchema = Type.Object(filters)
  const rows = fieldsOf(query as Described).map(({ path, schema }) => [
    `\`${path}\``,
    schema.enum
      ? `One of ${schema.enum.join(', ')}.`
      : meaningOf(schema) || `Exactly this ${path.replaceAll('_', ' ')}.`,
  ])
  return markdownTable(['Filter', 'Fits'], rows)
}
