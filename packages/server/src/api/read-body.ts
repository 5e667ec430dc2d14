import { isUtf8 } from 'node:buffer'
import type { FieldError } from '@duly/domain'
import type { Captures } from './json-captures.js'
import { type JsonScan, type ScanIssue, type ScanPlan, scanInTurns, scanJson } from './json-scan.js'
import { STRETCH_CHARS } from './stretch.js'

/** A body that was read: the parsed skeleton, the texts kept as they came, and what is wrong with the text itself. */
export interface ReadBody {
  readonly text: string
  readonly value: unknown
  readonly captures: Captures
  /** Length of what was parsed, in UTF-16 units. */
  readonly skeletonChars: number
  readonly errors: readonly TextError[]
}

/** A finding with the code it has alone. */
export interface TextError extends FieldError {
  readonly code: 'invalid_json' | 'invalid_request' | 'too_large'
}

export type BodyReading =
  | { readonly ok: true; readonly body: ReadBody }
  /** Not JSON at all, or not UTF-8: there is nothing more to look at. */
  | { readonly ok: false; readonly errors: readonly TextError[] }

const positioned = ({ path, message, position, limit }: ScanIssue): TextError => ({
  path,
  message: `${message} (at character ${position})`,
  code: limit ?? 'invalid_json',
})

/**
 * Reads the bytes of a body in one strict pass. Opaque values (payloads, results) are not parsed: they stay the text
 * that the client wrote, so big integers, -0, 1e21 and the order of keys come back byte for byte.
 */
export function readBody(bytes: Buffer, plan: ScanPlan): BodyReading {
  const text = textOf(bytes)
  return typeof text === 'string' ? readingOf(text, scanJson(text, plan)) : text
}

/** The same; a body that takes longer than others should wait is read in turns with them. */
export async function readLargeBody(bytes: Buffer, plan: ScanPlan): Promise<BodyReading> {
  const text = textOf(bytes)
  return typeof text === 'string' ? readingOf(text, await scanInTurns(text, plan, STRETCH_CHARS)) : text
}

function textOf(bytes: Buffer): string | BodyReading {
  if (bytes.length === 0) return unreadable('is empty')
  return isUtf8(bytes) ? bytes.toString('utf8') : unreadable('is not valid UTF-8')
}

function readingOf(text: string, { captures, issues, fatal }: JsonScan): BodyReading {
  if (fatal !== null) return { ok: false, errors: [...issues, fatal].map(positioned) }
  const skeleton = captures.skeleton()
  const value: unknown = JSON.parse(skeleton)
  const errors = issues.map(positioned)
  return { ok: true, body: { text, value, captures, skeletonChars: skeleton.length, errors } }
}

function unreadable(message: string): BodyReading {
  return { ok: false, errors: [{ path: '', message, code: 'invalid_json' }] }
}
