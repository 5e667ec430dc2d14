import { partitionOfKey } from '../ids.js'
import type { CrontabPayload } from './crontab.js'

/** A line `NAME=value`; quotes around either are taken off, as cron daemons do. */
export interface Assignment {
  readonly name: string
  readonly value: string
}

/** Reads a line without blanks around it as an assignment; null if it is none: no schedule begins with a name and `=`. */
export function readAssignment(line: string): Assignment | null {
  const match = /^("[^"]*"|'[^']*'|[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)$/.exec(line)
  if (match === null) return null
  return { name: unquoted(match[1] ?? ''), value: unquoted(match[2] ?? '') }
}

function unquoted(text: string): string {
  const quote = text.charAt(0)
  const isQuoted = text.length > 1 && (quote === '"' || quote === "'") && text.endsWith(quote)
  return isQuoted ? text.slice(1, -1) : text
}

const slugMaxChars = 60

/**
 * Gives names to commands: its characters that a name may have, and a hash of all of it. A command that comes again counts up, so that
 * names stay when lines with other commands come and go.
 */
export function namesOf(): (payload: CrontabPayload) => string {
  const given = new Map<string, number>()
  return (payload) => {
    const identity = JSON.stringify([payload.command, payload.stdin ?? null])
    const hash = partitionOfKey(payload.user ?? '', identity, 2 ** 32)
    const name = `${slugOf(payload.command)}-${hash.toString(36)}`
    const count = (given.get(name) ?? 0) + 1
    given.set(name, count)
    return count === 1 ? name : `${name}-${count}`
  }
}

function slugOf(command: string): string {
  const slug = command
    .slice(0, 4 * slugMaxChars)
    .replace(/[^A-Za-z0-9._]+/g, '-')
    .slice(0, slugMaxChars)
  return slug.replace(/^[-.]+|[-.]+$/g, '') || 'command'
}
