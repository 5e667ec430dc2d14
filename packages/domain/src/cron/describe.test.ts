import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeSchedule } from './describe.js'
import { parseCron } from './parse-cron.js'

const inUtc = (expression: string) => describeSchedule({ kind: 'cron', expression, timezone: 'UTC' })

describe('describeSchedule', () => {
  it.each([
    ['0 9 * * 1-5', 'At 09:00, Monday to Friday, in UTC.'],
    ['* * * * *', 'Every minute, in UTC.'],
    ['*/5 * * * *', 'Every 5 minutes, in UTC.'],
    ['*/7 * * * *', 'At every 7th minute from 0 of every hour, in UTC.'],
    ['*/60 */24 * * *', 'At 00:00, every day, in UTC.'],
    ['0 * * * *', 'At minute 0 of every hour, in UTC.'],
    ['@hourly', 'At minute 0 of every hour, in UTC.'],
    ['@daily', 'At 00:00, every day, in UTC.'],
    ['@midnight', 'At 00:00, every day, in UTC.'],
    ['@weekly', 'At 00:00, on Sunday, in UTC.'],
    ['@monthly', 'At 00:00, on the 1st of the month, in UTC.'],
    ['@yearly', 'At 00:00, on the 1st of January, in UTC.'],
    ['@annually', 'At 00:00, on the 1st of January, in UTC.'],
    ['30 2,14 * * *', 'At 02:30 and 14:30, every day, in UTC.'],
    ['0,30 14,2 * * *', 'At 02:00, 02:30, 14:00 and 14:30, every day, in UTC.'],
    ['0,30 8-10 * * *', 'At minutes 0 and 30 in hours 8 to 10, in UTC.'],
    ['0 */2 * * *', 'At minute 0 in every 2nd hour from 0, in UTC.'],
    ['*/15 9-17 * * mon-fri', 'Every 15 minutes in hours 9 to 17, Monday to Friday, in UTC.'],
    ['5/10 * * * *', 'At every 10th minute from 5 to 59 of every hour, in UTC.'],
    ['1,2,10-30/5 1 * * *', 'At minutes 1 and 2 and every 5th minute from 10 to 30 in hour 1, in UTC.'],
    ['* 9 * * *', 'Every minute in hour 9, in UTC.'],
    ['* * * * * *', 'Every second, in UTC.'],
    ['*/10 * * * * *', 'Every 10 seconds, in UTC.'],
    ['5 * * * * *', 'At second 5 of every minute, in UTC.'],
    ['5 30 * * * *', 'At second 5 in minute 30 of every hour, in UTC.'],
    ['* */5 9 * * *', 'Every second in every 5th minute from 0 in hour 9, in UTC.'],
    ['30 15 10 * * 1', 'At 10:15:30, on Monday, in UTC.'],
    ['0 0 1,15 * *', 'At 00:00, on the 1st and the 15th of the month, in UTC.'],
    ['0 12 1-7 JAN,JUL *', 'At 12:00, on the 1st to the 7th of January and July, in UTC.'],
    ['0 9 */2 4-10 *', 'At 09:00, on every 2nd day from the 1st of April to October, in UTC.'],
    ['0 9 2-20/3 * *', 'At 09:00, on every 3rd day from the 2nd to the 20th of the month, in UTC.'],
    ['0 0 L * *', 'At 00:00, on the last day of the month, in UTC.'],
    ['0 0 LW 3 *', 'At 00:00, on the last working day of March, in UTC.'],
    ['0 0 15W * *', 'At 00:00, on the working day nearest to the 15th of the month, in UTC.'],
    ['0 0 * * MON#2', 'At 00:00, on the second Monday of the month, in UTC.'],
    ['0 0 ? * 5L', 'At 00:00, on the last Friday of the month, in UTC.'],
    ['0 0 * * 6,7,0', 'At 00:00, on Saturday and Sunday, in UTC.'],
    ['0 9 * */3 SAT-7', 'At 09:00, on Saturday and Sunday, in January, April, July and October, in UTC.'],
    ['0 0 ? * ?', 'At 00:00, every day, in UTC.'],
    ['0 0 13 * 5', 'At 00:00, either on the 13th of the month or on Friday, in UTC.'],
    [
      '0 0 */3 2 1-5',
      'At 00:00, either on every 3rd day from the 1st of the month or on Monday to Friday, in February, in UTC.',
    ],
  ])('%s: %s', (expression, words) => {
    expect(inUtc(expression)).toBe(words)
  })

  it('names the time zone', () => {
    const schedule = { kind: 'cron', expression: '0 9 * * 1-5', timezone: 'America/New_York' } as const
    expect(describeSchedule(schedule)).toBe('At 09:00, Monday to Friday, in America/New_York.')
  })

  it.each([
    [1_000, 'second'],
    [90_000, '90 seconds'],
    [60_000, 'minute'],
    [7_200_000, '2 hours'],
    [86_400_000, '24 hours'],
    [1_500, '1.5 seconds'],
    [3_600_500, '3600.5 seconds'],
  ])('every %i ms: every %s', (everyMs, words) => {
    const anchorMs = Date.UTC(2026, 4, 4, 9)
    expect(describeSchedule({ kind: 'every', everyMs, anchorMs })).toBe(
      `Every ${words}, counted from 2026-05-04T09:00:00.000Z.`,
    )
  })

  it('refuses what the parser refuses', () => {
    expect(() => inUtc('0 0 30 2 *')).toThrow(/can never fire/)
    expect(() => inUtc('* * * *')).toThrow(/4 fields/)
    expect(() => describeSchedule({ kind: 'every', everyMs: 1, anchorMs: 0 })).toThrow(/every_seconds/)
  })

  /** Few values, so that many schedules meet in one description. */
  const small = (min: number, extra: readonly string[]) =>
    fc.array(fc.constantFrom(`${min}`, `${min + 1}`, `${min + 2}`, `${min}-${min + 2}`, `${min}/3`, '*/3', ...extra), {
      minLength: 1,
      maxLength: 2,
    })
  const field = (min: number, extra: readonly string[] = []) =>
    fc.oneof(
      small(min, extra).map((items) => items.join(',')),
      fc.constantFrom('*', '*/1'),
    )
  const expressions = fc
    .tuple(field(0), field(0), field(0), field(1, ['L', 'LW', '2W']), field(1), field(0, ['1L', '1#1', '6-7']))
    .map((fields) => fields.join(' '))

  it('describes two schedules alike only if they fire alike', () => {
    const seen = new Map<string, string>()
    let met = 0
    fc.assert(
      fc.property(expressions, (expression) => {
        const { fixed: _, ...fields } = parseCron(expression)
        const words = inUtc(expression)
        const other = seen.get(words)
        if (other !== undefined) met++
        expect(other ?? JSON.stringify(fields)).toBe(JSON.stringify(fields))
        seen.set(words, JSON.stringify(fields))
      }),
      { numRuns: 2_000 },
    )
    expect(met).toBeGreaterThan(0)
  })
})
