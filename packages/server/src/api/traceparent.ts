import type { FastifyRequest } from 'fastify'

/** W3C Trace Context, version 00; an id of zeros only is invalid by the standard. */
const pattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The header if it is valid; null otherwise, because a bad trace context must never refuse a task. */
function validTraceparent(header: string | undefined): string | null {
  return header !== undefined && pattern.test(header) ? header : null
}

/** The valid trace context that a request came with. */
export function traceparentOf({ headers }: FastifyRequest): string | null {
  return validTraceparent(typeof headers.traceparent === 'string' ? headers.traceparent : undefined)
}

export function traceIdOf(traceparent: string | null): string | null {
  return traceparent === null ? null : (traceparent.split('-')[1] ?? null)
}
