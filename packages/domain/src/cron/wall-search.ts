import { civilFromDays, dayMs, daysFromCivil } from './calendar.js'
import { matchingDays } from './days.js'
import { type CronFields, nextBit, nextIn60, previousBit, previousIn60 } from './fields.js'

/**
 * After 400 years the Gregorian calendar repeats itself to the weekday: what has not matched in so many months never does. Real
 * expressions need 480 (a fifth Monday of February, around 2100).
 */
const searchMaxMonths = 400 * 12

/**
 * The first reading of a wall clock at or after `wallMs` that the fields match. Readings are counted in ms as if they were UTC; this
 * knows the calendar and no time zone.
 * @param wallMs a whole second
 * @returns null if there is none
 */
export function nextReading(fields: CronFields, wallMs: number): number | null {
  const days = Math.floor(wallMs / dayMs)
  let { year, month, day } = civilFromDays(days)
  let mask = daysOf(fields, year, month)
  if ((mask >>> (day - 1)) & 1) {
    const time = nextTime(fields, (wallMs - days * dayMs) / 1_000)
    if (time >= 0) return days * dayMs + time * 1_000
  }
  for (let months = 0; months <= searchMaxMonths; months++) {
    const found = nextBit(mask, day)
    if (found >= 0) return daysFromCivil(year, month, found + 1) * dayMs + nextTime(fields, 0) * 1_000
    month = month === 12 ? 1 : month + 1
    if (month === 1) year++
    mask = daysOf(fields, year, month)
    day = 0
  }
  return null
}

/** The last reading at or before `wallMs` (a whole second) that the fields match; null if there is none. */
export function previousReading(fields: CronFields, wallMs: number): number | null {
  const days = Math.floor(wallMs / dayMs)
  let { year, month, day } = civilFromDays(days)
  let mask = daysOf(fields, year, month)
  if ((mask >>> (day - 1)) & 1) {
    const time = previousTime(fields, (wallMs - days * dayMs) / 1_000)
    if (time >= 0) return days * dayMs + time * 1_000
  }
  for (let months = 0; months <= searchMaxMonths; months++) {
    const found = previousBit(mask, day - 2)
    if (found >= 0) return daysFromCivil(year, month, found + 1) * dayMs + previousTime(fields, lastSecond) * 1_000
    month = month === 1 ? 12 : month - 1
    if (month === 12) year--
    mask = daysOf(fields, year, month)
    day = 32
  }
  return null
}

const lastSecond = 86_399

function daysOf(fields: CronFields, year: number, month: number): number {
  return (fields.months >>> (month - 1)) & 1 ? matchingDays(fields.days, year, month) : 0
}

/** The first matching second of the day from `from` on; -1 if there is none that day. */
function nextTime({ hours, minutes, seconds }: CronFields, from: number): number {
  const hour = Math.floor(from / 3_600)
  const minute = Math.floor(from / 60) % 60
  if ((hours >>> hour) & 1) {
    if (nextIn60(minutes, minute) === minute) {
      const second = nextIn60(seconds, from % 60)
      if (second >= 0) return hour * 3_600 + minute * 60 + second
    }
    const later = nextIn60(minutes, minute + 1)
    if (later >= 0) return hour * 3_600 + later * 60 + nextIn60(seconds, 0)
  }
  const later = nextBit(hours, hour + 1)
  return later < 0 ? -1 : later * 3_600 + nextIn60(minutes, 0) * 60 + nextIn60(seconds, 0)
}

/** The last matching second of the day up to `to`; -1 if there is none that day. */
function previousTime({ hours, minutes, seconds }: CronFields, to: number): number {
  const hour = Math.floor(to / 3_600)
  const minute = Math.floor(to / 60) % 60
  if ((hours >>> hour) & 1) {
    if (previousIn60(minutes, minute) === minute) {
      const second = previousIn60(seconds, to % 60)
      if (second >= 0) return hour * 3_600 + minute * 60 + second
    }
    const earlier = previousIn60(minutes, minute - 1)
    if (earlier >= 0) return hour * 3_600 + earlier * 60 + previousIn60(seconds, 59)
  }
  const earlier = previousBit(hours, hour - 1)
  return earlier < 0 ? -1 : earlier * 3_600 + previousIn60(minutes, 59) * 60 + previousIn60(seconds, 59)
}
