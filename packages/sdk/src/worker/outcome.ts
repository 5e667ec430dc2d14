/** How an attempt ended, as a value. */
export type Outcome =
  /** `result` is JSON text. */
  | { readonly kind: 'succeeded'; readonly result: string }
  | {
      readonly kind: 'failed'
      readonly error: ReportedError
      readonly isRetryable: boolean
      readonly retryAfterMs: number | null
      readonly isTimedOut: boolean
    }
  | { readonly kind: 'snoozed'; readonly delayMs: number }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'released' }

export interface ReportedError {
  readonly class: string
  readonly message: string
  readonly stack: string | null
}

export const CANCELLED: Outcome = Object.freeze({ kind: 'cancelled' })
export const RELEASED: Outcome = Object.freeze({ kind: 'released' })

/** A failure that no retry mends. */
export function permanentFailure(error: unknown): Outcome {
  return { kind: 'failed', error: reportedError(error), isRetryable: false, retryAfterMs: null, isTimedOut: false }
}

/** The limits that the server cuts error texts to as well (class 200, message 8 KiB, stack 32 KiB), in UTF-16 units. */
const LIMITS = { class: 200, message: 8_192, stack: 32_768 } as const

/** An error in the words of a report; whatever was thrown, this does not throw: also an error whose `message` is a getter that does. */
export function reportedError(error: unknown): ReportedError {
  if (!isError(error)) return { class: 'Error', message: clean(describe(error), LIMITS.message), stack: null }
  const stack = textOf(() => error.stack)
  return {
    class: clean(textOf(() => error.name) ?? '', LIMITS.class) || 'Error',
    message: clean(textOf(() => error.message) ?? 'a message that cannot be read', LIMITS.message),
    stack: stack === null ? null : clean(stack, LIMITS.stack),
  }
}

/** A proxy may throw where its prototype is asked for. */
function isError(value: unknown): value is Error {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

/** Null: there is none, or reading it threw. */
function textOf(read: () => unknown): string | null {
  try {
    const value = read()
    return value === undefined ? null : String(value)
  } catch {
    return null
  }
}

const describe = (value: unknown): string =>
  textOf(() => (typeof value === 'object' ? JSON.stringify(value) : String(value))) ?? 'a value that cannot be shown'

/** Halves of surrogate pairs: no UTF-8 can carry them. */
const UNSTORABLE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** Cut, and without what no store takes: NUL and lone surrogates (also the half that the cut left). */
function clean(text: string, limit: number): string {
  return text.slice(0, limit).replaceAll('\0', '').replace(UNSTORABLE, '\ufffd')
}
