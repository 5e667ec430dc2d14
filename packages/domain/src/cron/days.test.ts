import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { civilFromDays, daysFromCivil, daysInMonth, weekdayOf } from './calendar.js'
import { matchingDays } from './days.js'
import { parseCron } from './parse-cron.js'

/** The days of a month that the fields of day and weekday match. */
function days(dayOfMonth: string, weekday: string, month: string): number[] {
  const rule = parseCron(`0 0 ${dayOfMonth} * ${weekday}`).days
  const [year = 0, number = 0] = month.split('-').map(Number)
  const mask = matchingDays(rule, year, number)
  return Array.from({ length: 31 }, (_, index) => index + 1).filter((day) => (mask >>> (day - 1)) & 1)
}

describe('matchingDays', () => {
  // August 2026 begins on a Saturday and ends on a Monday, May 2026 on a Friday and on a Sunday.
  it.each([
    ['1W', '*', '2026-08', [3]],
    ['15W', '*', '2026-08', [14]],
    ['16W', '*', '2026-08', [17]],
    ['17W', '*', '2026-08', [17]],
    ['31W', '*', '2026-05', [29]],
    ['31W', '*', '2026-06', []],
    ['1W', '*', '2026-02', [2]],
    ['15W,1', '*', '2026-08', [1, 14]],
    ['LW', '*', '2026-05', [29]],
    ['LW', '*', '2026-10', [30]],
    ['LW', '*', '2026-08', [31]],
    ['L', '*', '2024-02', [29]],
    ['L', '*', '2100-02', [28]],
    ['1,L', '*', '2026-04', [1, 30]],
    ['30', '*', '2026-02', []],
    ['*', 'MON#1', '2026-08', [3]],
    ['*', 'SAT#5', '2026-08', [29]],
    ['*', 'TUE#5', '2026-08', []],
    ['*', 'MON#1,FRI#2', '2026-08', [3, 14]],
    ['*', '1L', '2026-08', [31]],
    ['*', '2L', '2026-08', [25]],
    ['*', 'SUNL,1', '2026-05', [4, 11, 18, 25, 31]],
    ['*', '0', '2026-02', [1, 8, 15, 22]],
    ['13', '5', '2026-02', [6, 13, 20, 27]],
    ['13', '5', '2026-08', [7, 13, 14, 21, 28]],
    ['L', 'MON#1', '2026-08', [3, 31]],
  ])('%s and %s in %s are %j', (dayOfMonth, weekday, month, expected) => {
    expect(days(dayOfMonth, weekday, month)).toEqual(expected)
  })

  it('of two stars are all days of the month', () => {
    expect(['2026-01', '2026-02', '2024-02', '2026-04'].map((month) => days('*', '?', month).length)).toEqual([
      31, 28, 29, 30,
    ])
  })
})

describe('the calendar', () => {
  it('is that of the runtime, from the year 1 to 9999', () => {
    fc.assert(
      fc.property(fc.integer({ min: -719_162, max: 2_932_896 }), (count) => {
        const date = new Date(count * 86_400_000)
        const day = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
        expect(civilFromDays(count)).toEqual(day)
        expect(daysFromCivil(day.year, day.month, day.day)).toBe(count)
        expect(weekdayOf(count)).toBe(date.getUTCDay())
        const first = daysFromCivil(day.year, day.month, 1)
        expect(civilFromDays(first + daysInMonth(day.year, day.month))).toMatchObject({
          day: 1,
          month: (day.month % 12) + 1,
        })
      }),
      { numRuns: 2_000 },
    )
  })
})
