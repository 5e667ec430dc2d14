import { type Caller, DulyError } from '@duly/domain'
import type { FastifyRequest } from 'fastify'
import type { Actor } from '../model.js'

interface Call {
  readonly caller: Caller
  readonly request: FastifyRequest
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
