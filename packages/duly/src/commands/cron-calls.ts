import type { CronFilters, CronRecord, CronSummary, Duly } from '@duly/sdk'
import type { Command } from 'commander'
import { collectPages, type PageRequest, tellMore } from '../cli/pages.js'
import { renderCrons, renderFireTimes, renderFirings } from '../cli/render-cron.js'
import { wholeNumber } from '../cli/seconds.js'
import { findCron } from '../run/find-cron.js'
import { type ClientOptions, type Context, clientCommand, print, printList, withClient } from './command.js'
import { showCron, timingOf, withTiming } from './cron-define.js'
import { filtersIn, type PagedFlags, showPages, withPages } from './paged-list.js'

interface OneFlags extends ClientOptions {
  readonly tenant?: string
}

/** A command on one recurring task, which is named by its name or its id. */
function onCron(name: string, summary: string, example = `duly cron ${name} daily-report`): Command {
  return clientCommand(name, summary, example)
    .argument('<cron>', 'its name or id')
    .option('--tenant <id>', 'whose it is, where several tenants have the name')
}

function withCron<T>(given: string, flags: OneFlags, work: (duly: Duly, id: string) => Promise<T>): Promise<T> {
  return withClient(flags, async (duly) => work(duly, await findCron(duly, { given, tenant: flags.tenant })))
}

type ListFlags = CronFilters & PagedFlags

const LIST_EXAMPLE = ['duly cron list --status ACTIVE', 'duly cron list --name-prefix web-1/ --all --json'].join('\n')

function list(context: Context): Command {
  const command = clientCommand('list', 'list recurring tasks, the newest first', LIST_EXAMPLE)
    .option('--status <status>', 'ACTIVE, PAUSED or ENDED', (text) => text.toUpperCase())
    .option('--task-type <name>', 'that make tasks of this type')
    .option('--queue <name>', 'that make tasks in this queue')
    .option('--tenant <id>', 'of this tenant')
    .option('--name <name>', 'of exactly this name')
    .option('--name-prefix <text>', 'whose names begin with this')
  return withPages(command, 'recurring task').action((flags: ListFlags) =>
    withClient(flags, (duly) => {
      const fetch = (request: PageRequest) => duly.cron.list(filtersIn(flags), request)
      return showPages(context, flags, {
        fetch,
        render: (crons: readonly CronSummary[]) => renderCrons(crons, new Date()),
      })
    }),
  )
}

/** Shows it as the call answers it. */
function shown(context: Context, name: 'get' | 'pause' | 'resume', summary: string): Command {
  return onCron(name, summary).action((given: string, flags: OneFlags) =>
    withCron(given, flags, async (duly, id) => showCron(context, flags, { duly, cron: await duly.cron[name](id) })),
  )
}

function trigger(context: Context): Command {
  return onCron('trigger', 'make a task of it now, outside its schedule').action((given: string, flags: OneFlags) =>
    withCron(given, flags, async (duly, id) => {
      const { receipt } = await duly.cron.trigger(id)
      print(context, flags, receipt, () => `${receipt.id}  ${receipt.status}\n`)
    }),
  )
}

function remove(context: Context): Command {
  return onCron('delete', 'delete a recurring task; the tasks that it made stay').action(
    (given: string, flags: OneFlags) =>
      withCron(given, flags, async (duly, id) => {
        const cron = await duly.cron.get(id)
        await duly.cron.delete(id)
        print(context, flags, { cronId: id, name: cron.name, deleted: true }, () => whatStays(cron))
      }),
  )
}

function whatStays({ id, name, fired }: CronRecord): string {
  const made = fired === 1 ? 'The task that it made stays' : `The ${fired} tasks that it made stay`
  const stays = fired === 0 ? 'It had made none.' : `${made}, with records and results, and what is unfinished goes on:`
  const where = fired === 0 ? '' : `\n  duly task list --cron-id ${id}`
  return `${name} (${id}) deleted: it makes no more tasks. ${stays}${where}\n`
}

function fireTimes(context: Context): Command {
  return onCron('fire-times', 'show its next fire times', 'duly cron fire-times daily-report --count 20')
    .option('--count <n>', 'so many, 1 to 100', wholeNumber('--count', 1), 10)
    .action((given: string, flags: OneFlags & { count: number }) =>
      withCron(given, flags, async (duly, id) => {
        const times = await duly.cron.fireTimes(id, flags.count)
        const { timezone } = flags.json ? { timezone: 'UTC' } : await duly.cron.get(id)
        print(context, flags, { fireTimes: times }, () => renderFireTimes(times, timezone, new Date()))
      }),
    )
}

function firings(context: Context): Command {
  return onCron('firings', 'show what it fired, and what not and why, the latest first')
    .option('--limit <n>', 'so many at most', wholeNumber('--limit', 1), 50)
    .option('--cursor <cursor>', 'go on where a list ended (its next_cursor)')
    .action((given: string, flags: OneFlags & { limit: number; cursor?: string }) =>
      withCron(given, flags, async (duly, id) => {
        const { limit, cursor } = flags
        const page = await collectPages((request) => duly.cron.firings(id, request), { limit, cursor })
        printList(context, flags, page, renderFirings)
        if (!flags.json) tellMore(context.terminal, page, '--limit')
      }),
    )
}

interface PreviewFlags extends ClientOptions {
  readonly every?: number
  readonly timezone?: string
  readonly after?: string
  readonly count?: number
}

const PREVIEW_EXAMPLE = "duly cron preview '0 9 * * 1-5' --timezone America/New_York --count 5"

function preview(context: Context): Command {
  return withTiming(clientCommand('preview', 'show the fire times of a schedule, and store nothing', PREVIEW_EXAMPLE))
    .option('--after <instant>', 'those after this instant (default: now)')
    .option('--count <n>', 'so many, 1 to 100', wholeNumber('--count', 1), 10)
    .action(async (expression: string | undefined, flags: PreviewFlags) => {
      const { count, after, timezone = 'UTC' } = flags
      const asked = { ...(after === undefined ? {} : { after }), ...(count === undefined ? {} : { count }) }
      const found = await withClient(flags, (duly) => duly.cron.preview(timingOf(expression, flags), asked))
      const text = () => `${found.description}\n\n${renderFireTimes(found.fireTimes, timezone, new Date())}`
      print(context, flags, found, text)
    })
}

/** The commands that look at recurring tasks, stop and start them. */
export function cronCalls(context: Context): readonly Command[] {
  return [
    list(context),
    shown(context, 'get', 'show a recurring task: its schedule, where it stands, what comes next'),
    shown(context, 'pause', 'make no more tasks of it until it is resumed'),
    shown(context, 'resume', 'make tasks of it again; its misfire policy judges what was missed'),
    trigger(context),
    preview(context),
    fireTimes(context),
    firings(context),
    remove(context),
  ]
}
