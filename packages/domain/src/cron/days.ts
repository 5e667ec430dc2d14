import { daysFromCivil, daysInMonth, weekdayOf } from './calendar.js'
import type { CronFields, DayOfMonthRule, DayRule, WeekdayRule } from './fields.js'

/** The days of the month that the rule matches: bit n - 1 for the day n. */
export function matchingDays(rule: DayRule, year: number, month: number): number {
  const length = daysInMonth(year, month)
  const all = -1 >>> (32 - length)
  const { dayOfMonth, weekday } = rule
  if (dayOfMonth === null && weekday === null) return all
  const first = weekday === null && !needsWeekday(dayOfMonth) ? 0 : weekdayOf(daysFromCivil(year, month, 1))
  const byDay = dayOfMonth === null ? 0 : daysOfMonth(dayOfMonth, length, first)
  const byWeekday = weekday === null ? 0 : daysOfWeek(weekday, length, first)
  return (byDay | byWeekday) & all
}

function needsWeekday(rule: DayOfMonthRule | null): boolean {
  return rule !== null && (rule.nearestWorkdays !== 0 || rule.lastWorkday)
}

function daysOfMonth(rule: DayOfMonthRule, length: number, first: number): number {
  let mask = rule.days
  if (rule.last) mask |= 1 << (length - 1)
  if (rule.lastWorkday) mask |= 1 << (lastWorkday(length, first) - 1)
  for (let day = 1; rule.nearestWorkdays >>> (day - 1) !== 0 && day <= length; day++) {
    if ((rule.nearestWorkdays >>> (day - 1)) & 1) mask |= 1 << (nearestWorkday(day, length, first) - 1)
  }
  return mask
}

function lastWorkday(length: number, first: number): number {
  const weekday = (first + length - 1) % 7
  return weekday === 0 ? length - 2 : weekday === 6 ? length - 1 : length
}

/** Saturday goes to Friday and Sunday to Monday, but never into another month. */
function nearestWorkday(day: number, length: number, first: number): number {
  const weekday = (first + day - 1) % 7
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === length ? day - 2 : day + 1
  return day
}

function daysOfWeek({ weekdays, last, nth }: WeekdayRule, length: number, first: number): number {
  // Turned so that bit 0 is the weekday of the 1st, then once for each week.
  let mask = everyWeek(turned(weekdays, first))
  if (last !== 0) mask |= everyWeek(turned(last, first)) & (-1 << (length - 7))
  if (nth === null) return mask
  for (let week = 0; week < 5; week++) mask |= turned(nth[week] ?? 0, first) << (7 * week)
  return mask
}

function turned(weekdays: number, first: number): number {
  return ((weekdays >>> first) | (weekdays << (7 - first))) & 127
}

function everyWeek(week: number): number {
  return week | (week << 7) | (week << 14) | (week << 21) | (week << 28)
}

/**
 * Whether any date can match: by the lengths of the months, not by searching. Weekdays come in every month, and a fifth one in every
 * month in some year, so only a day of month alone can be impossible.
 */
export function canEverMatch({ months, days: { dayOfMonth, weekday } }: CronFields): boolean {
  if (dayOfMonth === null || weekday !== null || dayOfMonth.last || dayOfMonth.lastWorkday) return true
  const days = dayOfMonth.days | dayOfMonth.nearestWorkdays
  for (let month = 1; month <= 12; month++) {
    // 2000 is a leap year.
    if ((months >>> (month - 1)) & 1 && days & (-1 >>> (32 - daysInMonth(2000, month)))) return true
  }
  return false
}
