import type { Command } from 'commander'
import { renderCluster } from '../cli/render-cluster.js'
import { type ClientOptions, type Context, clientCommand, print, withClient } from './command.js'

/** `duly cluster`. */
export function cluster(context: Context): Command {
  const summary = 'show nodes, who leads the timer partitions, and the health of the parts'
  return clientCommand('cluster', summary, 'duly cluster').action(async (options: ClientOptions) => {
    print(context, options, await withClient(options, (duly) => duly.cluster()), renderCluster)
  })
}
