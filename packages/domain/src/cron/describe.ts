import { describeDays } from './describe-days.js'
import { clockTimes, repeatedTimes, timeFields } from './describe-time.js'
import { plural } from './describe-words.js'
import { parseCron, splitExpression } from './parse-cron.js'
import { parseSchedule, type Schedule } from './schedule.js'

/**
 * The schedule in plain English, for people who check what they wrote: `At 09:00, Monday to Friday, in America/New_York.`
 * @throws DulyError as `parseSchedule` does
 */
export function describeSchedule(schedule: Schedule): string {
  if (schedule.kind === 'every') {
    parseSchedule(schedule)
    return `Every ${duration(schedule.everyMs)}, counted from ${new Date(schedule.anchorMs).toISOString()}.`
  }
  parseCron(schedule.expression)
  const [second, minute, hour, dayOfMonth, month, weekday] = splitExpression(schedule.expression)
  const time = timeFields(second, minute, hour)
  const clock = clockTimes(time)
  const days = describeDays(dayOfMonth, month, weekday)
  const parts = [clock ?? repeatedTimes(time), ...(clock !== null && days.length === 0 ? ['every day'] : days)]
  const words = [...parts, `in ${schedule.timezone}`].join(', ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}

const units = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const

/**
 * In the largest unit that divides it: `90 minutes`, not `1.5 hours`; what divides by none, in seconds: `3600.5 seconds`. A day of it is
 * 24 hours, whatever clocks do.
 */
function duration(ms: number): string {
  const [size, unit] = units.find(([candidate]) => ms % candidate === 0) ?? units[3]
  return size === 86_400_000 ? plural((ms / size) * 24, 'hour') : plural(ms / size, unit)
}
