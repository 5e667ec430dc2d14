import type { HeartbeatBody, RegisterWorkerBody, ReportBody } from '@duly/contract'
import { decodeId, limits } from '@duly/domain'
import type { HeartbeatRequest, Report, TaskError, WorkerRegistration } from '../model.js'
import { cleanText, cutBytes, cutChars } from './clean-text.js'
import { parseInstant } from './instant.js'
import type { Captures } from './json-captures.js'

const toMs = (seconds: number): number => Math.round(seconds * 1_000)

/** A worker's error, cleaned and cut rather than refused: an outcome must never be lost because of its text. */
function toTaskError(error: ReportBody['error']): TaskError {
  return {
    class: cutChars(cleanText(error?.class ?? 'Error'), limits.errorClassMaxChars),
    message: cutBytes(cleanText(error?.message ?? ''), limits.errorMessageMaxBytes),
    stack: error?.stack == null ? null : cutBytes(cleanText(error.stack), limits.errorStackMaxBytes),
  }
}

/** Maps one report. `result` is the text that the worker wrote; null when it reported none. */
function toReport(report: ReportBody, result: string | undefined): Report {
  const base = { id: decodeId('task', report.task_id), lease: report.lease }
  switch (report.outcome) {
    case 'succeeded':
      return { ...base, outcome: 'succeeded', result: result ?? null }
    case 'failed':
      return {
        ...base,
        outcome: 'failed',
        error: toTaskError(report.error),
        retryable: report.error?.retryable ?? true,
        retryAfterMs: report.retry_after_seconds === undefined ? null : toMs(report.retry_after_seconds),
        timedOut: report.error?.timed_out ?? false,
      }
    case 'snoozed':
      return { ...base, outcome: 'snoozed', delayMs: toMs(report.delay_seconds ?? 0) }
    default:
      return { ...base, outcome: report.outcome }
  }
}

export function toReports(reports: readonly ReportBody[], captures: Captures): Report[] {
  return reports.map((report, item) => toReport(report, captures.text('reports[*].result', item)))
}

export function toRegistration(body: RegisterWorkerBody): WorkerRegistration {
  return {
    name: body.name,
    host: body.host ?? null,
    version: body.version ?? null,
    queues: [...new Set(body.queues)],
    taskTypes: [...new Set(body.task_types)],
    slots: body.slots,
    heartbeatMs: body.heartbeat_seconds === undefined ? null : toMs(body.heartbeat_seconds),
  }
}

/** Longest note of a progress report, in UTF-16 units; longer ones are cut. */
const noteMaxChars = 1_000

export function toHeartbeat(body: HeartbeatBody, captures: Captures): HeartbeatRequest {
  return {
    received: body.received ?? 0,
    leases: body.leases ?? [],
    waitMs: toMs(body.wait_seconds ?? 0),
    progress: (body.progress ?? []).map(({ lease, percent, note }) => ({
      lease,
      percent,
      note: note == null ? null : cutChars(cleanText(note), noteMaxChars),
    })),
    checkpoints: (body.checkpoints ?? []).map(({ lease }, item) => ({
      lease,
      value: captures.text('checkpoints[*].value', item) ?? 'null',
    })),
    logs: (body.logs ?? []).map(({ lease, task_id: task, at, level, message }, index) => ({
      lease,
      id: task === undefined ? null : decodeId('task', task),
      number: body.logs_after === undefined ? null : body.logs_after + index + 1,
      atMs: parseInstant(at) ?? 0,
      level,
      message: cutBytes(cleanText(message), limits.errorMessageMaxBytes),
    })),
    lagMs: body.lag_ms ?? null,
    rssBytes: body.rss_bytes ?? null,
  }
}
