export type { ApiKeyRecord, NewApiKey } from './model.js'
export {
  type ConfigSources,
  describeConfig,
  isPostgresUrl,
  isServiceLink,
  type Role,
  resolveConfig,
  type ServerConfig,
} from './node/config.js'
export { isLoopback } from './node/exposure.js'
export { withKeysOf } from './node/local-keys.js'
export { flagOf, renderConfiguration, type SettingName, settings } from './node/settings.js'
export { type NodeOptions, type RunningNode, startNode } from './node/start-node.js'
export { version } from './node/version.js'
export {
  type MigrateOptions,
  MigrationError,
  type MigrationStatus,
  migrate,
  migrationStatus,
  verifyMigrations,
} from './store/migrations.js'
export { renderMetrics } from './telemetry/index.js'
export { createLogger, type Logger } from './telemetry/logger.js'
