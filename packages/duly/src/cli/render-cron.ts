import type { CronRecord, CronSummary, FiringRecord, TaskStatus } from '@duly/sdk'
import { exactJson } from './render.js'
import { facts, table } from './table.js'
import { fromNow, zoned } from './zoned.js'

export interface CronSurroundings {
  readonly fireTimes: readonly Date[]
  /** How its last task stands; null: it is not known. */
  readonly lastStatus: TaskStatus | null
  readonly now: Date
}

/** A recurring task for a reader: its schedule in words, where it stands, what its tasks are, and when the next ones come. */
export function renderCron(cron: CronRecord, { fireTimes, lastStatus, now }: CronSurroundings): string {
  const told = facts([
    ['name', cron.name],
    ['id', cron.id],
    ['status', cron.status],
    ['error', cron.error],
    ['schedule', cron.description],
    ['expression', cron.cronExpression],
    ['time zone', cron.timezone],
    ['starts', cron.startsAt && utc(cron.startsAt)],
    ['ends', cron.endsAt && utc(cron.endsAt)],
    ['jitter', jitterText(cron)],
    ['rules', `overlap ${cron.overlapPolicy}, misfire ${cron.misfirePolicy} after ${cron.misfireGraceSeconds} s`],
    ['note', makesUpForOneOnly(cron) ? ONE_ONLY_NOTE : null],
    ['type', cron.taskType],
    ['queue', `${cron.queue} (${cron.priority})`],
    ['max retries', retriesText(cron)],
    ['time limit', `${cron.timeoutSeconds} s an attempt`],
    ['expires', cron.expiresAt && utc(cron.expiresAt)],
    ['result', cron.resultTtlSeconds === null ? null : `kept for ${cron.resultTtlSeconds} s`],
    ['concurrency key', cron.concurrencyKey],
    ['tags', cron.tags.join(', ')],
    ['metadata', cron.metadata && exactJson(cron, 'metadata')],
    ['payload', exactJson(cron, 'payload')],
    ['fired', `${cron.fired} (${cron.skipped} skipped)`],
    ['last', cron.lastFiredAt && `${utc(cron.lastFiredAt)}, ${fromNow(cron.lastFiredAt, now)}: ${cron.lastTaskId}`],
    ['last task', lastStatus],
  ])
  if (cron.status !== 'ACTIVE') return told
  return `${told}\n${renderFireTimes(fireTimes, cron.timezone, now)}`
}

function jitterText({ jitterSeconds, jitterOffsetSeconds }: CronRecord): string | null {
  return jitterSeconds === 0 ? null : `below ${jitterSeconds} s: fires ${jitterOffsetSeconds} s after each time`
}

function retriesText({ maxRetries, retryBackoff, retryDelaySeconds, retryMaxDelaySeconds }: CronRecord): string {
  return maxRetries === 0 ? '0' : `${maxRetries} (${retryBackoff}, ${retryDelaySeconds} s to ${retryMaxDelaySeconds} s)`
}

/** The first of those that are made up for is unfinished when the next ones are judged. */
const makesUpForOneOnly = ({ overlapPolicy, misfirePolicy }: CronRecord): boolean =>
  overlapPolicy === 'skip' && misfirePolicy === 'fire_all'

const ONE_ONLY_NOTE = 'overlap skip makes one task of all that were missed at a time; --overlap queue makes all'

/** Fire times in the schedule's zone, in UTC and from now, a line each. */
export function renderFireTimes(fireTimes: readonly Date[], timezone: string, now: Date): string {
  if (fireTimes.length === 0) return 'Nothing comes.\n'
  const zone = timezone === 'UTC' ? [] : [timezone.toUpperCase()]
  const local = (at: Date) => (timezone === 'UTC' ? [] : [zoned(at, timezone)])
  return table(
    [...zone, 'UTC', 'WHEN'],
    fireTimes.map((at) => [...local(at), utc(at), fromNow(at, now)]),
  )
}

export function renderCrons(crons: readonly CronSummary[], now: Date): string {
  if (crons.length === 0) return 'No recurring tasks.\n'
  const rows = crons.map((cron) => [
    cron.name,
    cron.cronExpression ?? (cron.everySeconds === null ? null : `every ${asFlag(cron.everySeconds)}`),
    cron.timezone,
    cron.nextFireTime && fromNow(cron.nextFireTime, now),
    cron.lastFiredAt && fromNow(cron.lastFiredAt, now),
    cron.error === null ? cron.status : `${cron.status} (can't be evaluated)`,
    cron.taskType,
    cron.tenantId,
    cron.id,
  ])
  return table(['NAME', 'SCHEDULE', 'ZONE', 'NEXT', 'LAST', 'STATUS', 'TYPE', 'TENANT', 'ID'], rows)
}

/** Seconds as the flags take them, in the largest unit that leaves no rest. */
function asFlag(seconds: number): string {
  const [unit, size] = (
    [
      ['d', 86_400],
      ['h', 3_600],
      ['m', 60],
    ] as const
  ).find(([, each]) => seconds % each === 0) ?? ['s', 1]
  return `${seconds / size}${unit}`
}

export function renderFirings(firings: readonly FiringRecord[]): string {
  if (firings.length === 0) return 'Nothing fired yet.\n'
  const rows = firings.map((firing) => [utc(firing.fireTime), utc(firing.firedAt), firing.outcome, firing.taskId])
  return table(['FIRE TIME', 'DONE', 'OUTCOME', 'TASK'], rows)
}

/** RFC 3339, without milliseconds that are none. */
export const utc = (at: Date): string => at.toISOString().replace('.000Z', 'Z')
