import type { LogLine } from '@duly/sdk'
import { visible } from './table.js'

/** Of ANSI, by level; info has none. */
const COLOURS: Readonly<Record<string, number>> = { debug: 2, warn: 33, error: 31 }

/**
 * A log line for a reader: when, by which attempt, level, message. What follows a line break of the message is indented, so that no
 * message passes for a line of its own, and control characters are written out: what a handler logged may come from anywhere.
 */
export function renderLogLine({ at, attempt, level, message }: LogLine, hasColours: boolean): string {
  const label = level.toUpperCase().padEnd(5)
  const colour = hasColours ? COLOURS[level] : undefined
  const shown = colour === undefined ? label : `\u001b[${colour}m${label}\u001b[0m`
  const [first = '', ...rest] = message.split(/\r?\n/).map(visible)
  const more = rest.map((part) => `    ${part}\n`).join('')
  return `${at.toISOString()}  #${attempt}  ${shown}  ${first}\n${more}`
}
