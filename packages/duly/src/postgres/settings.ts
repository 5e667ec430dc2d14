import { EmbeddedPostgresError } from './errors.js'

/** Server settings by name, as `postgres -c name=value` takes them. */
export type Settings = Readonly<Record<string, string | number>>

/**
 * Settings for one server that shares a small machine with everything else. There is no lz4 in these binaries, and pglz
 * costs 1.42 times the insert CPU, so WAL is left uncompressed. TCP on loopback only: a socket path can be too long.
 */
const DEFAULTS: Settings = {
  max_connections: 100,
  // a statement that is planned anew locks every partition and its indexes
  max_locks_per_transaction: 256,
  shared_buffers: '128MB',
  wal_compression: 'off',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  jit: 'off',
  log_timezone: 'UTC',
  timezone: 'UTC',
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'top',
}

/** I1 rests on these: no caller may relax them, and none may move the server off loopback. */
const FIXED: Settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  logging_collector: 'off',
}

/**
 * The settings the server starts with: defaults, then the caller's, then what is fixed.
 * @throws EmbeddedPostgresError if the caller tries to change a fixed one
 */
export function resolveSettings(chosen: Settings = {}): Settings {
  for (const [name, value] of Object.entries(chosen)) {
    const fixed = FIXED[name.toLowerCase()]
    if (fixed !== undefined && String(value) !== fixed) {
      throw new EmbeddedPostgresError(
        `The embedded PostgreSQL's ${name} is always ${fixed || 'empty'}: it can't be set to ${value}.`,
      )
    }
  }
  return { ...DEFAULTS, ...chosen, ...FIXED }
}

/** Settings as arguments of `postgres`. */
export function settingArguments(settings: Settings): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
