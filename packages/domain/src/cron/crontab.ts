import { DulyError } from '../errors.js'
import { limits } from '../limits.js'
import { readEntry } from './crontab-entry.js'
import { type Assignment, namesOf, readAssignment } from './crontab-parts.js'
import type { Schedule } from './schedule.js'
import { checkTimeZone, timeZoneFault } from './zone.js'

/** How a crontab is read. */
export interface CrontabOptions {
  /** IANA name; lines `CRON_TZ=` and `TZ=` set it for what follows. */
  readonly timezone: string
  /** Whether it is a system crontab, with the user before the command. */
  readonly hasUser?: boolean
}

/** What a recurring task of this line would be. */
export interface CrontabEntry {
  /** The command as a name, with a suffix that stays when the schedule changes: reading the file again replaces and adds nothing. */
  readonly name: string
  readonly schedule: Extract<Schedule, { readonly kind: 'cron' }>
  readonly payload: CrontabPayload
}

export interface CrontabPayload {
  readonly command: string
  /** What follows the first `%` that is not escaped, with line ends in place of the further ones. */
  readonly stdin?: string
  /** Of a system crontab. */
  readonly user?: string
}

/** One line and what became of it: exactly one of `taken`, `refused` (why) and `ignored` (what it is). */
export type CrontabLine = { readonly line: number; readonly text: string } & (
  | { readonly taken: CrontabEntry }
  | { readonly refused: string }
  | { readonly ignored: string }
)

/**
 * Reads the text of a crontab line by line, as cron daemons do: comments, variables, nicknames, `%`, a user in system crontabs. A line
 * is taken only if it means the same here.
 * @throws DulyError `too_large` beyond 1 MiB or 10,000 lines; `invalid_request` if the time zone of the options is none
 */
export function parseCrontab(text: string, options: CrontabOptions): CrontabLine[] {
  const lines = linesOf(text)
  const reader = new CrontabReader(options)
  return lines.map((line, index) => ({ line: index + 1, text: line, ...reader.read(line, index + 1) }))
}

function linesOf(text: string): string[] {
  if (text.length > limits.crontabMaxBytes || Buffer.byteLength(text) > limits.crontabMaxBytes) {
    throw new DulyError('too_large', `A crontab may have ${limits.crontabMaxBytes} bytes at most.`)
  }
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  if (lines.length > limits.crontabMaxLines) {
    throw new DulyError(
      'too_large',
      `A crontab may have ${limits.crontabMaxLines} lines at most; this one has ${lines.length}.`,
    )
  }
  return lines
}

type Outcome = { readonly taken: CrontabEntry } | { readonly refused: string } | { readonly ignored: string }

/** Goes down the lines; a variable counts for those below it. */
class CrontabReader {
  readonly #options: Required<CrontabOptions>
  readonly #names = namesOf()
  #timezone: string
  /** Why what follows can't be taken: its time zone is not known. */
  #blocked: string | null = null

  constructor(options: CrontabOptions) {
    this.#options = { hasUser: false, ...options }
    checkTimeZone(options.timezone)
    this.#timezone = options.timezone
  }

  read(text: string, line: number): Outcome {
    const trimmed = text.trim()
    if (trimmed === '') return { ignored: 'blank' }
    if (trimmed.startsWith('#')) return { ignored: 'comment' }
    const assignment = readAssignment(trimmed)
    if (assignment !== null) return this.#assign(assignment, line)
    if (this.#blocked !== null) return { refused: this.#blocked }
    const entry = readEntry(trimmed, { timezone: this.#timezone, hasUser: this.#options.hasUser })
    if ('refused' in entry) return entry
    return { taken: { name: this.#names(entry.payload), ...entry } }
  }

  #assign({ name, value }: Assignment, line: number): Outcome {
    if (name !== 'CRON_TZ' && name !== 'TZ') return { ignored: ignoredVariable(name) }
    const timezone = value === '' ? this.#options.timezone : value
    const fault = timeZoneFault(timezone)
    this.#blocked = fault === null ? null : `its time zone is not known: see line ${line}`
    if (fault !== null) return { refused: fault }
    this.#timezone = timezone
    return { ignored: `variable: what follows is in ${timezone}` }
  }
}

function ignoredVariable(name: string): string {
  if (name === 'MAILTO' || name === 'MAILFROM')
    return 'variable: no mail is sent; look for tasks that are FAILED or DEAD'
  if (name === 'RANDOM_DELAY') return 'variable: nothing is delayed at random; jitter_seconds moves each by a constant'
  return `variable: commands see the environment of the worker, not this ${name}`
}
