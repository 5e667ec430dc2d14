/** What one field of an expression may hold. */
export interface FieldForm {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly names: readonly string[]
  /** The number that the first name stands for. */
  readonly firstName: number
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const plain = { names: [], firstName: 0 }

/** The six fields in their order. */
export const fieldForms = {
  second: { name: 'second', min: 0, max: 59, ...plain },
  minute: { name: 'minute', min: 0, max: 59, ...plain },
  hour: { name: 'hour', min: 0, max: 23, ...plain },
  dayOfMonth: { name: 'day of month', min: 1, max: 31, ...plain },
  month: { name: 'month', min: 1, max: 12, names: months, firstName: 1 },
  /** 7 is Sunday too. */
  weekday: { name: 'day of week', min: 0, max: 7, names: weekdays, firstName: 0 },
} as const satisfies Record<string, FieldForm>

/** What is wrong in a field, in words for the person who wrote it. */
export class FieldFault extends Error {}

/** One item of a list: the values from `from` to `to` by `step`. */
export interface FieldItem {
  readonly from: number
  readonly to: number
  /** Null if none is written. */
  readonly step: number | null
  /** `*` stands in place of a range. */
  readonly star: boolean
}

/**
 * Reads one item of a list: `*`, `5`, `1-5`, each with a step `/2`. `5/2` is from 5 to the end of the field by 2.
 * @throws FieldFault that says how to write it
 */
export function readItem(form: FieldForm, item: string): FieldItem {
  const [range = '', step, more] = item.split('/')
  if (more !== undefined) throw new FieldFault(`"${shown(item)}" has more than one step; write ${example(form)}`)
  const [from, to] = readRange(form, range, step !== undefined)
  return { from, to, step: step === undefined ? null : readStep(form, item, step), star: range === '*' }
}

/** The values of an item as it is written; 7 may stand for Sunday among those of weekdays. */
export function valuesOf({ from, to, step }: FieldItem): number[] {
  const values: number[] = []
  for (let value = from; value <= to; value += step ?? 1) values.push(value)
  return values
}

function readRange(form: FieldForm, range: string, stepped: boolean): readonly [number, number] {
  // `*/2` of weekdays is Sunday, Tuesday, …: the second Sunday, 7, is not another step of it.
  if (range === '*') return [form.min, form === fieldForms.weekday ? 6 : form.max]
  const [first = '', last, more] = range.split('-')
  if (more !== undefined) throw new FieldFault(`"${shown(range)}" is not a range; write ${example(form)}`)
  const from = readValue(form, first)
  if (last === undefined) return [from, stepped ? endOf(form, from) : from]
  const to = readValue(form, last)
  if (to < from)
    throw new FieldFault(`"${shown(range)}" runs backwards; ranges don't wrap: write "${unwrapped(form, first, last)}"`)
  return [from, to]
}

/** `2/2` of weekdays ends with Saturday, `7/2` is Sunday. */
function endOf(form: FieldForm, from: number): number {
  return form === fieldForms.weekday ? Math.max(from, 6) : form.max
}

/** `FRI-MON` as ranges that don't wrap: `FRI-SAT,SUN-MON`. */
function unwrapped(form: FieldForm, first: string, last: string): string {
  const named = /^[a-z]/i.test(first) || /^[a-z]/i.test(last)
  const label = (value: number) => (named ? (form.names[value - form.firstName] ?? String(value)) : String(value))
  const top = form === fieldForms.weekday ? 6 : form.max
  const part = (low: number, high: number) => (low === high ? label(low) : `${label(low)}-${label(high)}`)
  return `${part(readValue(form, first), top)},${part(form.min, readValue(form, last))}`
}

/** Every 90 minutes is no thing of expressions. */
const longer = '; for a longer interval give every_seconds in place of an expression'

function readStep(form: FieldForm, item: string, text: string): number {
  const most = form === fieldForms.weekday ? 7 : form.max - form.min + 1
  const step = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
  if (step < 1 || step > most)
    throw new FieldFault(
      `the step in "${shown(item)}" must be a whole number from 1 to ${most}${step > most ? longer : ''}`,
    )
  return step
}

/** A number or a name. */
export function readValue(form: FieldForm, text: string): number {
  const named = form.names.indexOf(text.toUpperCase())
  if (named >= 0) return named + form.firstName
  if (!/^[0-9]{1,2}$/.test(text)) throw new FieldFault(`"${shown(text)}" is not understood; write ${example(form)}`)
  const value = Number(text)
  if (value < form.min || value > form.max) {
    throw new FieldFault(`${value} is out of range; it must be ${form.min} to ${form.max}`)
  }
  return value
}

function example({ min, max, names }: FieldForm): string {
  const name = names[1]
  const values = name === undefined ? `${min} to ${max}` : `${min} to ${max} or names such as ${name}`
  return `${values}, a list "1,3", a range "1-5", or a step "*/2"`
}

/** A piece of what was written, short enough for a message. */
export function shown(text: string): string {
  return text.length > 30 ? `${text.slice(0, 30)}…` : text
}
