import { encodeId, jitterOf, priorityName } from '@duly/domain'
import type { CronRecord, CronSummary, FiringRecord, ImportedLine } from '../model.js'
import { instant, raw, toSeconds, type WritableObject, writeJson } from './write-json.js'

const seconds = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms))

/** A definition as lists tell it. */
export function cronOf(cron: CronSummary): WritableObject {
  return { ...scheduleOf(cron), ...standingOf(cron), ...templateOf(cron) }
}

/** The whole definition, its payload as the text that was accepted. */
export function writeCron(cron: CronRecord): string {
  return writeJson({ ...cronOf(cron), payload: raw(cron.template.payload) })
}

function scheduleOf(cron: CronSummary): WritableObject {
  return {
    cron_id: encodeId('cron', cron.id),
    name: cron.name,
    tenant_id: cron.tenant,
    status: cron.status,
    enabled: cron.enabled,
    cron_expression: cron.expression,
    every_seconds: seconds(cron.everyMs),
    timezone: cron.timezone,
    description: cron.description,
    overlap_policy: cron.overlap,
    misfire_policy: cron.misfire,
    misfire_grace_seconds: toSeconds(cron.graceMs),
    starts_at: instant(cron.startsAtMs),
    ends_at: instant(cron.endsAtMs),
    jitter_seconds: toSeconds(cron.jitterMs),
    jitter_offset_seconds: toSeconds(jitterOf(cron.id, cron.jitterMs)),
  }
}

function standingOf(cron: CronSummary): WritableObject {
  return {
    next_fire_time: instant(cron.nextFireAtMs),
    last_fire_time: instant(cron.lastFireAtMs),
    last_fired_at: instant(cron.lastFiredAtMs),
    last_task_id: cron.lastTaskId === null ? null : encodeId('task', cron.lastTaskId),
    fired: cron.fired,
    skipped: cron.skipped,
    error: cron.error,
    created_at: instant(cron.createdAtMs),
    updated_at: instant(cron.updatedAtMs),
  }
}

function templateOf({ template }: CronSummary): WritableObject {
  return {
    task_type: template.taskType,
    queue: template.queue,
    priority: priorityName(template.priority),
    metadata: raw(template.metadata),
    tags: template.tags,
    expires_at: instant(template.expiresAtMs),
    max_retries: template.maxRetries,
    retry_backoff: template.backoff,
    retry_jitter: template.jitter,
    retry_delay_seconds: toSeconds(template.retryDelayMs),
    retry_max_delay_seconds: toSeconds(template.retryMaxDelayMs),
    timeout_seconds: toSeconds(template.timeoutMs),
    result_ttl_seconds: seconds(template.resultTtlMs),
    concurrency_key: template.concurrencyKey,
  }
}

export function firingOf(firing: FiringRecord): WritableObject {
  return {
    fire_time: instant(firing.fireAtMs),
    fired_at: instant(firing.firedAtMs),
    outcome: firing.outcome,
    task_id: firing.taskId === null ? null : encodeId('task', firing.taskId),
  }
}

export const fireTimesOf = (times: readonly number[]): readonly string[] => times.map((ms) => instant(ms) ?? '')

export function writeImported(lines: readonly ImportedLine[]): string {
  const imported = new Set<ImportedLine['result']>(['created', 'replaced', 'unchanged', 'would_import'])
  return writeJson({
    lines: lines.map(({ id, ...line }) => ({ ...line, cron_id: id === null ? null : encodeId('cron', id) })),
    imported: lines.filter(({ result }) => imported.has(result)).length,
    refused: lines.filter(({ result }) => result === 'refused').length,
  })
}
