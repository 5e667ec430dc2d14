import type { ConfigSources, ServerConfig, settings as Settings } from '@duly/server'
import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { isObject, type Json, readInputFile } from '../cli/json-input.js'
import { misspeltVariables, serviceLinks } from '../cli/misspelt-variables.js'
import { renderWarning } from '../cli/warning.js'
import type { CommonOptions, Context } from './command.js'

type SettingName = keyof typeof Settings

/** The server's code, loaded only by the commands that run it: the others start in 0.15 s, with it in 0.7 s. */
export type ServerModule = typeof import('@duly/server')

/** Options of the commands that run a server: one for each of its settings. */
export type ServerFlags = CommonOptions & { readonly config?: string } & Partial<Record<SettingName, string | boolean>>

/** Adds a flag for every setting of a server, and `--config`; none while the server's code isn't loaded. */
export function withSettings(command: Command, server: ServerModule | undefined): Command {
  if (!server) return command
  const { settings, flagOf } = server
  for (const [name, { env, doc, kind, default: fallback }] of Object.entries(settings)) {
    command.option(
      `${flagOf(name as SettingName)}${kind.type === 'switch' ? '' : ' <value>'}`,
      `${doc} (${env}${fallback === '' ? '' : `; default ${fallback}`})`,
    )
  }
  return command.option('--config <file>', 'JSON file with settings, named as the flags in camelCase')
}

/** A newcomer's terminal shows what is wrong, not each routine line; and no balancer has to notice that it stops. */
export const devDefaults = { logLevel: 'warn', drainDelaySeconds: '0' } as const

export interface ConfigRequest {
  readonly flags: ServerFlags
  /** What this command has in place of a setting's general default. */
  readonly defaults?: Partial<Record<SettingName, string>>
}

/**
 * The settings in force: flags win over the environment, the environment over the file.
 * @throws DulyError that lists everything wrong at once
 */
export async function readConfig(
  server: ServerModule,
  { flags, defaults = {} }: ConfigRequest,
  context: Context,
): Promise<ServerConfig> {
  return server.resolveConfig({ ...(await readSources(server, flags, context)), defaults })
}

/** What was set, and where. Variables that look like a setting and are none, or hold something else, are told on the way. */
export async function readSources(
  { settings, isServiceLink }: ServerModule,
  flags: ServerFlags,
  { terminal }: Context,
): Promise<ConfigSources> {
  const { env } = terminal
  const variables = Object.values(settings).map((setting) => setting.env)
  const names = Object.keys(settings) as SettingName[]
  const links = names.filter((name) => isServiceLink(name, env[settings[name].env] ?? ''))
  const warnings = [...misspeltVariables(env, variables), ...serviceLinks(links.map((name) => settings[name].env))]
  for (const warning of warnings) terminal.err(renderWarning(warning, flags.json === true))
  const given = Object.fromEntries(names.map((name) => [name, flags[name]]))
  const file = flags.config === undefined ? {} : await readConfigFile(flags.config)
  return { env, flags: given, file, fileName: flags.config ?? '' }
}

async function readConfigFile(path: string): Promise<{ readonly [key: string]: Json }> {
  const text = await readInputFile('--config', path)
  let value: Json
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new CliError(
      'usage',
      `--config: ${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  if (isObject(value)) return value
  throw new CliError(
    'usage',
    `--config: ${path} must hold an object`,
    'E.g. {"port": 7070, "logLevel": "info"}; `duly config` shows the settings.',
  )
}
