/** A parsed expression as bit masks: bit n stands for the value n, in days bit n - 1 for the day n. */
export interface CronFields {
  readonly seconds: Mask60
  readonly minutes: Mask60
  readonly hours: number
  /** Bit 0 is January. */
  readonly months: number
  readonly days: DayRule
  /** Neither minute nor hour begins with `*`: each local time runs once, as Vixie cron has it. */
  readonly fixed: boolean
}

/** Sixty bits; a number's bit operators have 32. */
export interface Mask60 {
  readonly low: number
  readonly high: number
}

/** Which days of a month match. Day of month and weekday both restricted: either does. */
export interface DayRule {
  readonly dayOfMonth: DayOfMonthRule | null
  readonly weekday: WeekdayRule | null
}

/** Null in its place: `*` or `?`, any day. */
export interface DayOfMonthRule {
  /** Days 1 to 31. */
  readonly days: number
  /** `15W`: the working day nearest to it, in the same month. */
  readonly nearestWorkdays: number
  /** `L`. */
  readonly last: boolean
  /** `LW`. */
  readonly lastWorkday: boolean
}

export interface WeekdayRule {
  /** Bit 0 is Sunday. */
  readonly weekdays: number
  /** `5L`: the last one of the month. */
  readonly last: number
  /** `MON#2`: for each number 1 to 5 in its place 0 to 4 the weekdays; null if there is none. */
  readonly nth: readonly number[] | null
}

const halfBits = 30

export function mask60(values: Iterable<number>): Mask60 {
  let low = 0
  let high = 0
  for (const value of values) {
    if (value < halfBits) low |= 1 << value
    else high |= 1 << (value - halfBits)
  }
  return { low, high }
}

/** The smallest value of the mask that is at least `from`; -1 if there is none. */
export function nextIn60({ low, high }: Mask60, from: number): number {
  if (from < halfBits) {
    const found = nextBit(low, from)
    if (found >= 0) return found
  }
  const found = nextBit(high, Math.max(from - halfBits, 0))
  return found < 0 ? -1 : found + halfBits
}

/** The largest value of the mask that is at most `to`; -1 if there is none. */
export function previousIn60({ low, high }: Mask60, to: number): number {
  const found = previousBit(high, to - halfBits)
  return found >= 0 ? found + halfBits : previousBit(low, Math.min(to, halfBits - 1))
}

/** The lowest bit of a mask of at most 31 that is at least `from`; -1 if there is none. */
export function nextBit(mask: number, from: number): number {
  if (from > 30) return -1
  const rest = mask & (-1 << from)
  return rest === 0 ? -1 : 31 - Math.clz32(rest & -rest)
}

/** The highest bit of a mask of at most 31 that is at most `to`; -1 if there is none. */
export function previousBit(mask: number, to: number): number {
  if (to < 0) return -1
  const rest = to >= 30 ? mask : mask & ((1 << (to + 1)) - 1)
  return rest === 0 ? -1 : 31 - Math.clz32(rest)
}
