import { DulyError, type FieldError } from '@duly/domain'
import type { LogLevel } from '../telemetry/logger.js'
import { flagOf, type Setting, type SettingKind, type SettingName, settings } from './settings.js'

export type Role = 'api' | 'scheduler'

/** The settings of a node, checked and complete. Durations in ms. */
export interface ServerConfig {
  readonly host: string
  /** Whether the api asks for no keys. */
  readonly open: boolean
  readonly port: number
  readonly databaseUrl: string
  readonly roles: readonly Role[]
  readonly logLevel: LogLevel
  readonly partitions: number
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly graceMs: number
  readonly maxCrashes: number
  readonly hotConnections: number
  readonly generalConnections: number
  readonly statementTimeoutMs: number
  readonly payloadMaxBytes: number
  /** Queues, and task types, that keys bound to one tenant may use. */
  readonly tenantNamesMax: number
  /** Recurring tasks that a tenant may have. */
  readonly cronTasksMax: number
  /** Days that finished tasks are kept. */
  readonly retentionDays: number
  readonly drainMs: number
  /** How long a stopping node serves as before while `/readyz` says no. */
  readonly drainDelayMs: number
}

/** Where settings come from; a flag wins over the environment, the environment over the file. Keys are setting names. */
export interface ConfigSources {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly flags?: Readonly<Partial<Record<SettingName, string | number | boolean | undefined>>>
  readonly file?: Readonly<Record<string, unknown>>
  /** What the file is called in errors. */
  readonly fileName?: string
  /** What one command has in place of a setting's general default. */
  readonly defaults?: Readonly<Partial<Record<SettingName, string>>>
}

/** Checks all settings at once. Rejects with `invalid_request` whose `errors` name each wrong one and where it came from. */
export function resolveConfig(given: ConfigSources): ServerConfig {
  const { env = {}, flags = {}, file = {}, fileName = 'file', defaults = {} } = given
  const sources = { env, flags, file, fileName, defaults }
  const errors: FieldError[] = []
  for (const key of Object.keys(file)) {
    if (!Object.hasOwn(settings, key)) errors.push({ path: `${fileName}: ${key}`, message: 'is not a setting' })
  }
  const read = (name: SettingName): SettingValue => {
    const setting: Setting = settings[name]
    const [text, from] = source(name, sources)
    const value = parse(setting.kind, text)
    if (value instanceof Error) errors.push({ path: from, message: value.message })
    return value instanceof Error ? setting.default : value
  }
  const seconds = (name: SettingName): number => Math.round(Number(read(name)) * 1_000)
  const config: ServerConfig = {
    host: String(read('host')),
    open: read('open') === true,
    port: Number(read('port')),
    databaseUrl: String(read('databaseUrl')),
    roles: read('roles') as readonly Role[],
    logLevel: read('logLevel') as LogLevel,
    partitions: Number(read('partitions')),
    heartbeatMs: seconds('heartbeatSeconds'),
    leaseMs: seconds('leaseSeconds'),
    graceMs: seconds('graceSeconds'),
    maxCrashes: Number(read('maxCrashes')),
    hotConnections: Number(read('hotConnections')),
    generalConnections: Number(read('generalConnections')),
    statementTimeoutMs: seconds('statementTimeoutSeconds'),
    payloadMaxBytes: Number(read('payloadMaxBytes')),
    tenantNamesMax: Number(read('tenantNamesMax')),
    cronTasksMax: Number(read('cronTasksMax')),
    retentionDays: Number(read('retentionDays')),
    drainMs: seconds('drainSeconds'),
    drainDelayMs: seconds('drainDelaySeconds'),
  }
  if (config.leaseMs < 2 * config.heartbeatMs) {
    errors.push({ path: source('leaseSeconds', sources)[1], message: 'must be at least two heartbeats' })
  }
  if (errors.length > 0) {
    const detail = errors.map(({ path, message }) => `${path} ${message}`).join('; ')
    throw new DulyError('invalid_request', `The configuration is not valid: ${detail}.`, { errors })
  }
  return Object.freeze(config)
}

