import type { Command } from 'commander'
import { facts } from '../cli/table.js'
import { type Context, command } from './command.js'
import { dataDirOf } from './dev.js'
import { devDefaults, readSources, type ServerFlags, type ServerModule, withSettings } from './server-flags.js'

/** `duly config`. */
export function config(context: Context, loaded?: ServerModule): Command {
  const summary = 'show the settings in force, by variable, without secrets'
  return withSettings(command('config', summary, 'duly config --port 8080 --json'), loaded).action(
    async (flags: ServerFlags) => {
      const server = await import('@duly/server')
      const { env } = context.terminal
      const sources = await readSources(server, flags, context)
      const inForce = server.describeConfig(server.resolveConfig(sources))
      const inDev = server.describeConfig(server.resolveConfig({ ...sources, defaults: devDefaults }))
      const values: Readonly<Record<string, string>> = {
        ...inForce,
        DULY_DATA_DIR: dataDirOf(env),
        DULY_URL: env.DULY_URL ?? 'http://127.0.0.1:7070',
        DULY_API_KEY: env.DULY_API_KEY ? '***' : '',
      }
      context.terminal.out(
        flags.json
          ? `${JSON.stringify(values, null, 2)}\n`
          : facts(Object.entries(values).map(([name, value]) => [name, forBoth(value, inDev[name]) || '(none)'])),
      )
    },
  )
}

/** Where a setting is left open, `duly dev` may have another value than a node of a deployment: both are shown. */
function forBoth(value: string, inDev: string | undefined): string {
  return inDev === undefined || inDev === value ? value : `${value} (duly dev: ${inDev})`
}
