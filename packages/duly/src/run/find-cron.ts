import type { CronSummary, Duly } from '@duly/sdk'
import { CliError } from '../cli/cli-error.js'

export interface NamedCron {
  /** Its id, or its name. */
  readonly given: string
  /** Of which tenant the name is. */
  readonly tenant?: string | undefined
}

/**
 * The id of a recurring task that a command was given by id or by name.
 * @throws CliError when no such name is there, or several tenants have it
 */
export async function findCron(duly: Duly, { given, tenant }: NamedCron): Promise<string> {
  if (/^cron-[0-9a-z]{26}$/.test(given)) return given
  const found: CronSummary[] = []
  for await (const cron of duly.cron.all({ name: given, ...(tenant === undefined ? {} : { tenant }) })) found.push(cron)
  const [only, second] = found
  if (only === undefined)
    throw new CliError('not_found', `there is no recurring task ${given}`, '`duly cron list` shows which there are.')
  if (second === undefined) return only.id
  throw new CliError(
    'usage',
    `several tenants have a recurring task ${given}: ${found.map(({ tenantId }) => tenantId).join(', ')}`,
    'Say which one is meant with --tenant, or give its id.',
  )
}
