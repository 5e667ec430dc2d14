import type { Page } from '@duly/sdk'
import type { Terminal } from './terminal.js'

/** Items that one request asks for at most. */
export const PAGE = 500

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
}

/** As many as are wanted, over short and empty pages, with the cursor behind them. */
export async function collectPages<T>(
  fetch: (request: PageRequest) => Promise<Page<T>>,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<Page<T>> {
  const items: T[] = []
  for (let after = cursor; ; ) {
    const page = await fetch({
      limit: Math.min(PAGE, limit - items.length),
      ...(after === undefined ? {} : { cursor: after }),
    })
    items.push(...page.items)
    if (page.nextCursor === null || items.length >= limit) return { items, nextCursor: page.nextCursor }
    after = page.nextCursor
  }
}

/**
 * Says beside a list for people how it goes on, if it does.
 * @param longer the flags that make it longer
 */
export function tellMore(terminal: Terminal, { nextCursor }: Page<unknown>, longer: string): void {
  if (nextCursor !== null) terminal.err(`There may be more: give ${longer}, or go on with --cursor ${nextCursor}\n`)
}
