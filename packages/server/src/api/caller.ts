import { type Caller, DulyError } from '@duly/domain'
import type { FastifyRequest } from 'fastify'
import type { Actor } from '../model.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; null until the key was looked at. */
    caller: Caller | null
  }
}

interface Call {
  readonly caller: Caller
  readonly request: FastifyRequest
}

/** Who calls. A request whose key was not looked at is refused: it is a fault of ours, and must not pass. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new DulyError('internal', 'The caller was not looked at.')
  return request.caller
}

/** Who calls, for the audit trail: the key; where no keys are asked for, the request, which the log knows. */
export const actorOf = ({ caller, request }: Call): Actor => ({ kind: 'api', name: caller.keyId ?? request.id })

/**
 * Refuses a key that is bound to a tenant, for what touches everybody's work: pausing a queue, draining somebody's worker.
 * @throws DulyError `forbidden`
 */
export function requireUnbound(caller: Caller): void {
  if (caller.tenant === null) return
  throw new DulyError('forbidden', 'This touches every tenant; it takes a key that is bound to none.')
}
