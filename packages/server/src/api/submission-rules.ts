import { type ErrorCode, type FieldError, limits } from '@duly/domain'
import type { Captures } from './json-captures.js'
import { joinPath } from './json-path.js'

/** A finding with the code it would have alone; absent: `invalid_request`. */
export interface RuleError extends FieldError {
  readonly code?: ErrorCode
}

/** Where a submission stands in its body: the document itself, or one item of a batch. */
export interface SubmissionPlace {
  readonly path: string
  readonly payload: string | undefined
  readonly metadata: string | undefined
}

export const singlePlace = (captures: Captures): SubmissionPlace => ({
  path: '',
  payload: captures.text('payload'),
  metadata: captures.text('metadata'),
})

export const batchPlace = (captures: Captures, item: number): SubmissionPlace => ({
  path: `tasks[${item}]`,
  payload: captures.text('tasks[*].payload', item),
  metadata: captures.text('tasks[*].metadata', item),
})

/** The size of a captured text against its limit, in bytes of UTF-8. */
export function sizeError(path: string, text: string | undefined, maxBytes: number): RuleError[] {
  // A UTF-16 unit takes at most three bytes, so most texts need no count.
  if (text === undefined || text.length * 3 <= maxBytes) return []
  const bytes = Buffer.byteLength(text)
  return bytes <= maxBytes
    ? []
    : [{ path, message: `has ${bytes} bytes; at most ${maxBytes} are taken`, code: 'too_large' }]
}

/** The rules of a submission that no schema can say. They look at what is there, whether the schema liked it or not. */
export function submissionErrors(value: unknown, place: SubmissionPlace, payloadMaxBytes: number): RuleError[] {
  const at = (key: string) => joinPath(place.path, key)
  const errors = [
    ...sizeError(at('payload'), place.payload, payloadMaxBytes),
    ...sizeError(at('metadata'), place.metadata, limits.metadataMaxBytes).map(({ path, message }) => ({
      path,
      message,
    })),
  ]
  const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  const isSet = (key: string) => fields[key] !== undefined && fields[key] !== null
  if (isSet('scheduled_at') && isSet('delay_seconds')) {
    errors.push({ path: at('delay_seconds'), message: 'must not be given together with scheduled_at' })
  }
  return errors
}
