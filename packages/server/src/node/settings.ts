import { defaultMaxCrashes, limits } from '@duly/domain'

/** How a setting is read and checked. */
export type SettingKind =
  | { readonly type: 'text' }
  | { readonly type: 'secretUrl' }
  | { readonly type: 'choice'; readonly of: readonly string[] }
  | { readonly type: 'list'; readonly of: readonly string[] }
  | { readonly type: 'integer'; readonly min: number; readonly max: number }
  | { readonly type: 'seconds'; readonly min: number; readonly max: number }
  | { readonly type: 'switch' }

export interface Setting {
  readonly env: string
  readonly kind: SettingKind
  readonly default: string
  readonly doc: string
}

/**
 * Every setting of a node, by the name that flags (`--database-url`) and the configuration file (`databaseUrl`) use. Types,
 * checks, `duly config` and docs/reference/configuration.md come from here.
 */
export const settings = {
  host: { env: 'DULY_HOST', kind: { type: 'text' }, default: '127.0.0.1', doc: 'Address that the api listens on.' },
  open: {
    env: 'DULY_OPEN',
    kind: { type: 'switch' },
    default: 'false',
    doc: 'Ask for no API keys: whoever reaches the port may do everything. `duly dev` always runs so, on loopback only.',
  },
  port: {
    env: 'DULY_PORT',
    kind: { type: 'integer', min: 0, max: 65_535 },
    default: '7070',
    doc: 'Port of the api; 0: any free one, printed.',
  },
  databaseUrl: {
    env: 'DULY_DATABASE_URL',
    kind: { type: 'secretUrl' },
    default: '',
    doc: 'PostgreSQL 15 or newer. `duly dev` starts its own when absent.',
  },
  roles: {
    env: 'DULY_ROLES',
    kind: { type: 'list', of: ['api', 'scheduler'] },
    default: 'api,scheduler',
    doc: 'What this node does.',
  },
  logLevel: {
    env: 'DULY_LOG_LEVEL',
    kind: { type: 'choice', of: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] },
    default: 'info',
    doc: 'Least level of log lines.',
  },
  partitions: {
    env: 'DULY_PARTITIONS',
    kind: { type: 'integer', min: 1, max: 4_096 },
    default: '64',
    doc: 'Timer partitions. Fixed for a deployment by its first node; another value is refused later.',
  },
  heartbeatSeconds: {
    env: 'DULY_HEARTBEAT_SECONDS',
    kind: { type: 'seconds', min: 0.1, max: 90 },
    default: '5',
    doc: 'How often a worker says that it lives.',
  },
  leaseSeconds: {
    env: 'DULY_LEASE_SECONDS',
    kind: { type: 'seconds', min: 0.3, max: 300 },
    default: '15',
    doc: 'A worker that was silent for this long is dead and its tasks run elsewhere. At least two heartbeats.',
  },
  graceSeconds: {
    env: 'DULY_GRACE_SECONDS',
    kind: { type: 'seconds', min: 0.1, max: 300 },
    default: '5',
    doc: 'Time past its deadline, or past its cancellation, that an attempt has to end by itself.',
  },
  maxCrashes: {
    env: 'DULY_MAX_CRASHES',
    kind: { type: 'integer', min: 1, max: 100 },
    default: String(defaultMaxCrashes),
    doc: 'A task with this many lost workers behind it is DEAD.',
  },
  hotConnections: {
    env: 'DULY_HOT_CONNECTIONS',
    kind: { type: 'integer', min: 4, max: 100 },
    default: '10',
    doc: 'Database connections for intake, claims, reports and timers.',
  },
  generalConnections: {
    env: 'DULY_GENERAL_CONNECTIONS',
    kind: { type: 'integer', min: 2, max: 100 },
    default: '4',
    doc: 'Database connections for everything else.',
  },
  statementTimeoutSeconds: {
    env: 'DULY_STATEMENT_TIMEOUT_SECONDS',
    kind: { type: 'seconds', min: 1, max: 600 },
    default: '15',
    doc: 'No statement runs longer.',
  },
  payloadMaxBytes: {
    env: 'DULY_PAYLOAD_MAX_BYTES',
    kind: { type: 'integer', min: 1_024, max: 16_777_216 },
    default: '1048576',
    doc: 'Largest payload, and largest result.',
  },
  tenantNamesMax: {
    env: 'DULY_TENANT_NAMES_MAX',
    kind: { type: 'integer', min: 1, max: limits.queuesMaxCount },
    default: '1000',
    doc: 'Names of queues, and as many of task types, that keys bound to one tenant may use, whoever brought them: names last, and a deployment has 10,000 of each.',
  },
  cronTasksMax: {
    env: 'DULY_CRON_TASKS_MAX',
    kind: { type: 'integer', min: 1, max: 100_000_000 },
    default: '1000000',
    doc: 'Recurring tasks that a tenant may have.',
  },
  retentionDays: {
    env: 'DULY_RETENTION_DAYS',
    kind: { type: 'integer', min: 1, max: 3_650 },
    default: '30',
    doc: 'Finished tasks are kept for so many days after their end. Give it to every node; while they differ, the longest counts.',
  },
  drainSeconds: {
    env: 'DULY_DRAIN_SECONDS',
    kind: { type: 'seconds', min: 0, max: 300 },
    default: '10',
    doc: 'Time that requests under way have to end when the node stops.',
  },
  drainDelaySeconds: {
    env: 'DULY_DRAIN_DELAY_SECONDS',
    kind: { type: 'seconds', min: 0, max: 300 },
    default: '5',
    doc: 'Time before that in which a stopping node with the api role serves as before while `/readyz` says 503, so that balancers take it out; 0 in `duly dev`. A second signal ends it.',
  },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

/** The flag of a setting: `databaseUrl` → `--database-url`. */
export const flagOf = (name: SettingName): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** The text of docs/reference/configuration.md. */
export function renderConfiguration(): string {
  const rows = (Object.keys(settings) as SettingName[]).map((name) => {
    const { env, default: fallback, doc } = settings[name] as Setting
    return `| \`${env}\` | \`${flagOf(name)}\` | ${fallback === '' ? 'none' : `\`${fallback}\``} | ${doc} |`
  })
  return [
    '# Configuration',
    '',
    'Generated from `packages/server/src/node/settings.ts`; do not edit.',
    '',
    'A flag wins over the environment, the environment over the configuration file (`--config file.json`, keys as in the',
    'flags, in camelCase). Everything is checked at start and all errors are told at once. `duly config` prints what is in',
    'force, without secrets.',
    '',
    '| variable | flag | default | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n')
}
