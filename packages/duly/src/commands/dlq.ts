import type { BulkHandle, DeadLetterFilters, Duly } from '@duly/sdk'
import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import type { PageRequest } from '../cli/pages.js'
import { renderTask } from '../cli/render.js'
import { counted, renderBulk, renderLetterSummary, renderLetters } from '../cli/render-dlq.js'
import { wholeNumber } from '../cli/seconds.js'
import { followBulk } from '../run/follow-bulk.js'
import { type ClientOptions, type Context, clientCommand, print, withClient } from './command.js'
import { filtersIn, type PagedFlags, showPages, withPages } from './paged-list.js'

type LetterFlags = ClientOptions & DeadLetterFilters

/** The flags that say which dead letters. */
function withFilters(command: Command): Command {
  return command
    .option('--queue <name>', 'of this queue')
    .option('--task-type <name>', 'of this type')
    .option('--tenant <id>', 'of this tenant')
    .option('--error-class <class>', 'whose error has this class')
    .option('--fingerprint <hex>', 'of this group of `duly dlq summary`')
}

function filtersOf({ queue, taskType, tenant, errorClass, fingerprint }: DeadLetterFilters): DeadLetterFilters {
  const given = Object.entries({ queue, taskType, tenant, errorClass, fingerprint })
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

type ListFlags = DeadLetterFilters & PagedFlags

function list(context: Context): Command {
  const example = 'duly dlq list --queue email-queue\nduly dlq list --fingerprint 5e884898da280471 --all --json'
  const command = withFilters(clientCommand('list', 'list dead letters, the latest first', example))
  return withPages(command, 'letter').action((flags: ListFlags) =>
    withClient(flags, (duly) => {
      const fetch = (request: PageRequest) => duly.dlq.list(filtersIn(flags), request)
      return showPages(context, flags, { fetch, render: renderLetters })
    }),
  )
}

function summary(context: Context): Command {
  return clientCommand(
    'summary',
    'group the dead letters by queue, task type and error, the largest groups first',
    'duly dlq summary --queue email-queue',
  )
    .option('--queue <name>', 'of this queue')
    .option('--task-type <name>', 'of this type')
    .option('--tenant <id>', 'of this tenant')
    .option('--limit <n>', 'so many groups at most, up to 500', wholeNumber('--limit', 1), 50)
    .action((flags: LetterFlags & { readonly limit: number }) =>
      withClient(flags, async (duly) => {
        const found = await duly.dlq.summary({ ...filtersOf(flags), limit: flags.limit })
        print(context, flags, found, renderLetterSummary)
        const [largest] = found.items
        if (largest !== undefined && !flags.json) context.terminal.err(ofAGroup(largest.fingerprint))
      }),
    )
}

const ofAGroup = (fingerprint: string): string =>
  `Run a group again: duly dlq retry-all --fingerprint ${fingerprint} --yes\nGive it up: duly dlq discard-all --fingerprint ${fingerprint} --yes\n`

const exampleId = 'task-01kf3v7q2n8f5w9r6x4y1z0abc'

function retry(context: Context): Command {
  return clientCommand('retry', 'run a dead task again, with its retries restored', `duly dlq retry ${exampleId}`)
    .argument('<id>', 'id of the task')
    .action((id: string, options: ClientOptions) =>
      withClient(options, async (duly) => print(context, options, await duly.dlq.retry(id), renderTask)),
    )
}

interface AllFlags extends LetterFlags {
  readonly yes?: true
  readonly detach?: true
}

/** A command on all dead letters that fit. */
interface AllLetters {
  readonly name: string
  readonly summary: string
  /** What it would do to so many. */
  readonly would: (letters: string) => string
  readonly start: (duly: Duly, filters: DeadLetterFilters) => Promise<BulkHandle>
}

/** Says how many it would be unless `--yes` is given, wherever it runs. */
function allLetters(context: Context, { name, summary, would, start }: AllLetters): Command {
  return withFilters(clientCommand(name, summary, `duly dlq ${name} --fingerprint 5e884898da280471 --yes`))
    .option('--yes', 'do it; without it nothing changes')
    .option('--detach', 'do not wait for the end')
    .action((flags: AllFlags) =>
      withClient(flags, async (duly) => {
        const filters = filtersOf(flags)
        const { count, isExact } = await countOf(duly, filters)
        if (flags.yes !== true) {
          const letters = `${isExact ? '' : 'at least '}${counted(count, 'dead letter')}`
          throw new CliError('usage', `this would ${would(letters)}`, 'Add --yes to do it.')
        }
        const handle = await start(duly, filters)
        if (flags.detach) return print(context, flags, await handle.progress(), renderBulk)
        await followBulk(context, handle, { options: flags, expected: { count, isAtLeast: !isExact } })
      }),
    )
}

const retryAll: AllLetters = {
  name: 'retry-all',
  summary: 'run all dead tasks that fit again; without a filter all',
  would: (letters) => `run ${letters} again`,
  start: (duly, filters) => duly.dlq.retryAll(filters),
}

const discardAll: AllLetters = {
  name: 'discard-all',
  summary: 'take all that fit out of the dead letters, for good; without a filter all. Their records stay',
  would: (letters) => `discard ${letters}, which could never be retried again`,
  start: (duly, filters) => duly.dlq.discardAll(filters),
}

/** How many letters fit, by the summary: exact while its groups are all there. */
async function countOf(
  duly: Duly,
  { fingerprint, errorClass, ...rest }: DeadLetterFilters,
): Promise<{ readonly count: number; readonly isExact: boolean }> {
  const { items, groups, letters, isComplete } = await duly.dlq.summary({ ...rest, limit: 500 })
  if (fingerprint === undefined && errorClass === undefined) return { count: letters, isExact: isComplete }
  const fitting = items.filter(
    (group) =>
      (fingerprint ?? group.fingerprint) === group.fingerprint && (errorClass ?? group.errorClass) === group.errorClass,
  )
  const count = fitting.reduce((sum, group) => sum + group.letters, 0)
  return { count, isExact: isComplete && items.length === groups }
}

function discard(context: Context): Command {
  return clientCommand(
    'discard',
    'take a task out of the dead letters, for good; its record stays',
    `duly dlq discard ${exampleId} --yes`,
  )
    .argument('<id>', 'id of the task')
    .option('--yes', 'do it; without it nothing changes')
    .action((id: string, options: ClientOptions & { readonly yes?: true }) =>
      withClient(options, async (duly) => {
        if (options.yes !== true)
          throw new CliError('usage', `${id} could never be retried again`, 'Add --yes to do it.')
        await duly.dlq.discard(id)
        print(context, options, { taskId: id, discarded: true }, () => `${id}  discarded\n`)
      }),
    )
}

/** `duly dlq …`. */
export function dlqCommands(context: Context): readonly Command[] {
  const alone = [list(context), summary(context), retry(context), discard(context)]
  return [...alone, allLetters(context, retryAll), allLetters(context, discardAll)]
}
