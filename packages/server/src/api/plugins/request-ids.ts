import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

const ACCEPTED = /^[\w.-]{1,128}$/

/**
 * Makes request ids: the caller's `x-request-id` when it is harmless in logs, else a prefix of this process and a counter,
 * which is unique and costs nothing.
 */
export function requestIdMaker(): (request: IncomingMessage) => string {
  const prefix = `req-${randomBytes(6).toString('hex')}`
  let count = 0
  return (request) => {
    const given = request.headers['x-request-id']
    return typeof given === 'string' && ACCEPTED.test(given) ? given : `${prefix}-${(++count).toString(36)}`
  }
}

/** Every answer, good or bad, carries its request id. */
export function registerRequestIds(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
}
