import Fastify, { type FastifyInstance } from 'fastify'
import type { Gate, Services } from '../model.js'
import type { Logger } from '../telemetry/logger.js'
import type { Metrics } from '../telemetry/metrics.js'
import { type ApiConfig, resolveApiConfig } from './config.js'
import type { ApiContext } from './context.js'
import { registerAccess } from './plugins/access.js'
import { refuseClient } from './plugins/client-errors.js'
import { registerHttpMetrics } from './plugins/http-metrics.js'
import { registerJsonBody } from './plugins/json-body.js'
import { registerLifecycle } from './plugins/lifecycle.js'
import { registerProblems, sendProblem } from './plugins/problems.js'
import { registerRequestHeads } from './plugins/request-heads.js'
import { registerRequestIds, requestIdMaker } from './plugins/request-ids.js'
import { registerRoles } from './plugins/roles.js'
import { endIfUnread, registerUnreadBodies } from './plugins/unread-bodies.js'
import { parseQuery } from './query-text.js'
import { registerApiPage } from './routes/api-page.js'
import { registerBulk } from './routes/bulk.js'
import { registerCluster } from './routes/cluster.js'
import { registerCronTasks } from './routes/cron-tasks.js'
import { registerDeadLetters } from './routes/dead-letters.js'
import { registerExplain } from './routes/explain.js'
import { registerFleet } from './routes/fleet.js'
import { registerKeys } from './routes/keys.js'
import { registerQueues } from './routes/queues.js'
import { registerStats } from './routes/stats.js'
import { registerSystem } from './routes/system.js'
import { registerTaskLists } from './routes/task-lists.js'
import { registerTaskLogs } from './routes/task-logs.js'
import { registerTasks } from './routes/tasks.js'
import { registerWorkers } from './routes/workers.js'
import { registerWorkflows } from './routes/workflows.js'
import { WaitRoom } from './wait-room.js'

export interface ApiParts {
  readonly services: Services
  /** Asks for API keys; null: the server is open. */
  readonly gate: Gate | null
  readonly config?: ApiConfig
  readonly logger: Logger
  readonly metrics: Metrics
}

/** Every route of the API. */
const routes = [
  registerTasks,
  registerTaskLists,
  registerDeadLetters,
  registerBulk,
  registerExplain,
  registerTaskLogs,
  registerWorkflows,
  registerCronTasks,
  registerQueues,
  registerFleet,
  registerWorkers,
  registerKeys,
  registerStats,
  registerCluster,
  registerSystem,
  registerApiPage,
]

/** Builds the HTTP server of a node. `listen({ host, port })` gives its url; `close()` drains it. */
export function buildApi({ services, gate, config = {}, logger, metrics }: ApiParts): FastifyInstance {
  const resolved = resolveApiConfig(config)
  const context: ApiContext = { services, gate, config: resolved, logger, metrics, waits: new WaitRoom(gate) }
  const app = makeServer(context)
  registerUnreadBodies(app, context)
  registerProblems(app, context)
  registerRequestIds(app)
  registerRequestHeads(app)
  registerLifecycle(app, context)
  registerRoles(app, context)
  registerAccess(app, context)
  registerJsonBody(app)
  registerHttpMetrics(app, context)
  for (const register of routes) register(app, context)
  return app
}

/** The bounds of a connection, and answers to what is no request. */
function makeServer(context: ApiContext): FastifyInstance {
  const { config } = context
  const app = Fastify({
    logger: false,
    genReqId: requestIdMaker(),
    bodyLimit: config.singleBodyMaxBytes,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: config.requestTimeoutMs,
    keepAliveTimeout: 75_000,
    // No limit on silence: a long poll is silent. Slow senders are ended by the two limits on receiving a request.
    connectionTimeout: 0,
    http: {
      headersTimeout: config.headersTimeoutMs,
      connectionsCheckingInterval: config.connectionsCheckMs,
      // asked for by us, with a better answer
      requireHostHeader: false,
    },
    // a name of 128 characters, each of them URL-encoded
    routerOptions: { maxParamLength: 400, querystringParser: parseQuery },
    clientErrorHandler: (error, socket) => refuseClient(context, error, socket),
    frameworkErrors: (error, request, reply) => {
      endIfUnread(context, request, reply)
      sendProblem(context, error, request, reply)
    },
  })
  app.server.maxConnections = config.maxConnections
  return app
}
