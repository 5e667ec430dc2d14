import * as bulk from '../bulk.js'
import { type ApiRouteGroup, apiBase } from './route.js'

const path = `${apiBase}/bulk-operations`
const tag = 'bulk'
const operation = (description: string) => ({ description, schema: bulk.BulkOperation })

export const bulkRoutes = {
  changeTasks: {
    tag,
    method: 'POST',
    path: `${apiBase}/tasks/bulk`,
    summary: 'Cancel, retry or discard many tasks',
    scope: 'submit',
    description:
      'In the background, newest first: an operation that can be watched and cancelled, goes on after a restart, and acts on each task once. Tasks that were created, and ends that came, after the call are not touched. With `dry_run` nothing changes: the answer counts what fits, up to a bound.',
    body: bulk.BulkRequest,
    bodyLimit: 'single',
    responses: {
      200: { description: 'A dry run: what it would change.', schema: bulk.BulkPreview },
      202: operation('The operation.'),
    },
    problems: ['rate_limited', 'commit_unknown'],
  },
  listBulkOperations: {
    tag,
    method: 'GET',
    path,
    summary: 'List operations on many tasks, newest first',
    scope: 'read',
    description: 'Kept as long as the records of tasks. A key that is bound to a tenant sees those of its keys.',
    query: bulk.BulkListQuery,
    responses: { 200: { description: 'A page.', schema: bulk.BulkOperationList } },
    problems: [],
  },
  getBulkOperation: {
    tag,
    method: 'GET',
    path: `${path}/{bulk_id}`,
    summary: 'Read an operation on many tasks: how far it came',
    scope: 'read',
    description: 'With `wait_seconds` the answer is held until it has ended, at most that long.',
    params: bulk.BulkParams,
    query: bulk.BulkQuery,
    responses: { 200: operation('The operation as it stands.') },
    problems: ['not_found'],
  },
  cancelBulkOperation: {
    tag,
    method: 'POST',
    path: `${path}/{bulk_id}/cancel`,
    summary: 'Stop an operation on many tasks',
    scope: 'submit',
    description: 'What it has done stays done. Cancelling a cancelled one again changes nothing.',
    params: bulk.BulkParams,
    responses: { 200: operation('The operation, CANCELLED.') },
    problems: ['not_found', 'wrong_state', 'commit_unknown'],
  },
} as const satisfies ApiRouteGroup
