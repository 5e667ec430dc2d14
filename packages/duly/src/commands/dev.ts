import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { exitCode } from '../cli/exit-codes.js'
import { toWireJson } from '../cli/wire-json.js'
import { renderBanner } from '../run/dev-banner.js'
import { DevTree } from '../run/dev-tree.js'
import { runUntilSignal } from '../run/run-until-signal.js'
import { type Context, command } from './command.js'
import { devDefaults, readConfig, type ServerFlags, type ServerModule, withSettings } from './server-flags.js'

type DevFlags = ServerFlags & { readonly dataDir?: string; readonly worker?: string | false }

const EXAMPLE = ['duly dev', 'duly dev --port 0 --data-dir /tmp/duly --worker ./my-worker.mjs'].join('\n')

/** Where embedded data is kept unless a flag says otherwise. */
export function dataDirOf(env: NodeJS.ProcessEnv): string {
  return env.DULY_DATA_DIR || '.duly'
}

/** `duly dev`. */
export function dev(context: Context, loaded?: ServerModule): Command {
  const summary = 'run everything on this machine: PostgreSQL, server and a worker, until Ctrl-C'
  return withSettings(command('dev', summary, EXAMPLE), loaded)
    .option('--data-dir <folder>', 'where the embedded PostgreSQL keeps its data (DULY_DATA_DIR; default .duly)')
    .option('--worker <file>', 'run this worker file in place of the example')
    .option('--no-worker', 'run no worker')
    .action((flags: DevFlags) => runDev(context, flags))
}

const notHere = (host: string): CliError =>
  new CliError(
    'usage',
    `\`duly dev\` asks for no API keys, so it listens on this machine only: ${host} is no loopback address`,
    'Leave out --host and DULY_HOST; or run `duly serve`, which asks for keys and listens anywhere.',
  )

async function runDev(context: Context, flags: DevFlags): Promise<void> {
  const server = await import('@duly/server')
  const { terminal } = context
  const config = await readConfig(server, { flags, defaults: devDefaults }, context)
  if (!server.isLoopback(config.host)) throw notHere(config.host)
  const asJson = flags.json === true
  const dataDir = flags.dataDir ?? dataDirOf(terminal.env)
  const tree = new DevTree({
    server,
    config: { ...config, open: true },
    dataDir,
    worker: flags.worker,
    terminal,
    asJson,
  })
  const clean = await runUntilSignal({
    starters: tree.starters,
    onReady: () => terminal.out(asJson ? `${JSON.stringify(toWireJson(tree.facts))}\n` : renderBanner(tree.facts)),
    log: tree.log,
    onForce: () => tree.kill(),
  })
  if (!clean) context.setExit(exitCode('failed'))
}
