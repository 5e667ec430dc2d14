import { listed, ordinal, plural, twoDigits } from './describe-words.js'
import { type FieldForm, type FieldItem, fieldForms, readItem, valuesOf } from './parse-field.js'

/** More times of day than this are told by hours and minutes apart. */
const clockTimesMax = 6

/** Fields of a time of day as items; they are valid. */
export interface TimeFields {
  readonly seconds: readonly FieldItem[]
  readonly minutes: readonly FieldItem[]
  readonly hours: readonly FieldItem[]
}

export function timeFields(second: string, minute: string, hour: string): TimeFields {
  const items = (form: FieldForm, text: string) => text.split(',').map((item) => simplified(readItem(form, item)))
  return {
    seconds: items(fieldForms.second, second),
    minutes: items(fieldForms.minute, minute),
    hours: items(fieldForms.hour, hour),
  }
}

/** A step beyond the end is its first value alone. */
function simplified(item: FieldItem): FieldItem {
  return valuesOf(item).length > 1 ? item : { from: item.from, to: item.from, step: null, star: false }
}

/** `at 09:00 and 17:30`; null if the fields are no short list of clock times. */
export function clockTimes({ seconds, minutes, hours }: TimeFields): string | null {
  const [second, ...more] = seconds
  const times = minutes.length * hours.length
  if (second === undefined || more.length > 0 || times > clockTimesMax) return null
  if (![second, ...minutes, ...hours].every(isSingle)) return null
  const end = second.from === 0 ? '' : `:${twoDigits(second.from)}`
  const found = hours.flatMap((hour) =>
    minutes.map((minute) => `${twoDigits(hour.from)}:${twoDigits(minute.from)}${end}`),
  )
  return `at ${listed([...new Set(found)].sort())}`
}

/** `every 5 minutes in the hours 9 to 17`: each field by itself, from the smallest to the largest. */
export function repeatedTimes({ seconds, minutes, hours }: TimeFields): string {
  const bySecond = secondWords(seconds)
  const words = [bySecond, minuteWords(minutes, { bySecond, isEveryHour: isEvery(hours) }), hourWords(hours)]
  return words.filter((part) => part !== null).join(' ')
}

function secondWords(items: readonly FieldItem[]): string | null {
  if (isEvery(items)) return 'every second'
  const [only, ...more] = items
  if (only !== undefined && more.length === 0 && isSingle(only) && only.from === 0) return null
  const step = evenStep(items)
  return step === null ? `at ${numbered('second', items)}` : `every ${plural(step, 'second')}`
}

interface Around {
  readonly bySecond: string | null
  readonly isEveryHour: boolean
}

function minuteWords(items: readonly FieldItem[], { bySecond, isEveryHour }: Around): string | null {
  if (isEvery(items)) return bySecond === null ? 'every minute' : bySecond.startsWith('at ') ? 'of every minute' : null
  const step = evenStep(items)
  if (step !== null && bySecond === null) return `every ${plural(step, 'minute')}`
  const words = `${bySecond === null ? 'at' : 'in'} ${numbered('minute', items)}`
  return isEveryHour ? `${words} of every hour` : words
}

function hourWords(items: readonly FieldItem[]): string | null {
  return isEvery(items) ? null : `in ${numbered('hour', items)}`
}

/** `minute 5`, `minutes 0 and 10 to 20 and every 5th minute from 30 to 59`, `every 7th minute from 0`. */
function numbered(unit: string, items: readonly FieldItem[]): string {
  const plain = items.filter(({ step }) => (step ?? 1) === 1)
  const stepped = items.filter(({ step }) => (step ?? 1) !== 1)
  const several = plain.length > 1 || !plain.every(isSingle)
  const numbers = plain.length === 0 ? [] : [`${unit}${several ? 's' : ''} ${listed(plain.map(rangeWords))}`]
  return [...numbers, ...stepped.map((item) => stepWords(unit, item))].join(' and ')
}

function rangeWords(item: FieldItem): string {
  return isSingle(item) ? String(item.from) : `${item.from} to ${item.to}`
}

function stepWords(unit: string, { from, to, step, star }: FieldItem): string {
  return `every ${ordinal(step ?? 1)} ${unit} from ${from}${star ? '' : ` to ${to}`}`
}

/** A star alone, or with the step 1, which says no more. */
function isEvery(items: readonly FieldItem[]): boolean {
  return items.some(({ star, step }) => star && (step ?? 1) === 1)
}

/** The step of seconds or minutes that divides sixty, so that the distance is the same across the hour. */
function evenStep(items: readonly FieldItem[]): number | null {
  const step = items.length === 1 && items[0]?.star === true ? (items[0].step ?? 1) : null
  return step !== null && step < 60 && 60 % step === 0 ? step : null
}

function isSingle({ from, to, step, star }: FieldItem): boolean {
  return !star && step === null && from === to
}
