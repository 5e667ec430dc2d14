import type { FastifyInstance } from 'fastify'
import type { ApiContext } from '../context.js'
import { shuttingDown } from '../wait-room.js'

/**
 * Leaving: everything is served, but no connection is kept alive, so that its client comes back over another node.
 * Closing: waiting calls are answered at once as well, and everything new is refused with 503 `shutting_down` and a
 * Retry-After. Liveness and metrics stay readable to the end.
 */
export function registerLifecycle(app: FastifyInstance, { waits, services }: ApiContext): void {
  app.addHook('preClose', (done) => {
    waits.close()
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (!waits.isClosing) return done()
    reply.header('connection', 'close')
    if (request.url.startsWith('/api/') || request.url.startsWith('/readyz')) return done(shuttingDown())
    done()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (waits.isClosing || services.health.isLeaving()) reply.header('connection', 'close')
    done()
  })
}
