import { checkOptions, namesOf } from '../known-options.js'

/** Which page of a list. */
export interface PageOptions {
  /** Items at most, 1 to 500 (of runs: 100). Default 50. */
  readonly limit?: number
  /** `nextCursor` of the page before, with the same filters. */
  readonly cursor?: string
  readonly signal?: AbortSignal
}

const names = namesOf<PageOptions>({ limit: true, cursor: true, signal: true })
const elsewhere = { next_cursor: 'cursor', page_size: 'limit' }

/**
 * A query with the page that is asked for: `?…`, or nothing.
 *
 * @throws TypeError for an unknown option
 */
export function pageQuery(call: string, search: URLSearchParams, page: PageOptions): string {
  checkOptions(call, page, { names, elsewhere })
  const { limit, cursor } = page
  if (limit !== undefined) search.set('limit', String(limit))
  if (cursor !== undefined) search.set('cursor', cursor)
  return search.size === 0 ? '' : `?${search}`
}
