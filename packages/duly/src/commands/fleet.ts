import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { renderWorker, renderWorkers } from '../cli/render-fleet.js'
import { type ClientOptions, type Context, clientCommand, print, printList, withClient } from './command.js'

const STATES = ['live', 'draining', 'ended'] as const
type State = (typeof STATES)[number]

function parseState(text: string): State {
  const state = STATES.find((known) => known === text)
  if (state !== undefined) return state
  throw new CliError('usage', `"${text}" is no state of a worker`, `Write one of ${STATES.join(', ')}.`)
}

/** `duly worker` takes these options too, and commander gives them to it wherever they stand. */
function optionsOf<T extends ClientOptions>(command: Command): T {
  return command.optsWithGlobals<T>()
}

function list(context: Context): Command {
  return clientCommand('list', 'list the workers of the deployment', 'duly worker list')
    .option('--state <state>', 'live, draining or ended; without it those that are there', parseState)
    .action(async (_options: unknown, command: Command) => {
      const options = optionsOf<ClientOptions & { state?: State }>(command)
      const { state } = options
      const workers = await withClient(options, (duly) => duly.workers.list(state === undefined ? {} : { state }))
      printList(context, options, workers, renderWorkers)
    })
}

function one(context: Context, name: 'get' | 'drain', summary: string): Command {
  return clientCommand(name, summary, `duly worker ${name} worker-01kf3v7q2n8f5w9r6x4y1z0abc`)
    .argument('<id>', 'id of the worker')
    .action(async (id: string, _options: unknown, command: Command) => {
      const options = optionsOf<ClientOptions>(command)
      print(context, options, await withClient(options, (duly) => duly.workers[name](id)), renderWorker)
    })
}

/** The commands on workers that run elsewhere. */
export function fleetCommands(context: Context): readonly Command[] {
  return [
    list(context),
    one(context, 'get', 'show a worker: what it serves, holds and last told'),
    one(context, 'drain', 'have a worker finish what it holds and leave; it gets nothing more at once'),
  ]
}
