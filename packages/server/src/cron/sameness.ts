import type { CronDefinition, CronSchedule, CronTemplate } from '../model.js'
import { packTemplate } from '../store/cron-template.js'

/** Whether both fire at the same times. A PUT of the same schedule keeps the next one, a new schedule begins now. */
export function isSameSchedule(a: CronSchedule, b: CronSchedule): boolean {
  return JSON.stringify(timesOf(a)) === JSON.stringify(timesOf(b))
}

/** Whether a replacement would change nothing. */
export function isSameDefinition(a: CronDefinition, b: CronDefinition): boolean {
  return (
    isSameSchedule(a, b) &&
    a.enabled === b.enabled &&
    rulesOf(a) === rulesOf(b) &&
    isSameTemplate(a.template, b.template)
  )
}

function timesOf({ expression, everyMs, timezone, startsAtMs, endsAtMs, jitterMs }: CronSchedule): unknown {
  return [expression, everyMs, timezone, startsAtMs, endsAtMs, jitterMs]
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
