import type { Priority } from '../define-task.js'
import { type Duration, toSeconds } from '../duration.js'
import { checkOptions, namesOf } from '../known-options.js'
import { RawJson } from './raw-json.js'
import type { TaskStatus } from './records.js'

/** Which tasks a list holds; all that is given must fit. */
export interface TaskFilters {
  readonly status?: TaskStatus
  readonly taskType?: string
  readonly queue?: string
  /** Only for a key that is bound to no tenant. */
  readonly tenant?: string
  readonly tag?: string
  readonly workflowId?: string
  readonly cronId?: string
  /** Created at this instant or later. */
  readonly createdAfter?: Date | string
  /** Created before this instant. */
  readonly createdBefore?: Date | string
  readonly correlationId?: string
}

/** An edit of a task that waits: at least one field; what is absent stays. */
export interface TaskEdit {
  /** Null or in the past: now. Only while it is SCHEDULED or PENDING. */
  readonly scheduledAt?: Date | string | null
  readonly priority?: Priority
  /** As a whole; checked by no schema here. */
  readonly payload?: unknown
  readonly queue?: string
  readonly maxRetries?: number
  readonly timeout?: Duration
}

const instant = (at: Date | string): string => (at instanceof Date ? at.toISOString() : at)

const parameters: Readonly<Record<keyof TaskFilters, string>> = {
  status: 'status',
  taskType: 'task_type',
  queue: 'queue',
  tenant: 'tenant_id',
  tag: 'tag',
  workflowId: 'workflow_id',
  cronId: 'cron_id',
  createdAfter: 'created_after',
  createdBefore: 'created_before',
  correlationId: 'correlation_id',
}

const filterNames = { names: Object.keys(parameters), elsewhere: { tenant_id: 'tenant' } }

/** Filters with the names of the API. */
export function filtersToWire(call: string, filters: TaskFilters): Record<string, string> {
  checkOptions(call, filters, filterNames)
  const wire: Record<string, string> = {}
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = filters[name as keyof TaskFilters]
    if (value !== undefined) wire[parameter] = instant(value)
  }
  return wire
}

const editNames = {
  names: namesOf<TaskEdit>({
    ...{ scheduledAt: true, priority: true, payload: true, queue: true, maxRetries: true, timeout: true },
  }),
  elsewhere: { timeout_seconds: 'timeout' },
}

/** The JSON text of an edit, a raw payload as it was written. */
export function encodeEdit(edit: TaskEdit): string {
  checkOptions('tasks.edit', edit, editNames)
  const { scheduledAt, priority, payload, queue, maxRetries, timeout } = edit
  const fields: Record<string, unknown> = {
    scheduled_at: scheduledAt === undefined || scheduledAt === null ? scheduledAt : instant(scheduledAt),
    priority,
    queue,
    max_retries: maxRetries,
    timeout_seconds: timeout === undefined ? undefined : toSeconds(timeout),
  }
  if (!(payload instanceof RawJson)) return JSON.stringify({ ...fields, payload })
  const rest = JSON.stringify(fields).slice(1, -1)
  return `{${rest}${rest === '' ? '' : ','}"payload":${payload.text}}`
}
