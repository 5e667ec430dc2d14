import { DulyApiError } from '../errors.js'
import { checkOptions, namesOf } from '../known-options.js'
import type { ApiAnswer, HttpClient } from './http.js'
import { jsonLines, recordsIn } from './json-lines.js'
import { StreamPages } from './log-stream.js'
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

/**
 * The pages of a task's log, oldest lines first; when following, through restarts and outages of up to a minute, until the task has ended,
 * with pages that bring another progress alone. A server that knows no streams is asked for page after page.
 */
export async function* readLogs(http: HttpClient, path: string, options: LogOptions): AsyncGenerator<LogPage, void> {
  checkOptions('tasks.logs', options, { names: logNames })
  const { follow = false, signal } = options
  const patience = new Patience(signal)
  const pages = new StreamPages()
  let cursor = options.cursor ?? null
  let progress: LogPage['progress'] = null
  for (;;) {
    const askedAt = performance.now()
    const answer = await ask(http, `${path}?${queryOf(options, cursor)}`, { follow, signal, patience })
    let hasNews = false
    for await (const page of pagesOf(answer, { pages, patience, signal })) {
      const isNews = page.items.length > 0 || page.isComplete || !isSame(page.progress, progress)
      if (isNews || !follow) yield page
      hasNews ||= isNews
      progress = page.progress
      cursor = page.nextCursor
      if (cursor === null || !(follow || page.hasMore)) return
    }
    if (!hasNews && performance.now() - askedAt < HASTY_MS) await patience.rest()
    else patience.heard()
  }
}

const isSame = (one: LogPage['progress'], other: LogPage['progress']): boolean =>
  one?.percent === other?.percent &&
  one?.note === other?.note &&
  one?.updatedAt.getTime() === other?.updatedAt.getTime()

/** A page, or those that a stream comes to. One that breaks ends as one that is to be gone on with. */
async function* pagesOf(
  { body, chunks }: ApiAnswer<unknown>,
  { pages, patience, signal }: Pick<Asking, 'patience' | 'signal'> & { readonly pages: StreamPages },
): AsyncGenerator<LogPage, void> {
  if (chunks === null) return yield fromWire(body) as LogPage
  try {
    for await (const records of recordsIn(chunks)) {
      patience.heard()
      if (records.length > 0) yield pages.next(records)
    }
  } catch (error) {
    signal?.throwIfAborted()
    await patience.bear(error)
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

async function ask(http: HttpClient, path: string, { follow, signal, patience }: Asking): Promise<ApiAnswer<unknown>> {
  const waitMs = follow ? WAIT_SECONDS * 1_000 : 0
  let streams = follow ? { streams: jsonLines } : {}
  for (;;) {
    try {
      return await http.call({ method: 'GET', path, repeatable: true, waitMs, signal, ...streams })
    } catch (error) {
      if (!follow) throw error
      if (error instanceof DulyApiError && error.code === 'too_many_streams') streams = {}
      await patience.bear(error)
    }
  }
}
