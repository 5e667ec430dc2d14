import type { Duly, LogLine, LogOptions, LogPage } from '@duly/sdk'
import type { Command } from 'commander'
import { renderLogLine } from '../cli/render-log.js'
import { wholeNumber } from '../cli/seconds.js'
import { type ClientOptions, type Context, clientCommand, jsonOf, printList, withClient } from './command.js'

interface LogFlags extends ClientOptions {
  readonly follow?: true
  readonly attempt?: number
  readonly level?: LogLine['level']
}

const EXAMPLE = [
  'duly task logs task-01kf3v7q2n8f5w9r6x4y1z0abc --level warn',
  'duly task logs task-01kf3v7q2n8f5w9r6x4y1z0abc --follow --json | jq -r .message',
].join('\n')

/** `duly task logs`. */
export function taskLogs(context: Context): Command {
  return clientCommand('logs', 'show what the handlers of a task logged, the oldest line first', EXAMPLE)
    .argument('<id>', 'id of the task')
    .option('-f, --follow', 'wait for what comes yet, until the task has ended; with --json, one line of JSON each')
    .option('--attempt <n>', 'of this attempt alone', wholeNumber('--attempt', 1))
    .option('--level <level>', 'debug, info, warn or error: of this level and above')
    .action((id: string, flags: LogFlags) => withClient(flags, (duly) => show(context, duly, { id, flags })))
}

async function show(
  context: Context,
  duly: Duly,
  { id, flags }: { readonly id: string; readonly flags: LogFlags },
): Promise<void> {
  const { follow, attempt, level, json } = flags
  const options: LogOptions = {
    ...(follow === undefined ? {} : { follow }),
    ...(attempt === undefined ? {} : { attempt }),
    ...(level === undefined ? {} : { level }),
  }
  const pages = duly.tasks.logPages(id, options)
  const last = json && !follow ? await printAll(context, pages, flags) : await stream(context, pages, flags)
  if (last === undefined) return
  if (last.isEmpty) context.terminal.err('No log line.\n')
  if (last.dropped > 0)
    context.terminal.err(`${last.dropped} more lines found the log full: a task keeps 10,000 lines and 1 MiB.\n`)
}

/** What a reader is told when the lines are shown. */
interface Shown {
  readonly isEmpty: boolean
  readonly dropped: number
}

/** As they come, no faster than the reader takes them, and no further than it wants them. Nothing to tell of JSON. */
async function stream(
  { terminal }: Context,
  pages: AsyncGenerator<LogPage>,
  { json }: LogFlags,
): Promise<Shown | undefined> {
  let shown: Shown = { isEmpty: true, dropped: 0 }
  for await (const page of pages) {
    const texts = page.items.map((line) => (json ? `${jsonOf(line, 0)}\n` : renderLogLine(line, terminal.hasColours)))
    if (texts.length > 0) terminal.out(texts.join(''))
    if (!(await terminal.isTaken())) return undefined
    shown = { isEmpty: shown.isEmpty && page.items.length === 0, dropped: page.droppedLines }
  }
  return json ? undefined : shown
}

/** One document: at most 10,000 lines. */
async function printAll(context: Context, pages: AsyncGenerator<LogPage>, flags: LogFlags): Promise<undefined> {
  const lines: LogLine[] = []
  for await (const page of pages) lines.push(...page.items)
  printList(context, flags, lines, () => '')
}
