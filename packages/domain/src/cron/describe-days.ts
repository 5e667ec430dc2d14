import { listed, ordinal } from './describe-words.js'
import { type FieldItem, fieldForms, readItem, readValue, valuesOf } from './parse-field.js'

const weekdayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
const nthNames = ['first', 'second', 'third', 'fourth', 'fifth']

/** On which days, in parts to be joined by commas; empty for every day. The fields are valid. */
export function describeDays(dayOfMonth: string, month: string, weekday: string): string[] {
  const months = monthWords(month)
  const isDayFree = dayOfMonth === '*' || dayOfMonth === '?'
  const isWeekdayFree = weekday === '*' || weekday === '?'
  if (isDayFree && isWeekdayFree) return months === null ? [] : [`in ${months}`]
  const inMonths = months === null ? [] : [`in ${months}`]
  if (isWeekdayFree) return [`on ${dayWords(dayOfMonth)} of ${months ?? 'the month'}`]
  if (isDayFree) return [weekdayWords(weekday), ...inMonths]
  // Most who write both expect "and".
  return [`either on ${dayWords(dayOfMonth)} of the month or ${withOn(weekdayWords(weekday))}`, ...inMonths]
}

function withOn(words: string): string {
  return words.startsWith('on ') ? words : `on ${words}`
}

function monthWords(text: string): string | null {
  const items = text.split(',').map((item) => readItem(fieldForms.month, item))
  if (items.some(({ star, step }) => star && (step ?? 1) === 1)) return null
  return listed(items.flatMap((item) => spanWords(item, (value) => monthNames[value - 1] ?? '')))
}

/** A range of more than two by its ends, anything else one by one. */
function spanWords(item: FieldItem, name: (value: number) => string): string[] {
  const values = valuesOf(item)
  if ((item.step ?? 1) === 1 && values.length > 2) return [`${name(item.from)} to ${name(item.to)}`]
  return values.map(name)
}

function dayWords(text: string): string {
  return listed(text.toUpperCase().split(',').map(dayItemWords))
}

function dayItemWords(item: string): string {
  if (item === 'L') return 'the last day'
  if (item === 'LW') return 'the last working day'
  if (item.endsWith('W')) return `the working day nearest to the ${ordinal(Number(item.slice(0, -1)))}`
  const { from, to, step, star } = readItem(fieldForms.dayOfMonth, item)
  if ((step ?? 1) === 1) return from === to ? `the ${ordinal(from)}` : `the ${ordinal(from)} to the ${ordinal(to)}`
  const every = `every ${ordinal(step ?? 1)} day from the ${ordinal(from)}`
  return star || to === fieldForms.dayOfMonth.max ? every : `${every} to the ${ordinal(to)}`
}

function weekdayWords(text: string): string {
  const items = text.toUpperCase().split(',')
  const words = [...new Set(items.flatMap(weekdayItemWords))]
  return items.length === 1 && words[0]?.includes(' to ') ? (words[0] ?? '') : `on ${listed(words)}`
}

function weekdayItemWords(item: string): string[] {
  const name = (value: number) => weekdayNames[value] ?? ''
  const [weekday = '', nth] = item.split('#')
  if (nth !== undefined) {
    return [`the ${nthNames[Number(nth) - 1]} ${name(readValue(fieldForms.weekday, weekday))} of the month`]
  }
  if (item.endsWith('L')) return [`the last ${name(readValue(fieldForms.weekday, item.slice(0, -1)))} of the month`]
  return spanWords(readItem(fieldForms.weekday, item), name)
}
