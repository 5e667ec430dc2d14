import type { DayOfMonthRule, WeekdayRule } from './fields.js'
import { FieldFault, fieldForms, readItem, readValue, shown, valuesOf } from './parse-field.js'

/**
 * The field of days of the month: numbers, `L` (the last), `LW` (the last working day), `15W` (the working day nearest to the 15th).
 * @returns null for `*` and `?`
 * @throws FieldFault
 */
export function readDayOfMonth(text: string): DayOfMonthRule | null {
  if (text === '*' || text === '?') return null
  const form = fieldForms.dayOfMonth
  let days = 0
  let nearestWorkdays = 0
  let last = false
  let lastWorkday = false
  for (const item of text.toUpperCase().split(',')) {
    if (item === 'L') last = true
    else if (item === 'LW') lastWorkday = true
    else if (/^[0-9]+W$/.test(item)) nearestWorkdays |= 1 << (readValue(form, item.slice(0, -1)) - 1)
    else if (/[LW]/.test(item)) throw new FieldFault(dayHint(item))
    else for (const day of valuesOf(readItem(form, item))) days |= 1 << (day - 1)
  }
  return { days, nearestWorkdays, last, lastWorkday }
}

function dayHint(item: string): string {
  const known = 'L (the last day), LW (the last working day) and 15W (the working day nearest to the 15th)'
  return `"${shown(item)}" is not understood; there are ${known}`
}

/**
 * The field of weekdays: 0 to 7 (0 and 7 are Sunday) or names, `5L` (the last Friday of the month), `MON#2` (its second Monday).
 * @returns null for `*` and `?`
 * @throws FieldFault
 */
export function readWeekday(text: string): WeekdayRule | null {
  if (text === '*' || text === '?') return null
  let weekdays = 0
  let last = 0
  const nth = [0, 0, 0, 0, 0]
  for (const item of text.toUpperCase().split(',')) {
    if (item.includes('#')) {
      const [weekday, number] = readNth(item)
      nth[number - 1] = (nth[number - 1] ?? 0) | (1 << weekday)
    } else if (item.endsWith('L')) last |= 1 << readLast(item)
    else for (const weekday of valuesOf(readItem(fieldForms.weekday, item))) weekdays |= 1 << (weekday % 7)
  }
  return { weekdays, last, nth: nth.some((mask) => mask !== 0) ? nth : null }
}

function readNth(item: string): readonly [weekday: number, number: number] {
  const [weekday = '', number = '', more] = item.split('#')
  if (more !== undefined || !/^[1-5]$/.test(number)) {
    throw new FieldFault(
      `"${shown(item)}" is not understood; MON#2 is the second Monday of the month, the number is 1 to 5`,
    )
  }
  return [readValue(fieldForms.weekday, weekday) % 7, Number(number)]
}

function readLast(item: string): number {
  if (item === 'L') throw new FieldFault('"L" needs a weekday here; 5L or FRIL is the last Friday of the month')
  return readValue(fieldForms.weekday, item.slice(0, -1)) % 7
}
