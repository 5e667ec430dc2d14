import type { ApiAnswer } from './http.js'
import { keepRaw, rawJson } from './raw-json.js'
import { fromWire } from './wire.js'

/** An answer as a record in the client's words, which remembers its very text. */
export function toRecord<T>(answer: ApiAnswer<unknown>): T {
  return keepRaw(fromWire(answer.body) as T, () => rawJson(answer.text))
}

/** The path of one task, or of a call on it. */
export function taskPath(id: string, call?: string): string {
  return `/tasks/${encodeURIComponent(id)}${call === undefined ? '' : `/${call}`}`
}
