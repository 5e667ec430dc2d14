import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { renderStats } from '../cli/render-stats.js'
import { parseSeconds } from '../cli/seconds.js'
import { type ClientOptions, type Context, clientCommand, print, withClient } from './command.js'

const GROUPS = { queue: 'queue', type: 'task_type', tenant: 'tenant' } as const

function parseGroup(text: string): (typeof GROUPS)[keyof typeof GROUPS] {
  const group = Object.entries(GROUPS).find(([name, wire]) => text === name || text === wire)
  if (group) return group[1]
  throw new CliError('usage', `"${text}" is nothing to group by`, `Write one of ${Object.keys(GROUPS).join(', ')}.`)
}

interface StatsCommandOptions extends ClientOptions {
  readonly window?: number
  readonly by?: 'queue' | 'task_type' | 'tenant'
}

/** `duly stats`. */
export function stats(context: Context): Command {
  const summary = 'show rates, waiting and run times, and what waits and runs now'
  return clientCommand('stats', summary, 'duly stats --window 15m --by queue')
    .option('--window <duration>', 'how far back, from 1m to 7d (default 1h)', (text: string) =>
      parseSeconds(text, '--window'),
    )
    .option('--by <group>', 'queue, type or tenant: also the 100 with the most events', parseGroup)
    .action(async (options: StatsCommandOptions) => {
      const { window, by } = options
      const request = {
        ...(window === undefined ? {} : { window: window * 1_000 }),
        ...(by === undefined ? {} : { by }),
      }
      print(context, options, await withClient(options, (duly) => duly.stats(request)), renderStats)
    })
}
