import type { BulkAction, BulkFilters, Duly, TaskFilters } from '@duly/sdk'
import { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { collectPages } from '../cli/pages.js'
import { matchedText, renderBulk, renderBulks, renderPreview } from '../cli/render-dlq.js'
import { wholeNumber } from '../cli/seconds.js'
import { followBulk } from '../run/follow-bulk.js'
import { type ClientOptions, type Context, clientCommand, print, printList, withClient } from './command.js'
import { withTaskFilters } from './task-filters.js'

interface BulkFlags extends ClientOptions, TaskFilters {
  readonly all?: true
  readonly dryRun?: true
  readonly yes?: true
  readonly detach?: true
}

const summaries: Readonly<Record<BulkAction, string>> = {
  cancel: 'cancel every task that fits: at once if it waits, else its worker is told',
  retry: 'run every FAILED, DEAD or CANCELLED task that fits again, with its retries restored',
  discard: 'take every dead task that fits out of the dead letters, for good; the records stay',
}

const examples: Readonly<Record<BulkAction, string>> = {
  cancel: 'duly task bulk cancel --queue email-queue --dry-run\nduly task bulk cancel --queue email-queue --yes',
  retry: 'duly task bulk retry --status FAILED --created-after 2026-04-03T00:00:00Z --yes',
  discard: 'duly task bulk discard --task-type send_email --yes',
}

/** `duly task bulk cancel`: tells what it would change unless `--yes` is given, wherever it runs. */
function bulkAction(context: Context, action: BulkAction): Command {
  return withTaskFilters(clientCommand(action, summaries[action], examples[action]))
    .option('--all', 'every task, in place of a filter')
    .option('--dry-run', 'only tell what it would change')
    .option('--yes', 'do it; without it nothing changes')
    .option('--detach', 'do not wait for the end')
    .action((flags: BulkFlags) => withClient(flags, (duly) => change(context, duly, { action, flags })))
}

async function change(
  context: Context,
  duly: Duly,
  { action, flags }: { readonly action: BulkAction; readonly flags: BulkFlags },
): Promise<void> {
  const { url: _, apiKey: __, json: ___, all, dryRun, yes, detach, ...filters } = flags
  if (all !== true && Object.values(filters).every((value) => value === undefined))
    throw new CliError(
      'usage',
      `say which tasks to ${action}`,
      'Give a filter, e.g. --queue email-queue; every task: --all.',
    )
  const which: BulkFilters = all === true ? { ...filters, all } : filters
  const preview = await duly.tasks.bulk(action, which, { dryRun: true })
  if (dryRun) return print(context, flags, preview, renderPreview)
  if (yes !== true) throw new CliError('usage', `this would ${action} ${matchedText(preview)}`, 'Add --yes to do it.')
  const handle = await duly.tasks.bulk(action, which)
  if (detach) return print(context, flags, await handle.progress(), renderBulk)
  const expected = { count: preview.matched, isAtLeast: preview.atLeast }
  await followBulk(context, handle, { options: flags, expected })
}

function list(context: Context): Command {
  return clientCommand('list', 'list operations on many tasks, the newest first', 'duly task bulk list')
    .option('--limit <n>', 'so many at most', wholeNumber('--limit', 1), 50)
    .option('--cursor <cursor>', 'go on where a list ended (its next_cursor)')
    .action((flags: ClientOptions & { readonly limit: number; readonly cursor?: string }) =>
      withClient(flags, async (duly) => {
        const { limit, cursor } = flags
        const page = await collectPages((request) => duly.bulk.list(request), { cursor, limit })
        printList(context, flags, page, renderBulks)
      }),
    )
}

const exampleId = 'bulk-01kf3v7q2n8f5w9r6x4y1z0abc'

function onOperation(name: string, summary: string): Command {
  return clientCommand(name, summary, `duly task bulk ${name} ${exampleId}`).argument('<id>', 'id of the operation')
}

/** `duly task bulk …`. */
export function taskBulk(context: Context): Command {
  const group = new Command('bulk').description('cancel, retry or discard many tasks at once; watch and stop that')
  for (const action of ['cancel', 'retry', 'discard'] as const) group.addCommand(bulkAction(context, action))
  group.addCommand(list(context))
  group.addCommand(
    onOperation('watch', 'show how far an operation came, until it has ended').action(
      (id: string, options: ClientOptions) =>
        withClient(options, (duly) => followBulk(context, duly.bulk.handle(id), { options, expected: null })),
    ),
  )
  group.addCommand(
    onOperation('stop', 'stop an operation; what it has done stays done').action((id: string, options: ClientOptions) =>
      withClient(options, async (duly) => print(context, options, await duly.bulk.handle(id).cancel(), renderBulk)),
    ),
  )
  return group.addHelpText('after', '\nEach has --help with its options and an example: duly task bulk cancel --help')
}
