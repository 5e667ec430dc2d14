import { apiRoutes } from '@duly/contract'
import { DulyError } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import type { ApiContext } from '../context.js'

const probes: ReadonlySet<string | undefined> = new Set([
  apiRoutes.healthz.path,
  apiRoutes.readyz.path,
  apiRoutes.metrics.path,
])

/**
 * A node without the role `api` answers probes and scrapers alone. All else is 503 and not 404: whoever calls has the address of a
 * wrong node, and a 404 would tell it that its task is not there.
 */
export function registerRoles(app: FastifyInstance, { config }: ApiContext): void {
  if (config.servesCalls) return
  const served = [...probes].join(', ')
  app.addHook('onRequest', ({ is404, routeOptions }, _reply, done) => {
    if (is404 || probes.has(routeOptions.url)) return done()
    done(
      new DulyError('not_served_here', `This node has not the role api and serves ${served} alone; call another node.`),
    )
  })
}
