import type { TaskEdit, TaskFilters } from '@duly/sdk'
import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { readJson } from '../cli/json-input.js'
import type { PageRequest } from '../cli/pages.js'
import { renderRuns, renderTask, renderTasks } from '../cli/render.js'
import { parseSeconds, wholeNumber } from '../cli/seconds.js'
import { type ClientOptions, type Context, clientCommand, print, printList, withClient } from './command.js'
import { filtersIn, type PagedFlags, showPages, withPages } from './paged-list.js'
import { withTaskFilters } from './task-filters.js'

type ListFlags = TaskFilters & PagedFlags

const LIST_EXAMPLE = [
  'duly task list --status DEAD --queue email-queue',
  'duly task list --created-after 2026-04-03T00:00:00Z --all --json | jq -r .task_id',
].join('\n')

/** `duly task list`. */
export function taskList(context: Context): Command {
  const command = withTaskFilters(clientCommand('list', 'list tasks, the newest first', LIST_EXAMPLE))
  return withPages(command, 'task').action((flags: ListFlags) =>
    withClient(flags, (duly) => {
      const fetch = (request: PageRequest) => duly.tasks.list(filtersIn(flags), request)
      return showPages(context, flags, { fetch, render: renderTasks })
    }),
  )
}

interface EditFlags extends ClientOptions {
  readonly payload?: string
  readonly scheduledAt?: string
  readonly priority?: TaskEdit['priority']
  readonly queue?: string
  readonly maxRetries?: number
  readonly timeout?: number
}

const EDIT_EXAMPLE = [
  'duly task edit task-01kf3v7q2n8f5w9r6x4y1z0abc --priority high --scheduled-at now',
  `duly task edit task-01kf3v7q2n8f5w9r6x4y1z0abc --payload '{"to":"b@example.com"}'`,
].join('\n')

/** `duly task edit`. */
export function taskEdit(context: Context): Command {
  return clientCommand('edit', 'edit a task that waits: what starts from then on runs as edited', EDIT_EXAMPLE)
    .argument('<id>', 'id of the task')
    .option('--payload <json>', 'new payload: JSON, @file, or - for standard input')
    .option('--scheduled-at <instant>', 'start no sooner, or "now"; of a SCHEDULED or PENDING task')
    .option('--priority <level>', 'high, medium or low')
    .option('--queue <name>', 'move it to this queue')
    .option('--max-retries <n>', 'retries after the first failure, 0 to 100', wholeNumber('--max-retries', 0))
    .option('--timeout <duration>', 'limit of one attempt', (text) => parseSeconds(text, '--timeout'))
    .action(async (id: string, flags: EditFlags) => {
      const edit = await editOf(flags, context)
      if (Object.keys(edit).length === 0) throw new CliError('usage', 'say what to edit, e.g. --priority high')
      print(context, flags, await withClient(flags, (duly) => duly.tasks.edit(id, edit)), renderTask)
    })
}

async function editOf(flags: EditFlags, { terminal }: Context): Promise<TaskEdit> {
  const { payload, scheduledAt, priority, queue, maxRetries, timeout } = flags
  return {
    ...(payload === undefined ? {} : { payload: await readJson('--payload', payload, terminal) }),
    ...(scheduledAt === undefined ? {} : { scheduledAt: scheduledAt === 'now' ? null : scheduledAt }),
    ...(priority === undefined ? {} : { priority }),
    ...(queue === undefined ? {} : { queue }),
    ...(maxRetries === undefined ? {} : { maxRetries }),
    ...(timeout === undefined ? {} : { timeout: timeout * 1_000 }),
  }
}

/** `duly task runs`: the newest 100. */
export function taskRuns(context: Context): Command {
  return clientCommand(
    'runs',
    'list the runs of a task: the current one, then those that a retry took back (the newest 100)',
    'duly task runs task-01kf3v7q2n8f5w9r6x4y1z0abc',
  )
    .argument('<id>', 'id of the task')
    .action(async (id: string, options: ClientOptions) => {
      const page = await withClient(options, (duly) => duly.tasks.runs(id, { limit: 100 }))
      printList(context, options, page, renderRuns)
    })
}
