import { DulyError } from '../errors.js'
import { compileCron } from './compile-cron.js'
import type { CrontabEntry, CrontabPayload } from './crontab.js'

export interface EntryOptions {
  readonly timezone: string
  readonly hasUser: boolean
}

/** Schedule and payload of a line that is neither comment nor variable, or why it is not taken. */
export function readEntry(
  line: string,
  { timezone, hasUser }: EntryOptions,
): Pick<CrontabEntry, 'schedule' | 'payload'> | { readonly refused: string } {
  const [fields, rest] = splitFields(line)
  if (fields.startsWith('@') === false && fields.split(' ').length < 5)
    return { refused: 'it has fewer than five fields' }
  const [user, text] = hasUser ? splitWord(rest) : [undefined, rest]
  const payload = payloadOf(text)
  if (payload.command === '') return { refused: hasUser ? 'it has no user or no command' : 'it has no command' }
  const fault = scheduleFault(fields, timezone)
  if (fault !== null) return { refused: fault }
  return {
    schedule: { kind: 'cron', expression: fields, timezone },
    payload: user === undefined ? payload : { ...payload, user },
  }
}

/** The nickname or the five fields with single blanks, and what follows. */
function splitFields(line: string): readonly [fields: string, rest: string] {
  const fields: string[] = []
  let rest = line
  const count = line.startsWith('@') ? 1 : 5
  while (fields.length < count && rest !== '') {
    const [word, after] = splitWord(rest)
    fields.push(word)
    rest = after
  }
  return [fields.join(' '), rest]
}

function splitWord(text: string): readonly [word: string, rest: string] {
  const end = text.search(/[ \t]/)
  return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end).replace(/^[ \t]+/, '')]
}

const bothRefused = [
  'day of month and day of week are both restricted and one begins with "*": cron daemons run it when both match,',
  'and here either would do; write the days as a list if that is meant',
].join(' ')

const randomRefused =
  'random times ("~") are not taken; write a time, and jitter_seconds moves it by a constant of its own'

function scheduleFault(expression: string, timezone: string): string | null {
  if (expression.includes('~')) return randomRefused
  const [, , dayOfMonth = '', , weekday = ''] = expression.split(' ')
  const meansBoth = isStarStep(dayOfMonth) ? weekday !== '*' : isStarStep(weekday) && dayOfMonth !== '*'
  if (meansBoth) return bothRefused
  try {
    compileCron(expression, timezone)
    return null
  } catch (error) {
    if (error instanceof DulyError) return error.message
    throw error
  }
}

function isStarStep(field: string): boolean {
  return field.startsWith('*') && field !== '*'
}

/** `%` ends the command and, further on, lines of its input; `\%` is a percent sign. */
function payloadOf(text: string): CrontabPayload {
  const [command = '', ...input] = text.split(/(?<!\\)%/).map((part) => part.replaceAll('\\%', '%'))
  if (input.length === 0) return { command: command.trim() }
  return { command: command.trim(), stdin: `${input.join('\n')}\n` }
}
