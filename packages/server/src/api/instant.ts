import { limits } from '@duly/domain'

/** RFC 3339 `date-time`: the offset is required, `T` and `Z` may be lower-case, a second of 60 is not taken. */
const pattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/**
 * Reads an instant strictly: real calendar dates only (31 February is refused, not rolled over), 1970 to 9999 in UTC.
 * Digits beyond the millisecond are dropped.
 * @returns epoch ms, or null when the text is no such instant
 */
export function parseInstant(text: string): number | null {
  const match = pattern.exec(text)
  if (match === null) return null
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number)
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null
  const fraction = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'))
  const offset = (match[8] === '-' ? -1 : 1) * (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0))
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  date.setUTCHours(hour, minute - offset, second, fraction)
  const ms = date.getTime()
  return ms >= limits.instantMinMs && ms <= limits.instantMaxMs ? ms : null
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/**
 * An instant as the API answers it: UTC with milliseconds. What no request can set and a hand in the store can, such as `infinity`, is
 * shown as the nearest that there is: one such row must not fail a page of others.
 */
export function formatInstant(ms: number): string {
  return new Date(Math.min(Math.max(ms, limits.instantMinMs), limits.instantMaxMs)).toISOString()
}
