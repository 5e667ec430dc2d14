import { encodeId } from '../ids.js'
import type { Uuid } from '../uuid.js'
import type { TriggerRule } from '../workflow/index.js'
import type { ErrorFacts } from './facts.js'

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A length of time in its two largest units: `3 h 12 min`, `4 s`, `120 ms`. Never negative. */
export function lengthOf(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1_000) return `${whole} ms`
  const place = units.findIndex(([, size]) => whole >= size)
  const [unit, size] = units[place] ?? units[3]
  const below = units[place + 1]
  const count = Math.floor(whole / size)
  if (below === undefined) return `${count} ${unit}`
  const rest = Math.floor((whole % size) / below[1])
  return rest === 0 ? `${count} ${unit}` : `${count} ${unit} ${rest} ${below[0]}`
}

/** A count with its digits in groups: `14,200`. */
export const count = (n: number): string => String(n).replaceAll(/\B(?=(\d{3})+$)/g, ',')

/** `1 worker`, `2 workers`. */
export const many = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? '' : 's'}`

/** A share, 0 to 1, in whole per cent. */
export const percent = (share: number): string => `${Math.max(share > 0 ? 1 : 0, Math.round(share * 100))} %`

/** A worker by its name, and its id where that is known. */
export function workerText(name: string | null, id: Uuid | null): string {
  const shown = id === null ? null : encodeId('worker', id)
  if (name === null) return shown === null ? 'a worker' : `worker ${shown}`
  return shown === null ? `worker ${name}` : `worker ${name} (${shown})`
}

/** When a task of each rule runs, as the end of a sentence. */
export const ruleText: Readonly<Record<TriggerRule, string>> = {
  all_succeeded: 'once all have succeeded',
  none_failed: 'once all have succeeded or were skipped',
  all_done: 'once all have ended',
  one_succeeded: 'as soon as one has succeeded',
  one_failed: 'as soon as one has failed or was cancelled',
}

const longestError = 200

/** An error on one line, cut. */
export function errorText({ class: name, message }: ErrorFacts): string {
  const line = `${name}: ${message}`.replaceAll(/\s+/g, ' ').trim()
  const characters = [...line]
  return characters.length <= longestError
    ? line
    : `${characters
        .slice(0, longestError - 1)
        .join('')
        .trimEnd()}…`
}
