import type { Gate, Services } from '../model.js'
import type { Logger } from '../telemetry/logger.js'
import type { Metrics } from '../telemetry/metrics.js'
import type { ResolvedApiConfig } from './config.js'
import type { WaitRoom } from './wait-room.js'

/** What every route gets: the services it may call, and the settings and instruments of this node. */
export interface ApiContext {
  readonly services: Services
  /** Null: the server is open, whoever calls may do everything. */
  readonly gate: Gate | null
  readonly config: ResolvedApiConfig
  readonly logger: Logger
  readonly metrics: Metrics
  readonly waits: WaitRoom
}
