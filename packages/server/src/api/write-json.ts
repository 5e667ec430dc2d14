import { formatInstant } from './instant.js'

/**
 * A value of an answer that is JSON already: a payload, a result. It is written as it stands, which is what makes it
 * come back exactly.
 */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export const raw = (text: string | null): RawJson | null => (text === null ? null : new RawJson(text))
export const instant = (ms: number | null): string | null => (ms === null ? null : formatInstant(ms))
export const toSeconds = (ms: number): number => ms / 1_000

export type Writable = string | number | boolean | null | RawJson | readonly Writable[] | WritableObject
export interface WritableObject {
  readonly [key: string]: Writable | undefined
}

/**
 * JSON.stringify for answers, except that raw texts are embedded. Properties that are undefined are left out. Keys are our
 * own field names, which need no escapes.
 */
export function writeJson(value: Writable): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof RawJson) return value.text
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(writeJson).join(',')}]`
  return writeObject(value)
}

function isList(value: object): value is readonly Writable[] {
  return Array.isArray(value)
}

function writeObject(value: WritableObject): string {
  let text = '{'
  for (const key in value) {
    const member = value[key]
    if (member === undefined) continue
    if (text.length > 1) text += ','
    text += `"${key}":${writeJson(member)}`
  }
  return `${text}}`
}
