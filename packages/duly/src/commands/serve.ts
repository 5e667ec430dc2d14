import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { exitCode } from '../cli/exit-codes.js'
import { runUntilSignal } from '../run/run-until-signal.js'
import { keepHeapSmall } from '../run/small-heap.js'
import { type Context, command } from './command.js'
import { readConfig, type ServerFlags, type ServerModule, withSettings } from './server-flags.js'

const EXAMPLE = 'duly serve --database-url postgres://duly:secret@db:5432/duly --host 0.0.0.0'

/** `duly serve`. */
export function serve(context: Context, loaded?: ServerModule): Command {
  const summary = 'run a node of the server until SIGTERM, then drain'
  return withSettings(command('serve', summary, EXAMPLE), loaded).action(async (flags: ServerFlags) => {
    const server = await import('@duly/server')
    const config = await readConfig(server, { flags }, context)
    if (config.databaseUrl === '') {
      throw new CliError(
        'usage',
        'no database is named',
        'Set DULY_DATABASE_URL or give --database-url; or run `duly dev`, which brings its own PostgreSQL.',
      )
    }
    keepHeapSmall()
    const logger = server.createLogger({ level: config.logLevel })
    const log = (line: string) => logger.info(line)
    let hasten = () => false
    const start = async (signal: AbortSignal) => {
      const node = await server.startNode(config, { logger, signal })
      log(`ready at ${node.url}`)
      hasten = node.hasten
      return { name: 'the server', stop: () => node.stop() }
    }
    const clean = await runUntilSignal({ starters: [start], onReady: () => {}, hasten: () => hasten(), log })
    if (!clean) context.setExit(exitCode('failed'))
  })
}
