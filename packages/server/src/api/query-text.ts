/** Stands for a text that could not be read: it is refused by name where the route's parameters are known. */
export const UNREADABLE: unique symbol = Symbol('no percent-encoded UTF-8')

export type QueryText = string | typeof UNREADABLE

/** Characters beyond these have no business in an address: what bytes they stood for is anybody's guess. */
const FOREIGN = /[^\x21-\x7e]/

/**
 * Reads a query as browsers write it (`application/x-www-form-urlencoded` of the URL standard), with two differences: what is no
 * valid UTF-8 is not replaced by U+FFFD, which would look for something else than was asked for, and nothing is left out however
 * much there is. Parameters that are given more than once become lists; it never throws, for probes may send anything.
 */
export function parseQuery(text: string): Record<string, QueryText | QueryText[]> {
  // Without a prototype, or a parameter called __proto__ would vanish in silence.
  const values: Record<string, QueryText | QueryText[]> = Object.create(null)
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const rawName = at === -1 ? pair : pair.slice(0, at)
    const read = decode(rawName)
    const name = read === UNREADABLE ? rawName : read
    const value = read === UNREADABLE ? UNREADABLE : decode(at === -1 ? '' : pair.slice(at + 1))
    const known = values[name]
    if (known === undefined) values[name] = value
    else if (Array.isArray(known)) known.push(value)
    else values[name] = [known, value]
  }
  return values
}

function decode(text: string): QueryText {
  if (FOREIGN.test(text)) return UNREADABLE
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return UNREADABLE
  }
}
