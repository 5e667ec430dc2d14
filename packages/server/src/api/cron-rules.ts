import { checkTimeZone, DulyError, limits, parseSchedule } from '@duly/domain'
import type { Captures } from './json-captures.js'
import { type RuleError, singlePlace, submissionErrors } from './submission-rules.js'

/** What is captured of every body that defines a recurring task. */
export const cronCaptures = [
  { path: 'payload', opaque: true },
  { path: 'metadata', opaque: false },
] as const

export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** The rules of a template that no schema can say. */
export function templateErrors(value: unknown, captures: Captures, payloadMaxBytes: number): readonly RuleError[] {
  return submissionErrors(value, singlePlace(captures), payloadMaxBytes)
}

/** Exactly one way to say when, which can be read; of an edit, none is none. */
export function scheduleErrors(value: unknown, isEdit = false): readonly RuleError[] {
  const { cron_expression: expression, timezone } = fieldsOf(value)
  return [
    ...choiceErrors(value, isEdit),
    ...refusalsOf(expression, (text) => parseSchedule({ kind: 'cron', expression: text, timezone: 'UTC' })),
    ...refusalsOf(timezone, checkTimeZone),
  ]
}

/** What the rules of schedules find in a text; what never fires is readable, and another matter. */
function refusalsOf(text: unknown, read: (text: string) => unknown): readonly RuleError[] {
  if (typeof text !== 'string') return []
  try {
    read(text)
    return []
  } catch (error) {
    if (error instanceof DulyError && error.code === 'invalid_request') return error.errors ?? []
    if (error instanceof DulyError) return []
    throw error
  }
}

function choiceErrors(value: unknown, isEdit: boolean): readonly RuleError[] {
  const { cron_expression: expression, every_seconds: every } = fieldsOf(value)
  if (expression !== undefined && every !== undefined) {
    return [{ path: 'every_seconds', message: 'must not be given together with cron_expression' }]
  }
  if (expression !== undefined || every !== undefined || isEdit) return []
  return [{ path: 'cron_expression', message: 'is required, or every_seconds in its place' }]
}

export function crontabErrors(value: unknown): readonly RuleError[] {
  const { crontab, timezone } = fieldsOf(value)
  return [...refusalsOf(timezone, checkTimeZone), ...(typeof crontab === 'string' ? tooLong(crontab) : [])]
}

function tooLong(crontab: string): readonly RuleError[] {
  const bytes = Buffer.byteLength(crontab)
  if (bytes <= limits.crontabMaxBytes) return []
  const message = `has ${bytes} bytes; at most ${limits.crontabMaxBytes} are taken`
  return [{ path: 'crontab', message, code: 'too_large' }]
}
