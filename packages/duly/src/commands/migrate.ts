import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { exitCode } from '../cli/exit-codes.js'
import { table } from '../cli/table.js'
import { databaseUrlOf } from '../run/database-url.js'
import { type CommonOptions, type Context, command, print } from './command.js'

interface MigrateFlags extends CommonOptions {
  readonly databaseUrl?: string
  readonly status?: true
  readonly verify?: true
}

const EXAMPLE = [
  'duly migrate --database-url postgres://duly:secret@db:5432/duly',
  'duly migrate --status',
  'duly migrate --verify',
].join('\n')

/** `duly migrate`. */
export function migrate(context: Context): Command {
  return command('migrate', 'bring the database up to this version; safe to run anywhere, any number of times', EXAMPLE)
    .option('--database-url <url>', 'PostgreSQL (DULY_DATABASE_URL)')
    .option('--status', 'show which migrations are applied; changes nothing')
    .option('--verify', 'check that the schema is exactly the one of this version; changes nothing')
    .action(async (flags: MigrateFlags) => {
      if (flags.status && flags.verify)
        throw new CliError('usage', '--status and --verify are two questions: ask one at a time')
      const url = await databaseUrlOf(flags.databaseUrl, context.terminal)
      if (flags.status) return showStatus(context, flags, url)
      if (flags.verify) return verify(context, flags, url)
      const server = await import('@duly/server')
      const { applied } = await server.migrate(url, {
        log: (line) => context.terminal.err(flags.json ? '' : `${line}\n`),
      })
      print(
        context,
        flags,
        { applied },
        () => `${applied.length === 0 ? 'Nothing to do: the database is up to date.' : `${applied.length} applied.`}\n`,
      )
    })
}

async function showStatus(context: Context, flags: MigrateFlags, url: string): Promise<void> {
  const { migrationStatus } = await import('@duly/server')
  const migrations = await migrationStatus(url)
  if (migrations.some(({ state }) => state !== 'applied')) context.setExit(exitCode('failed'))
  print(context, flags, { migrations }, () =>
    table(
      ['MIGRATION', 'STATE', 'APPLIED'],
      migrations.map(({ name, state, appliedAt }) => [name, state, appliedAt?.toISOString()]),
    ),
  )
}

async function verify(context: Context, flags: MigrateFlags, url: string): Promise<void> {
  const { verifyMigrations } = await import('@duly/server')
  const verdict = await verifyMigrations(url)
  if (!verdict.ok) context.setExit(exitCode('failed'))
  print(context, flags, verdict, ({ ok, problems }) =>
    ok ? 'The schema is exactly that of this version.\n' : `${problems.join('\n')}\n`,
  )
}
