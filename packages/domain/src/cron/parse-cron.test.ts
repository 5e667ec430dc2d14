import { describe, expect, it } from 'vitest'
import { DulyError } from '../errors.js'
import { limits } from '../limits.js'
import { parseCron } from './parse-cron.js'

function refusal(expression: string): { readonly code: string; readonly messages: readonly string[] } {
  try {
    parseCron(expression)
  } catch (error) {
    if (!(error instanceof DulyError)) throw error
    expect(error.errors?.every(({ path }) => path === 'cron_expression')).toBe(true)
    return { code: error.code, messages: error.errors?.map(({ message }) => message) ?? [] }
  }
  return { code: 'taken', messages: [] }
}

describe('parseCron', () => {
  it.each([
    ['', /empty; write five/],
    ['   ', /empty; write five/],
    ['* * * *', /has 4 fields; write five/],
    ['* * * * * * *', /has 7 fields; write five/],
    ['H * * * *', /minute: "H" is not understood; write 0 to 59/],
    [
      '*/61 * * * *',
      /minute: the step in "\*\/61" must be a whole number from 1 to 60; for a longer interval give every_seconds/,
    ],
    ['*/0 * * * *', /step in "\*\/0" must be a whole number from 1 to 60$/],
    ['*/ * * * *', /step in "\*\/"/],
    ['*/-1 * * * *', /step in "\*\/-1"/],
    ['*/1.5 * * * *', /step in "\*\/1.5" must be a whole number from 1 to 60$/],
    ['1/2/3 * * * *', /more than one step/],
    ['60 * * * *', /minute: 60 is out of range; it must be 0 to 59/],
    ['60 * * * * *', /second: 60 is out of range/],
    ['0 24 * * *', /hour: 24 is out of range/],
    ['0 0 0 * *', /day of month: 0 is out of range; it must be 1 to 31/],
    ['0 0 32 * *', /day of month: 32 is out of range/],
    ['0 0 1 0 *', /month: 0 is out of range/],
    ['0 0 1 13 *', /month: 13 is out of range/],
    ['0 0 * * 8', /day of week: 8 is out of range; it must be 0 to 7/],
    ['0 0 * * 5-1', /ranges don't wrap: write "5-6,0-1"/],
    ['0 0 * * FRI-MON', /ranges don't wrap: write "FRI-SAT,SUN-MON"/],
    ['0 0 * * FRI-SUN', /ranges don't wrap: write "FRI-SAT,SUN"/],
    ['0 22-2 * * *', /ranges don't wrap: write "22-23,0-2"/],
    ['0 0 * NOV-FEB *', /ranges don't wrap: write "NOV-DEC,JAN-FEB"/],
    ['1-2-3 * * * *', /"1-2-3" is not a range/],
    ['-5 * * * *', /"" is not understood/],
    ['1, * * * *', /"" is not understood/],
    ['1.5 * * * *', /"1.5" is not understood/],
    ['0x1 * * * *', /"0x1" is not understood/],
    ['1e1 * * * *', /"1e1" is not understood/],
    ['+1 * * * *', /"\+1" is not understood/],
    ['0~59 * * * *', /"0~59" is not understood/],
    ['? * * * *', /minute: "\?" stands for a day only; write "\*"/],
    ['0 0 1? * *', /"1\?" is not understood/],
    ['０ 0 * * *', /character outside ASCII/],
    ['0 0 * * *\n', /line break/],
    ['0 0 * * *\n0 1 * * *', /line break/],
    ['0 0 * * MONDAY', /"MONDAY" is not understood; write 0 to 7 or names such as MON/],
    ['0 0 * MON *', /month: "MON" is not understood; write 1 to 12 or names such as FEB/],
    ['0 0 L-3 * *', /there are L \(the last day\), LW/],
    ['0 0 W * *', /there are L \(the last day\), LW/],
    ['0 0 1-5W * *', /there are L/],
    ['0 0 0W * *', /0 is out of range/],
    ['0 0 * * L', /"L" needs a weekday here; 5L or FRIL/],
    ['0 0 * * 9L', /9 is out of range/],
    ['0 0 * * MON#0', /the number is 1 to 5/],
    ['0 0 * * MON#6', /the number is 1 to 5/],
    ['0 0 * * #2', /"" is not understood/],
    ['0 0 * * 1#1#2', /the number is 1 to 5/],
    ['@reboot', /"@reboot" is not taken/],
    ['@every 5m', /give every_seconds/],
    ['@fortnightly', /"@fortnightly" is not known; there are @hourly, @daily/],
    ['@daily 5', /"@daily 5" is not known/],
    [`${'1,'.repeat(20_000)}1 * * * *`, /has 40009 characters; at most 500 are taken/],
  ])('refuses %j', (expression, message) => {
    const { code, messages } = refusal(expression)
    expect(code).toBe('invalid_request')
    expect(messages).toEqual([expect.stringMatching(message)])
  })

  it('tells of every wrong field at once', () => {
    expect(refusal('99 a 0 13 8').messages.map((message) => message.split(':')[0])).toEqual([
      'minute',
      'hour',
      'day of month',
      'month',
      'day of week',
    ])
  })

  it.each(['0 0 30 2 *', '0 0 31 4 *', '0 0 31 2,4,6,9,11 *', '0 0 30,31 FEB ?', '0 0 31W 4 *', '0 0 30-31 2 *'])(
    'refuses the impossible date %s by the calendar',
    (expression) => {
      const { code, messages } = refusal(expression)
      expect(code).toBe('unprocessable')
      expect(messages).toEqual([expect.stringMatching(/can never fire/)])
    },
  )

  it.each(['0 0 29 2 *', '0 0 31 4,5 *', '0 0 30 2 1', '0 0 L 2 *', '0 0 LW 4 *', '0 0 * 2 MON#5', '0 0 31,1 4 *'])(
    'takes the possible date %s',
    (expression) => {
      expect(refusal(expression).code).toBe('taken')
    },
  )

  it.each([
    ['@hourly', '0 * * * *'],
    ['@DAILY', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@weekly', '0 0 * * 0'],
    ['@monthly', '0 0 1 * *'],
    ['@yearly', '0 0 1 1 *'],
    ['@annually', '0 0 1 1 *'],
    ['  0\t0 *  * *  ', '0 0 * * *'],
    ['00 09 01 01 *', '0 9 1 1 *'],
    ['0 0 0 * * *', '0 0 * * *'],
    ['0 0 ? * ?', '0 0 * * *'],
    ['0 0 * jan-Mar Sun', '0 0 * 1-3 0'],
    ['0 0 * * 7', '0 0 * * 0'],
    ['0 0 * * 5-7', '0 0 * * 0,5,6'],
    ['0 0 * * 4-7/3', '0 0 * * 0,4'],
    ['0 0 * * 2/2', '0 0 * * 2,4,6'],
    ['0 0 * * 7/2', '0 0 * * 0'],
    ['0 0 * * */2', '0 0 * * 0,2,4,6'],
    ['5/20 * * * *', '5,25,45 * * * *'],
    ['0 0 lw * fril', '0 0 LW * 5L'],
    ['0 0 15w * mon#2', '0 0 15W * 1#2'],
  ])('reads %j as %s', (expression, same) => {
    expect(parseCron(expression)).toEqual(parseCron(same))
  })

  it('takes a schedule as fixed unless minute or hour begins with a star', () => {
    const fixed = ['30 2 * * *', '0,30 1-5/2 * * *', '* 30 2 * * *', '5/10 2 * * *', '5,*/10 2 * * *', '@daily']
    const real = ['* 2 * * *', '*/30 1 * * *', '0 * * * *', '0 */2 * * *', '0 0 *,1 * * *', '@hourly']
    expect(fixed.map((expression) => parseCron(expression).fixed)).toEqual(fixed.map(() => true))
    expect(real.map((expression) => parseCron(expression).fixed)).toEqual(real.map(() => false))
  })

  it('takes the longest list that makes sense', () => {
    const all = (count: number) => Array.from({ length: count }, (_, value) => value).join(',')
    const expression = `${all(60)} ${all(60)} ${all(24)} * * *`
    expect(expression.length).toBeLessThan(limits.cronExpressionMaxChars)
    expect(refusal(expression).code).toBe('taken')
  })
})
