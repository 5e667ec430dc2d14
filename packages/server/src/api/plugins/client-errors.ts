import { randomBytes } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { DulyError, type ErrorCode } from '@duly/domain'
import type { ApiContext } from '../context.js'
import { isEnding, lingerAtEnd } from '../linger.js'
import { problemOf } from '../problem.js'

/** What Node's HTTP server refuses before there is a request, by its codes; all else is malformed HTTP. */
const refusals: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'Address and headers have more than 16 KiB together.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['too_large', 'The extensions of a chunk are too long.'],
}
const malformed: readonly [ErrorCode, string] = ['invalid_request', 'This is not HTTP/1.1 as RFC 9112 has it.']

/**
 * Answers what never became a request with a problem document, and closes the connection: nobody knows where the next
 * request would begin. A connection that broke is let go; clients come and go, so neither is worth more than a debug line.
 */
export function refuseClient(context: ApiContext, error: Error & { readonly code?: string }, socket: Socket): void {
  context.logger.debug({ code: error.code }, 'a connection was refused or broke')
  // more of what was answered already; what still comes is thrown away
  if (isEnding(socket)) return
  const answering = answerOf(socket)
  if (!socket.writable || answering?.headersSent) {
    socket.destroy()
    return
  }
  if (answering?.req.complete) {
    lingerAtEnd(socket, context.config.linger)
    answering.setHeader('connection', 'close')
    return
  }
  const problem = new DulyError(...(refusals[error.code ?? ''] ?? malformed))
  const requestId = `req-${randomBytes(8).toString('hex')}`
  const body = JSON.stringify(problemOf(problem, { url: '', requestId }))
  lingerAtEnd(socket, context.config.linger)
  socket.write(
    [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
      'Content-Type: application/problem+json; charset=utf-8',
      `X-Request-Id: ${requestId}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
  socket.destroySoon()
}

/** The answer whose turn it is on this connection, to a request that came in part or whole. Node's own default looks at the same field. */
const answerOf = (socket: Socket & { readonly _httpMessage?: ServerResponse | null }): ServerResponse | null =>
  socket._httpMessage ?? null
