import type { Page } from '@duly/sdk'
import { type Command, Option } from 'commander'
import { collectPages, PAGE, type PageRequest, tellMore } from '../cli/pages.js'
import { wholeNumber } from '../cli/seconds.js'
import { type ClientOptions, type Context, jsonOf, printList } from './command.js'

/** Options of a command that shows a list which may be long. */
export interface PagedFlags extends ClientOptions {
  readonly limit: number
  readonly cursor?: string
  readonly all?: true
}

/**
 * Adds the options that say how much of a list is shown.
 *
 * @param item what one of them is called
 */
export function withPages(command: Command, item: string): Command {
  return command
    .option('--limit <n>', 'so many at most', wholeNumber('--limit', 1), 50)
    .option('--cursor <cursor>', 'go on where a list with the same filters ended (its next_cursor)')
    .addOption(new Option('--all', `all of them; with --json, one ${item} a line`).conflicts('limit'))
}

/** What the flags say beside how much is shown and where: the filters. */
export function filtersIn<Flags extends PagedFlags>(flags: Flags): Omit<Flags, keyof PagedFlags> {
  const { url, apiKey, json, limit, cursor, all, ...filters } = flags
  return filters
}

export interface PagedList<T> {
  readonly fetch: (request: PageRequest) => Promise<Page<T>>
  readonly render: (items: readonly T[]) => string
}

/** Shows as many pages as the limit takes: a page of an unusual filter may hold few of them, or none. */
export async function showPages<T>(
  context: Context,
  flags: PagedFlags,
  { fetch, render }: PagedList<T>,
): Promise<void> {
  const { json, limit, cursor, all } = flags
  if (all && json) return streamAll(context, fetch, cursor)
  const page = await collectPages(fetch, { cursor, limit: all ? Number.POSITIVE_INFINITY : limit })
  printList(context, flags, page, render)
  if (!json) tellMore(context.terminal, page, '--limit or --all')
}

/** An item a line, no faster than the reader takes them, and no further than it wants them. */
async function streamAll<T>(
  { terminal }: Context,
  fetch: PagedList<T>['fetch'],
  cursor: string | undefined,
): Promise<void> {
  for (let after = cursor; ; ) {
    const page = await fetch({ limit: PAGE, ...(after === undefined ? {} : { cursor: after }) })
    if (page.items.length > 0) terminal.out(`${page.items.map((item) => jsonOf(item, 0)).join('\n')}\n`)
    if (!(await terminal.isTaken()) || page.nextCursor === null) return
    after = page.nextCursor
  }
}
