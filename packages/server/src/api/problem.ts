import type { ProblemBody } from '@duly/contract'
import { DulyError, type ErrorCode, errorCatalogue, type FieldError } from '@duly/domain'

/** More errors than this are counted, not listed. */
const MAX_LISTED = 100
const MAX_INSTANCE = 300

export interface ProblemPlace {
  /** The url of the request; its query is not repeated, because it may hold what should not be logged or shown. */
  readonly url: string
  readonly requestId: string
}

/** Writes an error as RFC 9457 has it. Nothing of a cause, a stack or a statement gets in: only what the error says. */
export function problemOf(error: DulyError, place: ProblemPlace): ProblemBody {
  const { title, status } = errorCatalogue[error.code]
  return {
    type: `/problems/${error.code}`,
    title,
    status,
    detail: error.message,
    instance: (place.url.split('?', 1)[0] ?? '').slice(0, MAX_INSTANCE),
    code: error.code,
    request_id: place.requestId,
    ...(error.errors === undefined ? {} : { errors: error.errors.slice(0, MAX_LISTED).map((field) => ({ ...field })) }),
  }
}

/**
 * An error that lists invalid places; its detail names the first, so that a log line alone already helps. Messages go on
 * from their path; the empty path is the body.
 */
export function invalid(code: ErrorCode, errors: readonly FieldError[]): DulyError {
  const first = errors[0] ?? { path: '', message: 'is invalid' }
  const subject = `${first.path === '' ? 'The body' : first.path} ${first.message}`
  const more = errors.length > 1 ? `; ${errors.length} errors in all` : ''
  return new DulyError(code, `${subject}${more}`, { errors })
}

/** Seconds for the Retry-After header: whole, at least 1, also when the error names none; null when it has no such header. */
export function retryAfterOf(error: DulyError): number | null {
  if (error.retryAfterSeconds !== undefined) return Math.max(1, Math.ceil(error.retryAfterSeconds))
  return error.status === 503 || error.status === 429 ? 1 : null
}

/** What fastify itself throws, by its stable codes, as errors of the catalogue. */
const frameworkErrors: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large', 'The body is larger than this route takes.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid_request', 'The body is not as long as Content-Length says.'],
  FST_ERR_BAD_URL: ['invalid_request', 'The path holds a bad percent-encoding.'],
}

/** Makes a catalogue error of anything that was thrown; `unexpected` when it is a fault of ours and belongs in the log. */
export function toDulyError(error: unknown): { readonly error: DulyError; readonly unexpected: boolean } {
  if (error instanceof DulyError) return { error, unexpected: error.code === 'internal' }
  const { code, statusCode } = (error ?? {}) as { readonly code?: unknown; readonly statusCode?: unknown }
  const known = typeof code === 'string' ? frameworkErrors[code] : undefined
  if (known) return { error: new DulyError(...known), unexpected: false }
  if (typeof code === 'string' && code.startsWith('FST_') && typeof statusCode === 'number' && statusCode < 500) {
    return { error: new DulyError('invalid_request', 'The request is malformed.'), unexpected: false }
  }
  const internal = new DulyError('internal', 'An internal error occurred; the log of the server has it.', {
    cause: error,
  })
  return { error: internal, unexpected: true }
}
