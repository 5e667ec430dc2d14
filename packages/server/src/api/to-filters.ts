import type { BulkRequestBody, DeadLetterQueryBody, TaskListQueryBody } from '@duly/contract'
import { decodeId, encodeId } from '@duly/domain'
import type { BulkRecord, DeadLetterFilters, TaskFilters } from '../model.js'
import { formatInstant, parseInstant } from './instant.js'

type WireFilters = Omit<TaskListQueryBody, 'limit' | 'cursor'> & BulkRequestBody['filter']

const optional = <T, R>(value: T | undefined, read: (value: T) => R): R | null =>
  value === undefined ? null : read(value)

/** Which tasks a list, or an operation, is of. */
export function toTaskFilters(wire: WireFilters): TaskFilters {
  return {
    status: wire.status ?? null,
    taskType: wire.task_type ?? null,
    queue: wire.queue ?? null,
    tenant: wire.tenant_id ?? null,
    tag: wire.tag ?? null,
    workflowId: optional(wire.workflow_id, (id) => decodeId('wf', id)),
    cronId: optional(wire.cron_id, (id) => decodeId('cron', id)),
    createdAfterMs: optional(wire.created_after, parseInstant),
    createdBeforeMs: optional(wire.created_before, parseInstant),
    correlationId: wire.correlation_id ?? null,
  }
}

export function toLetterFilters(wire: DeadLetterQueryBody): DeadLetterFilters {
  return {
    queue: wire.queue ?? null,
    taskType: wire.task_type ?? null,
    tenant: wire.tenant_id ?? null,
    errorClass: wire.error_class ?? null,
    fingerprint: wire.fingerprint ?? null,
  }
}

const named = <T>(value: T | null | undefined, write: (value: T) => string): string | undefined =>
  value === null || value === undefined ? undefined : write(value)
const asIs = (text: string): string => text

/** The filters of an operation as they were asked for; what was not asked for is left out. */
export function filtersOf(filters: BulkRecord['filters']): Readonly<Record<string, string | undefined>> {
  return {
    status: named(filters.status, asIs),
    task_type: named(filters.taskType, asIs),
    queue: named(filters.queue, asIs),
    tenant_id: named(filters.tenant, asIs),
    tag: named(filters.tag, asIs),
    workflow_id: named(filters.workflowId, (id) => encodeId('wf', id)),
    cron_id: named(filters.cronId, (id) => encodeId('cron', id)),
    created_after: named(filters.createdAfterMs, formatInstant),
    created_before: named(filters.createdBeforeMs, formatInstant),
    correlation_id: named(filters.correlationId, asIs),
    error_class: named(filters.errorClass, asIs),
    fingerprint: named(filters.fingerprint, asIs),
  }
}
