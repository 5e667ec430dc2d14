import type { FiringPlan, Uuid } from '@duly/domain'
import type { CronTemplate } from '../model.js'
import { unpackTemplate } from '../store/cron-template.js'
import type { DueCron, Move, NewFiring } from '../store/firing-store.js'
import { judge, wakeAt } from './schedule.js'

/** A definition that was judged: what it fires, of what. */
export interface Judged {
  readonly due: DueCron
  readonly plan: FiringPlan
  readonly template: Omit<CronTemplate, 'payload'>
}

/** One that could not be. */
export interface Unjudged {
  readonly due: DueCron
  readonly error: string
}

/** Tasks of one transaction, and bytes of their payloads. */
const maxTasks = 1_000
const maxPayloadBytes = 8 * 1024 * 1024
const maxErrorChars = 500

/** Judges each definition for itself: one that cannot be evaluated keeps no other from firing. */
export function judgeAll(dues: readonly DueCron[]): { readonly judged: Judged[]; readonly unjudged: Unjudged[] } {
  const judged: Judged[] = []
  const unjudged: Unjudged[] = []
  for (const due of dues) {
    try {
      judged.push({ due, plan: affordable(due, judge(due)), template: unpackTemplate(due) })
    } catch (error) {
      unjudged.push({ due, error: messageOf(error) })
    }
  }
  return { judged, unjudged }
}

export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, maxErrorChars)

/**
 * Of a plan, what fits into one transaction by the bytes of its payloads, at least one firing; the rest is due at once, in the next one. A
 * plan of which one task at most is made stays whole: cut, it would make one in each part.
 */
function affordable({ overlap, payloadBytes }: DueCron, plan: FiringPlan): FiringPlan {
  const most = Math.max(1, Math.floor(maxPayloadBytes / Math.max(1, payloadBytes)))
  const next = plan.fire[most]
  if (overlap !== 'queue' || next === undefined) return plan
  return { ...plan, fire: plan.fire.slice(0, most), nextFireAtMs: next }
}

/** As many of them as one transaction takes, at least one: the others stay due, and are the next batch's. */
export function bounded(judged: readonly Judged[]): readonly Judged[] {
  let tasks = 0
  let bytes = 0
  const end = judged.findIndex(({ due, plan }, index) => {
    tasks += plan.fire.length
    bytes += (due.overlap === 'queue' ? plan.fire.length : Math.min(1, plan.fire.length)) * due.payloadBytes
    return index > 0 && (tasks > maxTasks || bytes > maxPayloadBytes)
  })
  return end === -1 ? judged : judged.slice(0, end)
}

/**
 * The fire times of a definition with what becomes of each. A task that is made now is unfinished: under any policy but `queue` one
 * batch makes one task at most, the first by `skip` (it is running then), the last by `cancel_running` (the others would be cancelled).
 */
export function firingsOf({ due, plan }: Judged, isBusy: boolean, mint: () => Uuid): readonly NewFiring[] {
  const { id: cronId, tenant, overlap } = due
  const made = overlap === 'cancel_running' ? plan.fire.length - 1 : 0
  const makesTask = (index: number): boolean =>
    overlap === 'queue' || (index === made && !(overlap === 'skip' && isBusy))
  const fired = plan.fire.map((fireAtMs, index): NewFiring => {
    if (makesTask(index)) return { cronId, tenant, fireAtMs, outcome: 'fired', taskId: mint() }
    return { cronId, tenant, fireAtMs, outcome: 'skipped_overlap', taskId: null }
  })
  if (plan.skipped === null) return fired
  // one row for all that was missed: there may be a year of seconds between the first and the last
  return [{ cronId, tenant, fireAtMs: plan.skipped.toMs, outcome: 'skipped_misfire', taskId: null }, ...fired]
}

/** Where the definition goes on, given the firings of it that were judged now and not before. */
export function moveOf({ due, plan }: Judged, won: readonly NewFiring[]): Move {
  const tasks = won.filter(({ taskId }) => taskId !== null)
  const last = tasks.at(-1)
  return {
    id: due.id,
    fromMs: due.nextFireAtMs,
    nextMs: plan.nextFireAtMs,
    wakeAtMs: wakeAt(due.id, due.jitterMs, plan.nextFireAtMs),
    fired: tasks.length,
    skipped: won.length - tasks.length,
    last: last?.taskId ? { fireAtMs: last.fireAtMs, taskId: last.taskId } : null,
  }
}
