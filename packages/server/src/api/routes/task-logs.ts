import { type LogsQueryBody, logLevels } from '@duly/contract'
import type { TenantScope, Uuid } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import type { LogPage, LogRequest, StoredLine } from '../../model.js'
import type { ApiContext } from '../context.js'
import { asksForStream, type FollowedLog, LogStreams, streamType } from '../log-stream.js'
import { mount } from '../mount.js'
import { readPage, writeCursor } from '../page.js'
import { instant, type WritableObject, writeJson } from '../write-json.js'

/** Well below what balancers wait. */
const followMs = 30_000

const isLine = (text: string): boolean => /^\d{1,9}$/.test(text)

/** What a cursor is good for: the same task with the same filters. */
const listOf = (id: Uuid, { attempt, level }: LogsQueryBody): string => JSON.stringify(['logs', id, attempt, level])

function toRequest(id: Uuid, query: LogsQueryBody): LogRequest {
  const { after, limit } = readPage(listOf(id, query), query, isLine)
  const { attempt = null, level } = query
  const levels = level === undefined ? null : logLevels.slice(logLevels.indexOf(level))
  return { after: Number(after ?? 0), limit, attempt, levels }
}

const lineOf = ({ line, attempt, atMs, level, message }: StoredLine): WritableObject => ({
  ...{ line, attempt, at: instant(atMs), level, message },
})

function writeLogPage(list: string, page: LogPage): string {
  const { lines, next, hasMore, isComplete, dropped, progress } = page
  return writeJson({
    items: lines.map(lineOf),
    // a task that goes on has no last page
    next_cursor: isComplete ? null : writeCursor(list, String(next)),
    has_more: hasMore,
    is_complete: isComplete,
    dropped_lines: dropped,
    progress: progress && {
      ...{ percent: progress.percent, note: progress.note, updated_at: instant(progress.updatedAtMs) },
    },
  })
}

/** How long an answer without a line is held. */
function waitMsOf({ wait_seconds: seconds, follow }: LogsQueryBody): number {
  if (seconds !== undefined) return Math.round(seconds * 1_000)
  return follow === '' || follow === 'true' ? followMs : 0
}

/** Proxies that gather answers are asked to pass this one on as it comes. */
const streamHeaders = { connection: 'close', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }

interface Followed {
  readonly request: LogRequest
  readonly logs: ApiContext['services']['logs']
  readonly tenant: TenantScope
}

function followed(id: Uuid, query: LogsQueryBody, { request, logs, tenant }: Followed): FollowedLog {
  const list = listOf(id, query)
  return {
    read: (after, waitMs, signal) => logs.read(id, tenant, { ...request, after, waitMs, signal }),
    ...{ after: request.after, lineOf, cursorOf: (after) => writeCursor(list, String(after)) },
  }
}

export function registerTaskLogs(app: FastifyInstance, context: ApiContext): void {
  const { logs } = context.services
  const { maxStreams: most, streamHeartbeatMs: heartbeatMs } = context.config
  const streams = new LogStreams({ waits: context.waits, most, heartbeatMs })
  mount(app, context, 'readLogs', {
    handle: async ({ id, query, ...call }) => {
      const request = toRequest(id, query)
      if (asksForStream(call.request)) {
        const body = await streams.open(call, followed(id, query, { request, logs, tenant: call.caller.tenant }))
        // the connection ends with it: whoever comes again may come to another node
        return { status: 200, stream: { type: streamType, body }, headers: streamHeaders }
      }
      const waitMs = waitMsOf(query)
      const read = (signal: AbortSignal) => logs.read(id, call.caller.tenant, { ...request, waitMs, signal })
      const page = await (waitMs === 0 ? read(new AbortController().signal) : context.waits.hold(call, read))
      return { status: 200, json: writeLogPage(listOf(id, query), page) }
    },
  })
}
