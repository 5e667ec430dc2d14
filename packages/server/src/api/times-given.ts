import type { IncomingMessage } from 'node:http'

/**
 * How many times a header stands in a request. Of some that are repeated Node keeps the first in silence, others it joins to a value that
 * nobody sent; and a proxy on the way may have looked at another one.
 * @param name in lower case
 */
export function timesGiven({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? ''
    if (given.length === name.length && given.toLowerCase() === name) count++
  }
  return count
}
