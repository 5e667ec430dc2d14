import type { IncomingMessage } from 'node:http'
import { DulyError } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import { timesGiven } from '../times-given.js'
import { markAsking } from './unread-bodies.js'

/** Requests that expect what this server does not do. */
const unmet = new WeakSet<IncomingMessage>()

/**
 * What Node's HTTP server would refuse by itself, with an answer that says nothing, comes this far and gets a problem document: a
 * request without a host (RFC 9112, section 3.2), or with two, and one that expects more than to be asked for its body (RFC 9110,
 * section 10.1.1).
 */
export function registerRequestHeads(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => {
    unmet.add(request)
    markAsking(request)
    app.server.emit('request', request, response)
  })
  app.addHook('onRequest', ({ raw }, _reply, done) => done(refusalOf(raw)))
}

function refusalOf(request: IncomingMessage): DulyError | undefined {
  if (unmet.has(request)) {
    return new DulyError('expectation_failed', 'The header Expect can be 100-continue; nothing else is met.')
  }
  const hosts = timesGiven(request, 'host')
  if (hosts === 1 || (hosts === 0 && request.httpVersion === '1.0')) return undefined
  return invalidHead({ path: 'Host', message: hosts === 0 ? 'is required' : 'is given more than once' })
}

const invalidHead = (error: { readonly path: string; readonly message: string }): DulyError =>
  new DulyError('invalid_request', `The header ${error.path} ${error.message}.`, { errors: [error] })
