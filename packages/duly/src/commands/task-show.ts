import type { CancelReceipt, Duly } from '@duly/sdk'
import type { Command } from 'commander'
import { renderAttempts, renderEvents, renderTask } from '../cli/render.js'
import { parseSeconds } from '../cli/seconds.js'
import { type ClientOptions, type Context, clientCommand, print, printList, withClient } from './command.js'

interface TaskCall<T> {
  readonly name: string
  readonly summary: string
  readonly call: (duly: Duly, id: string) => Promise<T>
  readonly render: (value: T) => string
}

/** A command on one task: one call of the SDK, shown. */
function onTask<T>({ name, summary, call }: TaskCall<T>, show: (options: ClientOptions, value: T) => void): Command {
  return clientCommand(name, summary, `duly task ${name} task-01kf3v7q2n8f5w9r6x4y1z0abc`)
    .argument('<id>', 'id of the task')
    .action(async (id: string, options: ClientOptions) => {
      show(options, await withClient(options, (duly) => call(duly, id)))
    })
}

function taskCommand<T>(context: Context, made: TaskCall<T>): Command {
  return onTask(made, (options, value) => print(context, options, value, made.render))
}

function taskListCommand<T>(context: Context, made: TaskCall<readonly T[]>): Command {
  return onTask(made, (options, items) => printList(context, options, items, made.render))
}

function renderCancel(receipt: CancelReceipt): string {
  if (receipt.status === 'CANCELLED') return `${receipt.id}  CANCELLED\n`
  return `${receipt.id}  ${receipt.status}, cancellation requested: its worker is told to stop\n`
}

/** `duly task get`. */
export function taskGet(context: Context): Command {
  return clientCommand(
    'get',
    'show a task: where it stands, what was asked, how it ended',
    'duly task get task-01kf3v7q2n8f5w9r6x4y1z0abc --wait 30s',
  )
    .argument('<id>', 'id of the task')
    .option('--wait <duration>', 'hold the answer until the task is finished, up to 60s', (text) =>
      parseSeconds(text, '--wait'),
    )
    .action(async (id: string, options: ClientOptions & { wait?: number }) => {
      const record = await withClient(options, (duly) => duly.tasks.get(id, { waitSeconds: options.wait ?? 0 }))
      print(context, options, record, renderTask)
    })
}

/** The other commands on one task. */
export function taskCalls(context: Context): readonly Command[] {
  return [
    taskCommand(context, {
      name: 'cancel',
      summary: 'cancel a task: at once if it waits, else its worker is told',
      call: (duly, id) => duly.tasks.cancel(id),
      render: renderCancel,
    }),
    taskCommand(context, {
      name: 'retry',
      summary: 'run a FAILED, DEAD or CANCELLED task again, with its retries restored',
      call: (duly, id) => duly.tasks.retry(id),
      render: renderTask,
    }),
    taskListCommand(context, {
      name: 'attempts',
      summary: 'list the attempts of a task',
      call: (duly, id) => duly.tasks.attempts(id),
      render: renderAttempts,
    }),
    taskListCommand(context, {
      name: 'events',
      summary: 'show the audit trail of a task',
      call: (duly, id) => duly.tasks.events(id),
      render: renderEvents,
    }),
  ]
}
