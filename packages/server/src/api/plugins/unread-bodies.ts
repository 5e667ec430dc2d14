import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ApiContext } from '../context.js'
import { isEnding, lingerAtEnd } from '../linger.js'

/** Requests whose client waits to hear that its body is wanted (`Expect: 100-continue`). */
const asking = new WeakSet<IncomingMessage>()

/**
 * What is answered before its body was read. Of a small body the rest is read and dropped, and the connection goes on; one
 * that is over the limit, or of which nobody knows how long it is, ends the connection, slowly enough that the client reads why.
 * Requests that came behind it on the same connection are not served: their answers could not be sent.
 */
export function registerUnreadBodies(app: FastifyInstance, context: ApiContext): void {
  app.server.on('checkContinue', (request, response) => {
    asking.add(request)
    app.server.emit('request', request, response)
  })
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (!isEnding(raw.socket)) return done()
    raw.resume()
    reply.hijack()
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    endIfUnread(context, request, reply)
    done()
  })
}

/** This client waits before it sends its body, or sends none: who knows. */
export function markAsking(request: IncomingMessage): void {
  asking.add(request)
}

/** Tells a client that asked first to send its body; to be called once the head of the request is found good. One that says it is too long gets its refusal instead. */
export function askForBody({ raw, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const length = lengthOf(raw) ?? 0
  if (length <= routeOptions.bodyLimit && asking.delete(raw)) reply.raw.writeContinue()
}

/** Ends the connection with this answer if too much of the request, or who knows how much, is still to come. */
export function endIfUnread({ config }: ApiContext, { raw, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete !== false) return
  const length = lengthOf(raw)
  if (length !== null && length <= routeOptions.bodyLimit && !asking.has(raw)) return
  reply.header('connection', 'close')
  lingerAtEnd(raw.socket, config.linger)
}

/** Bytes of the body as its head has them; null: it comes in chunks. */
function lengthOf({ headers }: IncomingMessage): number | null {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null
}
