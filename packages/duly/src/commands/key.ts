import { type Scope, scopes } from '@duly/domain'
import type { ApiKeyRecord } from '@duly/sdk'
import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { table } from '../cli/table.js'
import { type KeyFlags, withKeys } from '../run/key-access.js'
import { type Context, clientCommand, print, printList } from './command.js'

/** A command that talks to a server or, to make the first key, straight to its database. */
function keyCommand(name: string, summary: string, example: string): Command {
  return clientCommand(name, summary, example).option(
    '--database-url [url]',
    'do it straight in the database, without a server or a key (without a url: DULY_DATABASE_URL)',
  )
}

interface CreateFlags extends KeyFlags {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly tenant?: string
  readonly expires?: string
}

function parseScopes(text: string): readonly Scope[] {
  const names = [...new Set(text.split(',').map((part) => part.trim()))]
  const known = scopes.map((scope) => scope.name)
  const wrong = names.filter((name) => !known.some((scope) => scope === name))
  if (wrong.length === 0) return names as Scope[]
  const are = wrong.length === 1 ? 'is none' : 'are none'
  throw new CliError('usage', `--scopes: ${wrong.map((name) => name || '""').join(', ')} ${are} of ${known.join(', ')}`)
}

const CREATE_EXAMPLE = [
  'duly key create --name admin --scopes admin --database-url postgres://duly:secret@db:5432/duly',
  'duly key create --name "shop backend" --scopes submit,read --tenant acme --expires 2027-01-01T00:00:00Z',
].join('\n')

/** `duly key create`: the secret alone goes to the standard output, so that a script can keep it. */
function create(context: Context): Command {
  return keyCommand('create', 'make an API key and print its secret, which is shown this once', CREATE_EXAMPLE)
    .requiredOption('--name <name>', 'who uses it, and for what')
    .requiredOption('--scopes <list>', scopes.map(({ name, doc }) => `${name}: ${doc}`).join('; '), parseScopes)
    .option('--tenant <tenant>', 'bind it to a tenant (absent: as the key that asks)')
    .option('--expires <instant>', 'refuse it from then on, e.g. 2027-01-01T00:00:00Z (absent: never)')
    .action(async (flags: CreateFlags) => {
      const { name, scopes: wanted, tenant, expires } = flags
      const asked = { name, scopes: wanted, ...(tenant === undefined ? {} : { tenant }) }
      const key = await withKeys(flags, context, (keys) =>
        keys.create({ ...asked, ...(expires === undefined ? {} : { expiresAt: expires }) }),
      )
      if (!flags.json) context.terminal.err(`${key.id} (${reachOf(key)}); the secret is not shown again:\n`)
      print(context, flags, wireOf(key), () => `${key.secret}\n`)
    })
}

const reachOf = ({ scopes: held, tenantId }: ApiKeyRecord): string =>
  `${held.join(', ')}; ${tenantId === null ? 'every tenant' : `tenant ${tenantId}`}`

function list(context: Context): Command {
  return keyCommand('list', 'list API keys, newest first, revoked ones too', 'duly key list').action(
    async (flags: KeyFlags) => {
      const items = await withKeys(flags, context, (keys) => keys.list())
      printList(context, flags, items.map(wireOf), () => renderKeys(items))
    },
  )
}

function revoke(context: Context): Command {
  return keyCommand(
    'revoke',
    'revoke an API key; when this ends, no node takes it any more',
    'duly key revoke key-01kf3v7q2n8f5w9r6x4y1z0abc',
  )
    .argument('<id>', 'id of the key')
    .option('--yes', 'at a terminal: revoke it though it is the last one that may manage keys')
    .action(async (id: string, flags: KeyFlags & { readonly yes?: true }) => {
      const mayAsk = flags.yes !== true && context.terminal.isInteractive
      const { lastAdmin } = await withKeys(flags, context, async (keys) => {
        if (mayAsk && isLastAdmin(await keys.list(), id)) throw wouldBeLast(id)
        return keys.revoke(id)
      })
      if (lastAdmin && !flags.json) context.terminal.err(`That was the last admin key. ${WAY_BACK}\n`)
      print(context, flags, { keyId: id, revoked: true, lastAdmin }, () => `${id} revoked\n`)
    })
}

/** Whether, without this key, none is left that may make another for whatever tenant. Only a key of no tenant sees such keys. */
function isLastAdmin(keys: readonly ApiKeyRecord[], id: string): boolean {
  const admins = keys.filter((key) => {
    const isLive = key.revokedAt === null && (key.expiresAt === null || key.expiresAt.getTime() > Date.now())
    return isLive && key.tenantId === null && key.scopes.includes('admin')
  })
  return admins.length === 1 && admins[0]?.id === id
}

const WAY_BACK =
  'Whoever has the database can make another: `duly key create --name admin --scopes admin --database-url postgres://…`'

const wouldBeLast = (id: string): CliError =>
  new CliError(
    'usage',
    `${id} is the last live admin key: without it nobody can manage keys over the API`,
    `Add --yes to revoke it. ${WAY_BACK}`,
  )

/** As the API names it. */
const wireOf = ({ id, ...key }: ApiKeyRecord) => ({ keyId: id, ...key })

function renderKeys(keys: readonly ApiKeyRecord[]): string {
  const instant = (date: Date | null): string | null => date?.toISOString().replace(/\.\d+Z$/, 'Z') ?? null
  const rows = keys.map((key) => [
    ...[key.id, key.name, key.scopes.join(','), key.tenantId ?? '(all)', stateOf(key)],
    ...[instant(key.createdAt), instant(key.lastUsedAt)],
  ])
  return table(['KEY', 'NAME', 'SCOPES', 'TENANT', 'STATE', 'CREATED', 'LAST USED'], rows)
}

function stateOf({ revokedAt, expiresAt }: ApiKeyRecord): string {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt === null) return 'live'
  return expiresAt.getTime() <= Date.now() ? 'expired' : `live until ${expiresAt.toISOString().slice(0, 10)}`
}

/** `duly key …`. */
export function keyCommands(context: Context): readonly Command[] {
  return [create(context), list(context), revoke(context)]
}
