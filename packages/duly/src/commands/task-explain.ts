import type { Command } from 'commander'
import { renderExplanation } from '../cli/render-explanation.js'
import { type ClientOptions, type Context, clientCommand, print, withClient } from './command.js'

/** `duly task explain`. */
export function taskExplain(context: Context): Command {
  return clientCommand(
    'explain',
    'say why a task has not started, what it waits for, who runs it, or how it ended',
    'duly task explain task-01kf3v7q2n8f5w9r6x4y1z0abc',
  )
    .argument('<id>', 'id of the task')
    .action(async (id: string, options: ClientOptions) => {
      print(context, options, await withClient(options, (duly) => duly.tasks.explain(id)), renderExplanation)
    })
}
