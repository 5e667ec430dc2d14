import { DulyError } from '@duly/domain'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { timesGiven } from '../times-given.js'
import { askForBody } from './unread-bodies.js'

const refuse = (detail: string): DulyError => new DulyError('unsupported_media_type', detail)

/** Why the form of a body is refused before it is read; null when it is JSON in plain UTF-8. */
function formError(request: FastifyRequest): DulyError | null {
  if (request.method === 'GET' || request.method === 'HEAD') return null
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return refuse('Compressed bodies are not taken; send the body as it is.')
  }
  if (timesGiven(request.raw, 'content-type') > 1) return refuse('The header Content-Type is given more than once.')
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8' && charset.toLowerCase() !== 'utf8') {
    return refuse('JSON is UTF-8; other charsets are not taken.')
  }
  return null
}

/**
 * Bodies are JSON in UTF-8 and arrive as bytes: the one strict pass over them is the routes' (they know which parts stay
 * text). The limit of the route cuts a longer body off while it arrives, by its length or by counting chunks.
 */
export function registerJsonBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', (request, reply, done) => {
    const error = formError(request)
    if (error !== null) return done(error)
    askForBody(request, reply)
    done()
  })
}
