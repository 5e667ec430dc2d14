import type { CronDefinition, CronSchedule, CronTemplate } from '../model.js'
import { packTemplate } from '../store/cron-template.js'

/**
 * Whether both come to the same fire times, up to their ends and before their jitter. What is the same goes on: what is due and not yet
 * fired still fires, and an interval keeps its beat. What is not begins now.
 */
export function isSameCourse(a: CronSchedule, b: CronSchedule): boolean {
  return courseOf(a) === courseOf(b)
}

/** Whether a replacement would change nothing. */
export function isSameDefinition(a: CronDefinition, b: CronDefinition): boolean {
  return (
    isSameCourse(a, b) &&
    a.timezone === b.timezone &&
    a.endsAtMs === b.endsAtMs &&
    a.jitterMs === b.jitterMs &&
    a.enabled === b.enabled &&
    rulesOf(a) === rulesOf(b) &&
    isSameTemplate(a.template, b.template)
  )
}

function courseOf({ expression, everyMs, timezone, startsAtMs }: CronSchedule): string {
  // no time zone moves an interval
  return JSON.stringify([expression, everyMs, everyMs === null ? timezone : null, startsAtMs])
}

const rulesOf = ({ overlap, misfire, graceMs }: CronSchedule): string => [overlap, misfire, graceMs].join()

function isSameTemplate(a: CronTemplate, b: CronTemplate): boolean {
  return (
    a.taskType === b.taskType &&
    a.queue === b.queue &&
    a.payload === b.payload &&
    a.metadata === b.metadata &&
    packTemplate(a) === packTemplate(b)
  )
}
