import type { HttpClient } from './http.js'
import type { Page } from './records.js'
import { fromWire } from './wire.js'

/** The items of all pages of a list that has a bound of its own, in its order. */
export async function everyPage<T>(
  http: HttpClient,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<readonly T[]> {
  const items: T[] = []
  const search = new URLSearchParams({ ...query, limit: '500' })
  for (;;) {
    const answer = await http.call({ method: 'GET', path: `${path}?${search}`, repeatable: true })
    const page = fromWire(answer.body) as Page<T>
    items.push(...page.items)
    if (page.nextCursor === null) return items
    search.set('cursor', page.nextCursor)
  }
}
