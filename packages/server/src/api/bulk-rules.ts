import { type BulkAction, bulkActions, changedBy, type TaskStatus } from '@duly/domain'
import type { RuleError } from './submission-rules.js'

interface Asked {
  readonly action?: unknown
  readonly filter?: unknown
  readonly all?: unknown
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Rules of an operation on many tasks that its schema can't say; what the schema refuses anyway is passed over. */
export function bulkErrors(body: unknown): readonly RuleError[] {
  if (!isObject(body)) return []
  const { action, filter = {}, all }: Asked = body
  if (!isObject(filter)) return []
  return [...extentErrors(filter, all), ...statusErrors(action, filter.status)]
}

/** A filter that was left out, or forgotten, must not mean everything. */
function extentErrors(filter: object, all: unknown): readonly RuleError[] {
  const isEmpty = Object.keys(filter).length === 0
  if (isEmpty && all !== true) {
    return [{ path: 'filter', message: 'must say which tasks; to mean every one, give all: true in its place' }]
  }
  return !isEmpty && all === true ? [{ path: 'all', message: 'must not be given together with a filter' }] : []
}

function statusErrors(action: unknown, status: unknown): readonly RuleError[] {
  const known = bulkActions.find(({ name }) => name === action)?.name
  if (known === undefined || typeof status !== 'string') return []
  const statuses = changedBy(known)
  if (statuses.includes(status as TaskStatus)) return []
  return [{ path: 'filter.status', message: `must be one that the action ${known} changes: ${listOf(known)}` }]
}

const listOf = (action: BulkAction): string => changedBy(action).join(', ')
