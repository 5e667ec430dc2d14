import { DulyError, type FieldError } from '../errors.js'
import { limits } from '../limits.js'
import { canEverMatch } from './days.js'
import { type CronFields, mask60 } from './fields.js'
import { readDayOfMonth, readWeekday } from './parse-days.js'
import { FieldFault, type FieldForm, fieldForms, readItem, shown, valuesOf } from './parse-field.js'

/** Nicknames and what they stand for. */
const cronNicknames: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

/** The six fields of an expression as text, seconds first; five fields run at second 0. */
export type FieldTexts = readonly [string, string, string, string, string, string]

/**
 * Reads a cron expression of five or six fields or a nickname.
 * @throws DulyError `invalid_request` that names the field, and shows how to write it; `unprocessable` if no date can match
 */
export function parseCron(expression: string): CronFields {
  const texts = splitExpression(expression)
  const faults: string[] = []
  const fields = readFields(texts, faults)
  if (fields === null) throw refused(faults)
  if (canEverMatch(fields)) return fields
  const message = `"${shown(expression)}" can never fire: no month that it names has such a day`
  throw new DulyError('unprocessable', message, { errors: [errorOf(message)] })
}

/**
 * The fields of an expression, nicknames written out.
 * @throws DulyError `invalid_request`
 */
export function splitExpression(expression: string): FieldTexts {
  if (expression.length > limits.cronExpressionMaxChars) {
    throw refused([
      `the expression has ${expression.length} characters; at most ${limits.cronExpressionMaxChars} are taken`,
    ])
  }
  if (/[^\x20-\x7e\t]/.test(expression)) {
    throw refused([
      'the expression holds a line break or a character outside ASCII; write digits, names and * , - / ? # @',
    ])
  }
  const text = expression.replace(/^[ \t]+|[ \t]+$/g, '')
  const parts = (text.startsWith('@') ? nickname(text) : text).split(/[ \t]+/)
  const [a, b, c, d, e, f, more] = parts
  if (
    a === undefined ||
    b === undefined ||
    c === undefined ||
    d === undefined ||
    e === undefined ||
    more !== undefined
  ) {
    throw refused([fieldCount(text === '' ? 0 : parts.length)])
  }
  return f === undefined ? ['0', a, b, c, d, e] : [a, b, c, d, e, f]
}

function fieldCount(count: number): string {
  const found = count === 0 ? 'the expression is empty' : `the expression has ${count} field${count === 1 ? '' : 's'}`
  return `${found}; write five, "minute hour day-of-month month day-of-week", or six with seconds first`
}

function nickname(text: string): string {
  const known = cronNicknames[text.toLowerCase()]
  if (known !== undefined) return known
  if (/^@every\b/i.test(text)) throw refused(['"@every" is not taken; give every_seconds in place of an expression'])
  if (/^@reboot\b/i.test(text))
    throw refused(['"@reboot" is not taken: there is no one machine whose start would count'])
  throw refused([`"${shown(text)}" is not known; there are ${Object.keys(cronNicknames).join(', ')}`])
}

function readFields(texts: FieldTexts, faults: string[]): CronFields | null {
  const [second, minute, hour, dayOfMonth, month, weekday] = texts
  const seconds = attempt(fieldForms.second, faults, () => values(fieldForms.second, second))
  const minutes = attempt(fieldForms.minute, faults, () => values(fieldForms.minute, minute))
  const hours = attempt(fieldForms.hour, faults, () => values(fieldForms.hour, hour))
  const days = attempt(fieldForms.dayOfMonth, faults, () => ({ rule: readDayOfMonth(dayOfMonth) }))
  const months = attempt(fieldForms.month, faults, () => values(fieldForms.month, month))
  const weekdays = attempt(fieldForms.weekday, faults, () => ({ rule: readWeekday(weekday) }))
  if (!seconds || !minutes || !hours || !days || !months || !weekdays) return null
  return {
    seconds: mask60(seconds),
    minutes: mask60(minutes),
    hours: mask60(hours).low,
    months: mask60(months).low >>> 1,
    days: { dayOfMonth: days.rule, weekday: weekdays.rule },
    fixed: !minute.startsWith('*') && !hour.startsWith('*'),
  }
}

function values(form: FieldForm, text: string): number[] {
  if (text === '?') throw new FieldFault('"?" stands for a day only; write "*"')
  return text.split(',').flatMap((item) => valuesOf(readItem(form, item)))
}

/** All fields are read, so that all that is wrong is told at once. */
function attempt<T>(form: FieldForm, faults: string[], read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof FieldFault)) throw error
    faults.push(`${form.name}: ${error.message}`)
    return null
  }
}

function refused(messages: readonly string[]): DulyError {
  return new DulyError('invalid_request', `The cron expression is not valid: ${messages.join('; ')}`, {
    errors: messages.map(errorOf),
  })
}

function errorOf(message: string): FieldError {
  return { path: 'cron_expression', message }
}
