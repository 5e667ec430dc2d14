import { type ApiRoute, apiRoutes, routeList } from '@duly/contract'
import { DulyError } from '@duly/domain'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ApiContext } from '../context.js'
import { problemOf, retryAfterOf, toDulyError } from '../problem.js'

/** Answers with a problem document. Faults of ours are logged with their request id and show nothing of their inside. */
export function sendProblem(context: ApiContext, thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { error, unexpected } = hasLeft(request) ? clientLeft : toDulyError(thrown)
  if (error === clientLeft.error) {
    context.logger.debug({ request_id: request.id, method: request.method }, error.message)
  } else if (unexpected) {
    context.logger.error(
      { err: error.cause ?? error, request_id: request.id, method: request.method },
      'request failed',
    )
  }
  const retryAfter = retryAfterOf(error)
  if (retryAfter !== null) reply.header('retry-after', String(retryAfter))
  if (error.status === 401) reply.header('www-authenticate', challengeOf(request))
  reply
    .code(error.status)
    // Hooks don't run for what the framework refuses before there is a route.
    .header('x-request-id', request.id)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(JSON.stringify(problemOf(error, { url: request.url, requestId: request.id })))
}

const clientLeft = {
  error: new DulyError('invalid_request', 'The client went away before its request had arrived.'),
  unexpected: false,
}

/** The connection broke while the request was still arriving: nobody reads the answer, and nothing of ours is wrong. */
function hasLeft({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete
}

/** As RFC 6750 has it: an error is named only to those who showed something. */
const challengeOf = ({ headers }: FastifyRequest): string =>
  headers.authorization === undefined ? 'Bearer realm="duly"' : 'Bearer realm="duly", error="invalid_token"'

const patterns = routeList.map((route: ApiRoute) => ({
  method: route.method,
  path: new RegExp(`^${route.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))

function methodsOf(url: string): string[] {
  const path = url.split('?', 1)[0] ?? ''
  return patterns.filter((pattern) => pattern.path.test(path)).map((pattern) => pattern.method)
}

/** RFC 9457 for everything: thrown errors, unknown paths (404) and known paths with another method (405). */
export function registerProblems(app: FastifyInstance, context: ApiContext): void {
  app.setErrorHandler((error, request, reply) => sendProblem(context, error, request, reply))
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsOf(request.url)
    if (methods.length === 0) {
      const detail = `There is no such path; ${apiRoutes.openapi.path} lists those there are.`
      return sendProblem(context, new DulyError('not_found', detail), request, reply)
    }
    reply.header('allow', methods.join(', '))
    const detail = `This path takes ${methods.join(' and ')}, not ${request.method}.`
    return sendProblem(context, new DulyError('method_not_allowed', detail), request, reply)
  })
}
