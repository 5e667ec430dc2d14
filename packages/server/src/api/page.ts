import type { Page, PageRequest } from '../model.js'
import { invalid } from './problem.js'
import type { Writable } from './write-json.js'
import { writeJson } from './write-json.js'

const defaultLimit = 50

/**
 * The page that a query asks for. A cursor is opaque to clients: it carries the key behind which its page begins, and the list and
 * filters that it belongs to, so that one of another list is refused and not read as a wrong place (or as the beginning).
 */
export function readPage(
  list: string,
  query: { readonly limit?: number; readonly cursor?: string },
  isKey: (text: string) => boolean = () => true,
): PageRequest {
  const { limit = defaultLimit, cursor } = query
  return { limit, after: cursor === undefined ? null : readCursor(list, cursor, isKey) }
}

export function writePage<T>(list: string, { items, next }: Page<T>, write: (item: T) => Writable): string {
  return writeJson({ items: items.map(write), next_cursor: next === null ? null : writeCursor(list, next) })
}

function writeCursor(list: string, after: string): string {
  return Buffer.from(JSON.stringify([list, after])).toString('base64url')
}

function readCursor(list: string, cursor: string, isKey: (text: string) => boolean): string {
  const parts = parse(Buffer.from(cursor, 'base64url').toString())
  const [of, after] = Array.isArray(parts) ? parts : []
  // compared whole: base64url reads over what it does not know
  if (of !== list || typeof after !== 'string' || writeCursor(list, after) !== cursor || !isKey(after)) {
    const message = 'is not a cursor of this list with these filters: pass next_cursor of the page before as it is'
    throw invalid('invalid_request', [{ path: 'cursor', message }])
  }
  return after
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
