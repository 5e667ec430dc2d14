import { decodeId, encodeId, isName, limits } from '@duly/domain'
import type { ApiKeyRecord, ApiKeys } from '@duly/sdk'
import type { ApiKeyRecord as StoredKey } from '@duly/server'
import { CliError } from '../cli/cli-error.js'
import { type ClientOptions, type Context, withClient } from '../commands/command.js'
import { databaseUrlOf } from './database-url.js'

/** Options of the commands on keys. */
export interface KeyFlags extends ClientOptions {
  /** True: the one of the environment. */
  readonly databaseUrl?: string | true
}

/** The calls on keys, whoever serves them. */
export type KeyCalls = Pick<ApiKeys, 'create' | 'list' | 'revoke'>

const by = { kind: 'system', name: 'duly key' } as const
/** As many as the store gives at once. */
const pageLimit = 500

/** Runs `work` on the keys of a server, or straight on those in a database. */
export async function withKeys<T>(
  flags: KeyFlags,
  { terminal }: Context,
  work: (keys: KeyCalls) => Promise<T>,
): Promise<T> {
  const { databaseUrl: named } = flags
  if (named === undefined) return withClient(flags, (duly) => work(duly.keys))
  return withStored(await databaseUrlOf(named, terminal), work)
}

async function withStored<T>(url: string, work: (keys: KeyCalls) => Promise<T>): Promise<T> {
  const { withKeysOf } = await import('@duly/server')
  return withKeysOf(url, (stored) =>
    work({
      create: async ({ name, scopes, tenant = null, expiresAt }) => {
        checkNames(name, tenant)
        const expiresAtMs = expiresAt === undefined ? null : instantOf(expiresAt)
        const { record, secret } = await stored.create({ name, scopes, tenant, expiresAtMs }, by)
        return { ...shown(record), secret }
      },
      list: async () => {
        const items: ApiKeyRecord[] = []
        for (let after: string | null = null; ; ) {
          const page = await stored.list(null, { after, limit: pageLimit })
          items.push(...page.items.map(shown))
          if (page.next === null) return items
          after = page.next
        }
      },
      revoke: async (id) => {
        const { isLastAdmin } = await stored.revoke(decodeId('key', id), null, by)
        return { lastAdmin: isLastAdmin }
      },
    }),
  )
}

/** What the API would refuse; `name` is for people, `tenant` a name as in submissions. */
function checkNames(name: string, tenant: string | null): void {
  const isPlain = name !== '' && name.length <= limits.nameMaxChars && !/\p{Cc}/u.test(name)
  if (!isPlain) throw new CliError('usage', `--name must have 1 to ${limits.nameMaxChars} characters, on one line`)
  if (tenant === null || isName(tenant)) return
  throw new CliError(
    'usage',
    `--tenant: ${JSON.stringify(tenant)} cannot be the name of a tenant`,
    'Letters, digits and . _ - : / only.',
  )
}

function shown({ tenant, ...key }: StoredKey): ApiKeyRecord {
  const date = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))
  return {
    ...{ id: encodeId('key', key.id), name: key.name, scopes: key.scopes, tenantId: tenant },
    ...{ createdAt: new Date(key.createdAtMs), expiresAt: date(key.expiresAtMs) },
    ...{ lastUsedAt: date(key.lastUsedAtMs), revokedAt: date(key.revokedAtMs) },
  }
}

function instantOf(given: Date | string): number {
  const ms = new Date(given).getTime()
  if (!Number.isNaN(ms)) return ms
  throw new CliError('usage', `--expires: ${given} is not an instant`, 'Write it like 2027-01-01T00:00:00Z.')
}
