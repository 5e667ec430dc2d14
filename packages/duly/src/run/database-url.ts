import { CliError } from '../cli/cli-error.js'
import type { Terminal } from '../cli/terminal.js'

/**
 * The database that a command works on without a server.
 *
 * @param given the flag; undefined, or true for one without a value: DULY_DATABASE_URL
 * @throws CliError when none is named, or it is no postgres:// URL. It may hold a password, so the message does not repeat it
 */
export async function databaseUrlOf(given: string | true | undefined, { env }: Terminal): Promise<string> {
  const url = typeof given === 'string' ? given : env.DULY_DATABASE_URL
  if (!url)
    throw new CliError(
      'usage',
      'no database is named',
      'Set DULY_DATABASE_URL or give --database-url. (`duly dev` migrates its embedded PostgreSQL by itself.)',
    )
  const { isPostgresUrl } = await import('@duly/server')
  if (isPostgresUrl(url)) return url
  throw new CliError(
    'usage',
    `${typeof given === 'string' ? '--database-url' : 'DULY_DATABASE_URL'} must be a postgres:// URL`,
    'Write it as postgres://role:password@host:5432/database.',
  )
}
