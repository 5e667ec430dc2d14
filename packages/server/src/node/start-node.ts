import { type Clock, systemClock } from '@duly/domain'
import { createLogger, type Logger } from '../telemetry/logger.js'
import { assemble, type NodeParts } from './assemble.js'
import type { ServerConfig } from './config.js'
import { NO_KEYS, OPEN_WARNING } from './exposure.js'
import { joinDeployment } from './join.js'
import { beUnready, stopNode } from './stop-node.js'
import { version } from './version.js'

export interface NodeOptions {
  readonly logger?: Logger
  /** Ends the wait for a database that cannot be reached: the start rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Whoever started it knows that it is open, so that it need not be logged. */
  readonly isOpenKnown?: boolean
  /** The machine's unless given. */
  readonly clock?: Clock
}

/** A running node. */
export interface RunningNode {
  readonly url: string
  /**
   * Ends it: for `drainDelayMs` it serves as before while `/readyz` says no, then it takes nothing new, answers what is under
   * way and leaves the deployment. Idempotent.
   */
  stop(): Promise<void>
  /** Ends that wait of a stop under way; false when there is none to end. */
  readonly hasten: () => boolean
}

/**
 * The composition root: reads the configuration and makes the concrete things. Migrates the database, joins the deployment,
 * listens. Rejects with a `DulyError` that says what to do when the configuration or the database does not allow it.
 */
export async function startNode(config: ServerConfig, options: NodeOptions = {}): Promise<RunningNode> {
  const { clock = systemClock, logger: log = createLogger({ level: config.logLevel }) } = options
  if (config.open && !options.isOpenKnown) log.warn({ host: config.host }, OPEN_WARNING)
  const membership = await joinDeployment(config, { clock, log, version, signal: options.signal })
  const parts = assemble(config, membership, log, clock)
  try {
    parts.duties.start()
    parts.signals.start()
    const url = await parts.api.listen({ host: config.host, port: config.port })
    log.info({ url, node: membership.number, roles: config.roles }, 'node started')
    if (!config.open) await askForKeys(parts, log)
    return running(url, parts, { config, clock })
  } catch (error) {
    await stopNode(parts, { clock, drainMs: 0 })
    throw error
  }
}

/** Nobody can do anything without a key, and only whoever has the database can make the first one. */
async function askForKeys({ stores }: NodeParts, log: Logger): Promise<void> {
  const hasKeys = await stores.keys.any().catch(() => true)
  if (!hasKeys) log.warn(NO_KEYS)
}

function running(
  url: string,
  parts: NodeParts,
  { config, clock }: { readonly config: ServerConfig; readonly clock: Clock },
): RunningNode {
  const { roles, drainDelayMs, drainMs } = config
  const delayMs = roles.includes('api') ? drainDelayMs : 0
  const hurry = new AbortController()
  let isDelaying = false
  let stopping: Promise<void> | null = null
  const stop = async (): Promise<void> => {
    isDelaying = delayMs > 0
    await beUnready(parts, { clock, delayMs, hurry: hurry.signal })
    isDelaying = false
    await stopNode(parts, { clock, drainMs })
  }
  return {
    url,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    hasten: () => {
      hurry.abort()
      return isDelaying
    },
  }
}
