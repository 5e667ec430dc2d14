export { compileCron } from './compile-cron.js'
export {
  type CrontabEntry,
  type CrontabLine,
  type CrontabOptions,
  type CrontabPayload,
  parseCrontab,
} from './crontab.js'
export { describeSchedule } from './describe.js'
export {
  type FiringPlan,
  type FiringQuestion,
  type FiringWindow,
  firstFireAt,
  jittered,
  jitterOf,
  type Misfire,
  type MisfirePolicy,
  misfirePolicies,
  planFirings,
} from './firings.js'
export { type CompiledSchedule, parseSchedule, type Schedule } from './schedule.js'
export { checkTimeZone } from './zone.js'