/**
 * Whether the value of a variable is what Kubernetes says of a service in every pod beside it: `DULY_PORT=tcp://10.0.0.7:7070` of a service
 * that is called `duly`. It was never meant for a setting of that name.
 */
export function isServiceLink(name: SettingName, value: string): boolean {
  return settings[name].kind.type === 'integer' && /^(tcp|udp|sctp):\/\/\S+:\d+$/i.test(value)
}

/** The driver takes anything for the name of a host, so that a wrong form would be told as one that is not found. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text)
}

type SettingValue = string | number | boolean | readonly string[]

function source(
  name: SettingName,
  { env, flags, file, fileName, defaults }: Required<ConfigSources>,
): [text: string, from: string] {
  const setting: Setting = settings[name]
  const flag = flags[name]
  if (flag !== undefined) return [String(flag), flagOf(name)]
  const variable = env[setting.env]
  const isSet = variable !== undefined && variable !== '' && !isServiceLink(name, variable)
  if (isSet) return [variable, setting.env]
  const entry = file[name]
  if (entry !== undefined && entry !== null)
    return [Array.isArray(entry) ? entry.join(',') : String(entry), `${fileName}: ${name}`]
  return [defaults[name] ?? setting.default, setting.env]
}

function parse(kind: SettingKind, text: string): SettingValue | Error {
  switch (kind.type) {
    case 'text':
      return text.trim() === '' ? new Error('must not be empty') : text
    case 'secretUrl':
      return text === '' || isPostgresUrl(text) ? text : new Error('must be a postgres:// URL')
    case 'choice':
      return kind.of.includes(text) ? text : new Error(`must be one of ${kind.of.join(', ')}`)
    case 'switch':
      return text === 'true' || text === 'false' ? text === 'true' : new Error('must be true or false')
    case 'list': {
      const parts = [...new Set(text.split(',').map((part) => part.trim()))]
      return parts.every((part) => kind.of.includes(part))
        ? parts
        : new Error(`must be a list of ${kind.of.join(', ')}`)
    }
    case 'integer':
    case 'seconds': {
      const value = Number(text)
      const isWhole = kind.type === 'seconds' || /^\d+$/.test(text.trim())
      if (text.trim() !== '' && isWhole && value >= kind.min && value <= kind.max) return value
      return new Error(
        `must be ${kind.type === 'integer' ? 'a whole number' : 'seconds'} from ${kind.min} to ${kind.max}`,
      )
    }
  }
}

/** What is in force, by variable, with passwords of URLs hidden: what `duly config` prints. */
export function describeConfig(config: ServerConfig): Record<string, string> {
  const url = config.databaseUrl === '' ? '' : withoutPassword(config.databaseUrl)
  const values: Record<SettingName, string | number> = {
    host: config.host,
    open: String(config.open),
    port: config.port,
    databaseUrl: url,
    roles: config.roles.join(','),
    logLevel: config.logLevel,
    partitions: config.partitions,
    heartbeatSeconds: config.heartbeatMs / 1_000,
    leaseSeconds: config.leaseMs / 1_000,
    graceSeconds: config.graceMs / 1_000,
    maxCrashes: config.maxCrashes,
    hotConnections: config.hotConnections,
    generalConnections: config.generalConnections,
    statementTimeoutSeconds: config.statementTimeoutMs / 1_000,
    payloadMaxBytes: config.payloadMaxBytes,
    tenantNamesMax: config.tenantNamesMax,
    cronTasksMax: config.cronTasksMax,
    retentionDays: config.retentionDays,
    drainSeconds: config.drainMs / 1_000,
    drainDelaySeconds: config.drainDelayMs / 1_000,
  }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [settings[name as SettingName].env, String(value)]),
  )
}

function withoutPassword(text: string): string {
  if (!URL.canParse(text)) return '[hidden]'
  const url = new URL(text)
  // a password with an unescaped slash was taken for port and path
  if (url.pathname.includes('@')) return '[hidden]'
  if (url.password !== '') url.password = '***'
  for (const key of [...url.searchParams.keys()]) if (/pass/i.test(key)) url.searchParams.set(key, '***')
  return url.href
}
