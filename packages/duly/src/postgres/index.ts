export { EmbeddedPostgresError } from './errors.js'
export type { Settings } from './settings.js'
export { type EmbeddedPostgres, type StartPostgresOptions, startPostgres } from './start-postgres.js'
export type { StopMode } from './stop.js'
