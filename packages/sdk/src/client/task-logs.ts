import { checkOptions, namesOf } from '../known-options.js'
import type { HttpClient } from './http.js'
import { Patience } from './patience.js'
import type { LogLine, LogPage } from './records.js'
import { fromWire } from './wire.js'

export interface LogOptions {
  /** Wait for what the handler writes yet, until the task has ended. */
  readonly follow?: boolean
  /** Of this attempt alone. */
  readonly attempt?: number
  /** Of this level and above. */
  readonly level?: LogLine['level']
  /** `nextCursor` of a page with the same filters: what comes behind it. */
  readonly cursor?: string
  readonly signal?: AbortSignal
}

const logNames = namesOf<LogOptions>({ follow: true, attempt: true, level: true, cursor: true, signal: true })

/** Lines of one request, and how long the server may hold an answer that would bring none, s. */
const PAGE = 1_000
const WAIT_SECONDS = 30
/** An empty answer to a held call that comes sooner is followed by a rest, ms. */
const HASTY_MS = 1_000

/** The pages of a task's log, oldest lines first; when following, through outages of up to a minute, until the task has ended. */
export async function* readLogs(http: HttpClient, path: string, options: LogOptions): AsyncGenerator<LogPage, void> {
  checkOptions('tasks.logs', options, { names: logNames })
  const { follow = false, signal } = options
  const patience = new Patience(signal)
  let cursor = options.cursor ?? null
  for (;;) {
    const askedAt = performance.now()
    const page = await ask(http, `${path}?${queryOf(options, cursor)}`, { follow, signal, patience })
    if (page.items.length > 0 || page.isComplete || !follow) yield page
    if (page.nextCursor === null || !(follow || page.hasMore)) return
    cursor = page.nextCursor
    if (page.items.length === 0 && performance.now() - askedAt < HASTY_MS) await patience.rest()
    else patience.heard()
  }
}

function queryOf({ follow, attempt, level }: LogOptions, cursor: string | null): URLSearchParams {
  const query = new URLSearchParams({ limit: String(PAGE) })
  if (attempt !== undefined) query.set('attempt', String(attempt))
  if (level !== undefined) query.set('level', level)
  if (cursor !== null) query.set('cursor', cursor)
  if (follow) query.set('wait_seconds', String(WAIT_SECONDS))
  return query
}

interface Asking {
  readonly follow: boolean
  readonly signal: AbortSignal | undefined
  readonly patience: Patience
}

async function ask(http: HttpClient, path: string, { follow, signal, patience }: Asking): Promise<LogPage> {
  const waitMs = follow ? WAIT_SECONDS * 1_000 : 0
  for (;;) {
    try {
      const answer = await http.call({ method: 'GET', path, repeatable: true, waitMs, signal })
      return fromWire(answer.body) as LogPage
    } catch (error) {
      if (!follow) throw error
      await patience.bear(error)
    }
  }
}
