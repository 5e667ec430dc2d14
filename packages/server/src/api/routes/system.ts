import { apiRoutes, openApiDocument } from '@duly/contract'
import { DulyError } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import { callerOf, requireUnbound } from '../caller.js'
import type { ApiContext } from '../context.js'
import { accessTo } from '../plugins/access.js'
import { shuttingDown } from '../wait-room.js'

/** Probes and scrapers may add query parameters of their own, so these routes take anything. */
export function registerSystem(app: FastifyInstance, { services, config, metrics, waits }: ApiContext): void {
  const document = JSON.stringify(openApiDocument(config.version))
  const { healthz, readyz, metrics: figures, openapi, docs } = apiRoutes
  const links = {
    docs: docs.path,
    openapi: openapi.path,
    healthz: healthz.path,
    readyz: readyz.path,
    metrics: figures.path,
  }
  const about = { name: 'duly', version: config.version, links }
  app.get(apiRoutes.about.path, { config: accessTo(apiRoutes.about) }, async () => about)
  app.get(apiRoutes.healthz.path, { config: accessTo(apiRoutes.healthz) }, async () => ({ status: 'ok' }))
  app.get(apiRoutes.readyz.path, { config: accessTo(apiRoutes.readyz) }, async () => {
    if (waits.isClosing || services.health.isLeaving()) throw shuttingDown()
    const reason = await services.health.notReady()
    if (reason !== null) throw new DulyError('store_unavailable', reason, { retryAfterSeconds: 1 })
    return { status: 'ready' }
  })
  app.get(apiRoutes.metrics.path, { config: accessTo(apiRoutes.metrics) }, async (request, reply) => {
    requireUnbound(callerOf(request))
    return reply.header('content-type', metrics.contentType).send(await metrics.render())
  })
  app.get(apiRoutes.openapi.path, { config: accessTo(apiRoutes.openapi) }, async (_request, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(document),
  )
}
