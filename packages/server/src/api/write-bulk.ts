import { encodeId } from '@duly/domain'
import type { BulkPreview, BulkRecord } from '../model.js'
import { filtersOf } from './to-filters.js'
import { instant, type WritableObject, writeJson } from './write-json.js'

export function bulkOf(record: BulkRecord): WritableObject {
  return {
    bulk_id: encodeId('bulk', record.id),
    action: record.action,
    source: record.source,
    filter: filtersOf(record.filters),
    tenant_id: record.tenant,
    actor: record.actor,
    status: record.status,
    matched: record.matched,
    done: record.done,
    skipped: record.skipped,
    failed: record.failed,
    error: record.error,
    created_at: instant(record.createdAtMs),
    updated_at: instant(record.updatedAtMs),
    completed_at: instant(record.completedAtMs),
  }
}

export function writeBulkPreview({ action, matched, isAtLeast, byStatus, samples }: BulkPreview): string {
  return writeJson({
    action,
    matched,
    at_least: isAtLeast,
    by_status: { ...byStatus },
    samples: samples.map(({ id, status, tenant, taskType, queue }) => ({
      ...{ task_id: encodeId('task', id), status, tenant_id: tenant, task_type: taskType, queue },
    })),
  })
}
