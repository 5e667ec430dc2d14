import { DulyApiError, DulyConnectionError, type FieldError } from '../errors.js'
import { type Answer, TransportError } from '../transport/transport.mjs'

/** The error of an answer that is no 2xx: its problem document, or what can be said without one (a proxy's page). */
export function problemOf(answer: Answer): DulyApiError {
  const problem = parseObject(answer.body)
  const errors = Array.isArray(problem.errors) ? (problem.errors as FieldError[]) : []
  const said = text(problem.detail) ?? text(problem.title) ?? `HTTP ${answer.status}`
  const more = errors.filter((error) => !tells(said, error)).map((error) => `${error.path}: ${error.message}`)
  return new DulyApiError({
    message: [said, ...more].join(' · '),
    status: answer.status,
    code: text(problem.code) ?? `http_${answer.status}`,
    errors,
    requestId: text(problem.request_id),
    // what one node asks for does not bind the next one
    retryAfterMs: answer.isElsewhereNext ? null : retryAfterMs(answer.headers['retry-after']),
  })
}

/** Whether the sentence tells this error already: the server's detail names the first of them, with or without its path. */
function tells(said: string, { path, message }: FieldError): boolean {
  const isAll = said === message || said.replace(/\.$/, '') === message
  return isAll || said.includes(`${path} ${message}`) || said.includes(`${path}: ${message}`)
}

/** An error of the transport in the words of this package; anything else as it is. */
export function connectionErrorOf(error: unknown): unknown {
  if (!(error instanceof TransportError)) return error
  const { code, mayHaveArrived, message, url } = error
  return new DulyConnectionError(code, `${url}: ${message}`, { mayHaveArrived, cause: error })
}

/** `Retry-After` in ms: seconds or an HTTP date (RFC 9110, 10.2.3); null when absent or unreadable. */
export function retryAfterMs(header: string | undefined, now: number = Date.now()): number | null {
  if (header === undefined) return null
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

function parseObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
