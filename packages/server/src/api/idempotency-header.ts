import { limits } from '@duly/domain'
import type { FastifyRequest } from 'fastify'
import type { RuleError } from './submission-rules.js'
import { timesGiven } from './times-given.js'

/** A header has no charset of its own, so other characters than these belong in the field. */
const PRINTABLE = /^[\x20-\x7e]+$/

/** The key given as a header, if any. */
export function idempotencyHeader(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key']
  return typeof header === 'string' ? header : undefined
}

/** The header is the same as the field: valid on its own, given once, and equal to the field if both are there. */
export function headerKeyErrors(request: FastifyRequest, body: unknown): RuleError[] {
  const header = idempotencyHeader(request)
  if (header === undefined) return []
  const wrong = (message: string): RuleError[] => [{ path: 'Idempotency-Key', message }]
  if (timesGiven(request.raw, 'idempotency-key') > 1) return wrong('is given more than once')
  if (header.length > limits.idempotencyKeyMaxChars) {
    return wrong(`must have at most ${limits.idempotencyKeyMaxChars} characters`)
  }
  if (!PRINTABLE.test(header)) return wrong('must be printable ASCII; other keys belong in the field idempotency_key')
  const field =
    typeof body === 'object' && body !== null ? (body as Record<string, unknown>).idempotency_key : undefined
  return field === undefined || field === header ? [] : wrong('differs from the field idempotency_key')
}
