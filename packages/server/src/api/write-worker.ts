import { encodeId } from '@duly/domain'
import type { GrantedTask, HeartbeatAnswer, ReportResult, WorkerSession } from '../model.js'
import { instant, raw, toSeconds, type WritableObject, writeJson } from './write-json.js'
import { grantedNodeOf } from './write-workflow.js'

export function writeSession(session: WorkerSession): string {
  return writeJson({
    worker_id: encodeId('worker', session.id),
    heartbeat_seconds: toSeconds(session.heartbeatMs),
    lease_seconds: toSeconds(session.leaseMs),
  })
}

function grantOf(task: GrantedTask): WritableObject {
  return {
    grant: task.grant,
    task_id: encodeId('task', task.id),
    lease: task.lease,
    attempt: task.attempt,
    failures: task.failures,
    task_type: task.taskType,
    queue: task.queue,
    payload: raw(task.payload),
    timeout_ms: task.timeoutMs,
    deadline_at: instant(task.deadlineAtMs),
    idempotency_key: task.idempotencyKey,
    checkpoint: raw(task.checkpoint),
    ...grantedNodeOf(task.node),
    metadata: raw(task.metadata),
    tenant_id: task.tenant,
    suspect: task.suspect,
    traceparent: task.traceparent,
    scheduled_at: instant(task.scheduledAtMs),
    cron_id: task.cronId === null ? null : encodeId('cron', task.cronId),
  }
}

function resultOf(result: ReportResult): WritableObject {
  const task_id = encodeId('task', result.id)
  return result.accepted
    ? { task_id, accepted: true, status: result.status }
    : { task_id, accepted: false, code: result.code }
}

export function writeGrants(tasks: readonly GrantedTask[]): string {
  return writeJson({ tasks: tasks.map(grantOf) })
}

export function writeReportResults(results: readonly ReportResult[]): string {
  return writeJson({ results: results.map(resultOf) })
}

export function writeExchange(results: readonly ReportResult[], tasks: readonly GrantedTask[]): string {
  return writeJson({ results: results.map(resultOf), tasks: tasks.map(grantOf) })
}

export function writeHeartbeat(answer: HeartbeatAnswer): string {
  return writeJson({
    cancel: answer.cancel.map(({ lease, reason }) => ({ lease, reason })),
    lost: answer.lost,
    drain: answer.drain,
  })
}
