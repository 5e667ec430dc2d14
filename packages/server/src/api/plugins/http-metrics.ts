import type { FastifyInstance } from 'fastify'
import type { ApiContext } from '../context.js'

/** Measures every request under the pattern of its route, so that ids never become labels. */
export function registerHttpMetrics(app: FastifyInstance, { metrics }: ApiContext): void {
  app.addHook('onResponse', (request, reply, done) => {
    metrics.httpRequest({
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1_000,
    })
    done()
  })
}
