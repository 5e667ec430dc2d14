import type { ApiRoute } from '@duly/contract'
import { type Caller, DulyError, mayUse, openCaller, type Scope } from '@duly/domain'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Gate } from '../../model.js'
import type { ApiContext } from '../context.js'
import { timesGiven } from '../times-given.js'

/** What it takes to use a route. */
interface RouteAccess {
  readonly scope: Scope | null
  /** It answers without the store, so it need not be asked about a key that was good a moment ago. */
  readonly needsNoStore: boolean
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess
  }
}

/** The configuration of a route of the contract. A route without one is closed to all but an unbound admin. */
export const accessTo = ({ scope, tag }: Pick<ApiRoute, 'scope' | 'tag'>): { readonly access: RouteAccess } => ({
  access: { scope, needsNoStore: tag === 'system' },
})

const closed: RouteAccess = { scope: 'admin', needsNoStore: false }

/**
 * Looks at the key of every request before anything of its body is read, and again when the body is there. With no gate the server is open, and everybody is the
 * caller who may do everything.
 */
export function registerAccess(app: FastifyInstance, { gate }: ApiContext): void {
  app.decorateRequest('caller', null)
  app.addHook('onRequest', (request, _reply, done) => {
    // an unknown path is nobody's secret
    if (request.is404) return done()
    const access = request.routeOptions.config.access ?? closed
    const admit = (caller: Caller): void => {
      requireScope(caller, access)
      request.caller = caller
    }
    try {
      const caller = gate === null || access.scope === null ? openCaller : identify(request, gate, access)
      if (caller instanceof Promise) {
        caller.then(admit).then(() => done(), done)
        return
      }
      admit(caller)
    } catch (error) {
      return done(error as Error)
    }
    done()
  })
  if (gate !== null) confirmAfterBody(app, gate)
}

/** A body may take long to arrive, and its key be revoked or expire meanwhile: then nothing is done with it. */
function confirmAfterBody(app: FastifyInstance, gate: Gate): void {
  app.addHook('preHandler', ({ caller, body }, _reply, done) => {
    if (caller === null || body === undefined) return done()
    try {
      const confirmed = gate.confirm(caller)
      if (confirmed instanceof Promise) {
        confirmed.then(() => done(), done)
        return
      }
    } catch (error) {
      return done(error as Error)
    }
    done()
  })
}

function identify(request: FastifyRequest, gate: Gate, { needsNoStore }: RouteAccess): Caller | Promise<Caller> {
  const { authorization } = request.headers
  if (authorization === undefined) {
    throw new DulyError('unauthenticated', 'This takes an API key: send the header "Authorization: Bearer duly_…".')
  }
  if (timesGiven(request.raw, 'authorization') > 1) {
    throw new DulyError('unauthenticated', 'The header Authorization is given more than once; send one API key.')
  }
  const [, secret] = /^bearer +(\S+) *$/i.exec(authorization) ?? []
  if (secret === undefined) {
    throw new DulyError(
      'unauthenticated',
      'The header Authorization must be "Bearer" and an API key, which begins with duly_.',
    )
  }
  return gate.identify(secret, { mayBeStale: needsNoStore })
}

function requireScope(caller: Caller, access: RouteAccess): void {
  const { scope } = access
  if (scope !== null && !mayUse(caller, scope)) {
    const held = [...caller.scopes].join(', ')
    throw new DulyError('forbidden', `This takes a key with the scope ${scope}; this one has ${held}.`)
  }
  if (access === closed && caller.tenant !== null)
    throw new DulyError('forbidden', 'This takes a key that is bound to no tenant.')
}
