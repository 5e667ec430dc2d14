import { createHash } from 'node:crypto'
import type { Page, PageRequest } from '../model.js'
import { invalid } from './problem.js'
import type { Writable } from './write-json.js'
import { writeJson } from './write-json.js'

const defaultLimit = 50

const digestBytes = 9

/**
 * The page that a query asks for. A cursor is opaque to clients: it carries the key behind which its page begins, and a digest of both
 * that key and the list with its filters, so that one that is broken or of another list is refused, and not read as a wrong place (or as
 * the beginning). It is no secret: whoever makes one up gets a page of a list that may be asked for anyway.
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

/** The cursor of a page of that list that begins behind this key. */
export function writeCursor(list: string, after: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([list, after]))
    .digest()
    .subarray(0, digestBytes)
  return Buffer.concat([digest, Buffer.from(after)]).toString('base64url')
}

function readCursor(list: string, cursor: string, isKey: (text: string) => boolean): string {
  const after = Buffer.from(cursor, 'base64url').toString('utf8', digestBytes)
  // compared whole: base64url reads over what it does not know
  if (writeCursor(list, after) === cursor && isKey(after)) return after
  const message = 'is not a cursor of this list with these filters: pass next_cursor of the page before as it is'
  throw invalid('invalid_request', [{ path: 'cursor', message }])
}
