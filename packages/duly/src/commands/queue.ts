import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { renderQueue, renderQueues } from '../cli/render-fleet.js'
import { type ClientOptions, type Context, clientCommand, print, printList, withClient } from './command.js'

function list(context: Context): Command {
  return clientCommand('list', 'list the queues with what waits and runs in them', 'duly queue list').action(
    async (options: ClientOptions) => {
      const queues = await withClient(options, (duly) => duly.queues.list())
      printList(context, options, queues, renderQueues)
    },
  )
}

interface QueueCall {
  readonly name: 'get' | 'pause' | 'resume'
  readonly summary: string
}

/** A command on one queue: one call of the SDK, which answers the queue. */
function queueCommand(context: Context, { name, summary }: QueueCall): Command {
  return clientCommand(name, summary, `duly queue ${name} email-queue`)
    .argument('<name>', 'name of the queue')
    .action(async (queue: string, options: ClientOptions) => {
      const record = await withClient(options, (duly) => duly.queues[name](queue))
      print(context, options, record, renderQueue)
      if ('created' in record && record.created) {
        context.terminal.err(`note: there was no queue ${queue} before; if the name is a slip, pause the right one\n`)
      }
    })
}

interface PurgeOptions extends ClientOptions {
  readonly yes?: true
}

/** `duly queue purge`: asks for a yes, wherever it runs; there is nobody to answer a question in a script. */
function purge(context: Context): Command {
  return clientCommand(
    'purge',
    'cancel what waits in a queue (PENDING tasks); what runs, or waits for its time, stays. The tasks keep their records and can be retried one by one',
    'duly queue purge email-queue --yes',
  )
    .argument('<name>', 'name of the queue')
    .option('--yes', 'do it; without it nothing is cancelled')
    .action((queue: string, options: PurgeOptions) =>
      withClient(options, async (duly) => {
        if (options.yes !== true) {
          const waiting = counted((await duly.queues.get(queue)).depth, 'waiting task')
          throw new CliError('usage', `this would cancel ${waiting} of ${queue}`, 'Add --yes to do it.')
        }
        const summary = await duly.queues.purge(queue, {
          // the end is told by the summary, once
          onProgress: ({ cancelled, remaining }) => {
            if (!options.json && remaining > 0) context.terminal.err(`${cancelled} cancelled, ${remaining} waiting\n`)
          },
        })
        print(context, options, summary, ({ cancelled, remaining }) => renderPurge(queue, cancelled, remaining))
      }),
    )
}

const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`

function renderPurge(queue: string, cancelled: number, remaining: number): string {
  const left = remaining === 0 ? '' : `; ${remaining} waiting (came meanwhile)`
  return `${queue}  ${counted(cancelled, 'task')} cancelled${left}\n`
}

/** The commands on queues. */
export function queueCommands(context: Context): readonly Command[] {
  return [
    list(context),
    queueCommand(context, { name: 'get', summary: 'show a queue: what waits by priority and tenant, what runs' }),
    queueCommand(context, {
      name: 'pause',
      summary: 'start nothing more from a queue, at once and on every node; what runs goes on, tasks are still taken',
    }),
    queueCommand(context, { name: 'resume', summary: 'start the tasks of a paused queue again' }),
    purge(context),
  ]
}
