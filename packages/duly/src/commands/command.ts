import { Duly, type Page, rawJson, rawOf } from '@duly/sdk'
import { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import type { Terminal } from '../cli/terminal.js'
import { toWireJson } from '../cli/wire-json.js'

/** What every command gets: where to write, and how to end with a code other than 0 without an error. */
export interface Context {
  readonly terminal: Terminal
  setExit(code: number): void
}

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: true
}

/** Options of the commands that talk to a server. */
export interface ClientOptions extends CommonOptions {
  readonly url?: string
  readonly apiKey?: string
}

/** A command with `--json` and an example at the end of its help. */
export function command(name: string, summary: string, example: string): Command {
  return new Command(name)
    .description(summary)
    .option('--json', 'print JSON, for programs')
    .addHelpText('after', `\nExample:\n${example.replace(/^/gm, '  ')}`)
}

/** A command that talks to a server. */
export function clientCommand(name: string, summary: string, example: string): Command {
  return command(name, summary, example)
    .option('--url <url>', 'address of the server, or several with commas (DULY_URL; default http://127.0.0.1:7070)')
    .option('--api-key <key>', 'API key (DULY_API_KEY)')
}

/** Runs `work` with a client made from the options, and closes it. */
export async function withClient<T>(options: ClientOptions, work: (duly: Duly) => Promise<T>): Promise<T> {
  const duly = clientOf(options)
  try {
    return await work(duly)
  } finally {
    duly.close()
  }
}

/** @throws CliError that says where a wrong address was written */
function clientOf({ url, apiKey }: ClientOptions): Duly {
  try {
    return new Duly({ ...(url === undefined ? {} : { url }), ...(apiKey === undefined ? {} : { apiKey }), retries: 3 })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new CliError(
      'usage',
      error.message.replaceAll(/(^|; )url:/g, `$1${url === undefined ? 'DULY_URL' : '--url'}:`),
    )
  }
}

/**
 * Prints a value: with `--json` as the API states it, what the server answered with its very numbers; else as text.
 */
export function print<T>(context: Context, options: CommonOptions, value: T, render: (value: T) => string): void {
  context.terminal.out(options.json ? `${jsonOf(value, 2)}\n` : render(value))
}

/**
 * Prints a list: with `--json` one document `{ items, next_cursor }`, as the API answers it; else as text.
 *
 * @param list a page, or all there is (an array: nothing comes after it)
 */
export function printList<T>(
  context: Context,
  options: CommonOptions,
  list: Page<T> | readonly T[],
  render: (items: readonly T[]) => string,
): void {
  const { items, nextCursor } = 'items' in list ? list : { items: list, nextCursor: null }
  if (!options.json) {
    context.terminal.out(render(items))
    return
  }
  const texts = items.map((item) => jsonOf(item, 0))
  const document = rawJson(`{"items":[${texts.join(',')}],"next_cursor":${JSON.stringify(nextCursor)}}`)
  context.terminal.out(`${document.format(2)}\n`)
}

/** A record as the API states it: what the server answered with its very digits, where that is known. */
export function jsonOf(value: unknown, indent: number): string {
  const raw = typeof value === 'object' && value !== null ? rawOf(value) : undefined
  return raw?.format(indent) ?? JSON.stringify(toWireJson(value), null, indent)
}
