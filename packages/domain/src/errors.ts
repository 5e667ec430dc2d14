import { markdownTable } from './markdown.js'

/** One entry of the catalogue: the HTTP status, a short title, whether the same request may work later, and its meaning. */
export interface ErrorEntry {
  readonly status: number
  readonly title: string
  readonly retryable: boolean
  readonly doc: string
}

/** Every error a caller can see, by its stable code. A code is never renamed and never changes its meaning. */
export const errorCatalogue = {
  invalid_json: {
    status: 400,
    title: 'Malformed JSON',
    retryable: false,
    doc: 'The body is not JSON, or hides what JSON.parse would swallow: a duplicate key, NUL, a lone surrogate, a number beyond double range, nesting over 100.',
  },
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    retryable: false,
    doc: 'A field is missing, unknown or out of its limits. `errors` lists all of them with their paths.',
  },
  invalid_id: {
    status: 400,
    title: 'Invalid id',
    retryable: false,
    doc: 'An id is not of the form prefix, hyphen, 26 lower-case Crockford base-32 characters, or has the prefix of another kind.',
  },
  batch_spans_shards: {
    status: 400,
    title: 'Batch spans shards',
    retryable: false,
    doc: 'The idempotency keys of one batch belong to different shards, so that it cannot be one transaction. Split the batch.',
  },
  unauthenticated: {
    status: 401,
    title: 'Not authenticated',
    retryable: false,
    doc: 'The API key is missing, unknown, revoked or expired.',
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    retryable: false,
    doc: 'The API key lacks the scope, is bound to another tenant, or is bound where that is not enough.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    retryable: false,
    doc: "There is no such thing, or it is another tenant's: existence is not revealed.",
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    retryable: false,
    doc: 'The path exists, but not with this method.',
  },
  request_timeout: {
    status: 408,
    title: 'Request too slow',
    retryable: true,
    doc: 'The request did not arrive in time: 10 s for its headers, 30 s for the whole. The connection is closed.',
  },
  wrong_state: {
    status: 409,
    title: 'Not possible in this state',
    retryable: false,
    doc: 'The task, or the operation, is in a state from which the transition does not lead; `detail` names the state.',
  },
  session_lost: {
    status: 409,
    title: 'Session lost',
    retryable: false,
    doc: "The worker's session is dead or unknown. It is never revived: abort the handlers and register anew.",
  },
  lease_lost: {
    status: 409,
    title: 'Lease lost',
    retryable: false,
    doc: 'The attempt was taken back and its report is too late. Another attempt or outcome stands.',
  },
  idempotency_conflict: {
    status: 409,
    title: 'Idempotency key reused',
    retryable: false,
    doc: 'The idempotency key belongs to a different request; `detail` names the task that it made.',
  },
  name_taken: {
    status: 409,
    title: 'Name taken',
    retryable: false,
    doc: 'The tenant has a recurring task of that name. PUT by name replaces it.',
  },
  too_large: {
    status: 413,
    title: 'Too large',
    retryable: false,
    doc: 'The body, the payload or the result is over its limit, or the body holds more than 2,000,000 keys and values, or an object outside of payloads and results more than 10,000 keys.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    retryable: false,
    doc: 'The body is not sent as application/json.',
  },
  expectation_failed: {
    status: 417,
    title: 'Expectation failed',
    retryable: false,
    doc: 'The header `Expect` asks for something else than `100-continue`. The connection is closed.',
  },
  unprocessable: {
    status: 422,
    title: 'Cannot be served',
    retryable: false,
    doc: 'The document is valid but asks for what cannot be: an impossible cron date, an end in the past.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many at once',
    retryable: true,
    doc: 'The submission rate of the tenant is exceeded, or as many operations on many tasks run as may at once. Repeat after Retry-After.',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    retryable: false,
    doc: 'The address and the headers of the request are over 16 KiB together. The connection is closed.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    retryable: true,
    doc: 'A fault of the server; `request_id` finds it in the log. A repeated submission needs an idempotency key to be safe.',
  },
  store_unavailable: {
    status: 503,
    title: 'Store unavailable',
    retryable: true,
    doc: 'The store cannot be reached or refuses writes. Nothing was accepted. Repeat after Retry-After.',
  },
  commit_unknown: {
    status: 503,
    title: 'Outcome unknown',
    retryable: true,
    doc: 'The connection broke after COMMIT was sent and the outcome could not be read. Repeat a submission with the same idempotency key; look before you repeat another change.',
  },
  queue_full: {
    status: 503,
    title: 'Queue full',
    retryable: true,
    doc: 'The queue or the tenant is at its hard cap of waiting tasks. Repeat after Retry-After.',
  },
  too_many_streams: {
    status: 503,
    title: 'Too many streams',
    retryable: true,
    doc: 'As many answers that are written as things happen are open at this node as may be. Repeat after Retry-After, or call without a stream.',
  },
  shutting_down: {
    status: 503,
    title: 'Shutting down',
    retryable: true,
    doc: 'This node drains and takes nothing new. Another node, or this one after its restart, will.',
  },
  not_served_here: {
    status: 503,
    title: 'Not served by this node',
    retryable: true,
    doc: 'This node has the role scheduler alone and serves nothing but its health and metrics. Another node, with the role api, will.',
  },
} as const satisfies Record<string, ErrorEntry>

/** The stable code of an error, as it stands in `code` of a problem document. */
export type ErrorCode = keyof typeof errorCatalogue

/** All codes in the order of the catalogue. */
export const errorCodes = Object.keys(errorCatalogue) as readonly ErrorCode[]

/** One invalid place in a request: a path such as `tasks[3].payload` and what is wrong there. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

/** What an error may carry beyond its code and detail. `retryAfterSeconds` becomes the Retry-After header. */
export interface DulyErrorExtra {
  readonly errors?: readonly FieldError[]
  readonly retryAfterSeconds?: number
  readonly cause?: unknown
}

/** An error that the caller is meant to see. Anything else that is thrown is a fault and shows as `internal`. */
export class DulyError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly retryable: boolean
  /** Declared, not defined: an error without them has no such properties. */
  declare readonly errors?: readonly FieldError[]
  declare readonly retryAfterSeconds?: number

  /** @param detail one sentence for a person about this occurrence; never SQL, never a stack. */
  constructor(code: ErrorCode, detail: string, extra: DulyErrorExtra = {}) {
    super(detail, extra.cause === undefined ? undefined : { cause: extra.cause })
    this.name = 'DulyError'
    this.code = code
    this.status = errorCatalogue[code].status
    this.retryable = errorCatalogue[code].retryable
    if (extra.errors !== undefined) this.errors = extra.errors
    if (extra.retryAfterSeconds !== undefined) this.retryAfterSeconds = extra.retryAfterSeconds
  }
}

/** The text of docs/reference/errors.md. A test keeps file and catalogue equal. */
export function renderErrors(): string {
  const rows = errorCodes.map((code) => {
    const { status, title, retryable, doc } = errorCatalogue[code]
    return [`\`${code}\``, String(status), title, retryable ? 'yes' : 'no', doc]
  })
  return [
    '# Errors',
    '',
    'Generated from `packages/domain/src/errors.ts` by `npm run generate`; do not edit.',
    '',
    'Errors are RFC 9457 problem documents. `code` is stable; titles and details may be reworded. "Retry" says whether the same',
    'request may succeed later without being changed.',
    '',
    ...markdownTable(['Code', 'Status', 'Title', 'Retry', 'Meaning'], rows),
    '',
  ].join('\n')
}
