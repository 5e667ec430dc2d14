import {
  type CompiledSchedule,
  type FiringPlan,
  firstFireAt,
  jitterOf,
  type MisfirePolicy,
  parseSchedule,
  planFirings,
  type Uuid,
} from '@duly/domain'
import type { CronTiming } from '../model.js'

/** When a definition fires, as its row has it. */
export interface StoredTiming extends CronTiming {
  readonly anchorAtMs: number
  readonly startsAtMs: number | null
  readonly endsAtMs: number | null
}

type NextAndEnd = Pick<StoredTiming, 'endsAtMs'> & { readonly nextFireAtMs: number | null }

/** What is judged of a definition whose time has come. */
export interface Judgeable extends StoredTiming {
  readonly id: Uuid
  readonly misfire: MisfirePolicy
  readonly graceMs: number
  readonly jitterMs: number
  readonly nextFireAtMs: number
  readonly nowMs: number
}

/** @throws DulyError `invalid_request` for what can't be read, `unprocessable` for what never fires */
export function compile({ expression, everyMs, timezone, anchorAtMs }: CronTiming & { anchorAtMs: number }) {
  if (expression !== null) return parseSchedule({ kind: 'cron', expression, timezone })
  return parseSchedule({ kind: 'every', everyMs: everyMs ?? 0, anchorMs: anchorAtMs })
}

/**
 * Where an interval is counted from: its start, or the instant at which it was set. An expression has no need of it.
 */
export function anchorOf({ startsAtMs }: { readonly startsAtMs: number | null }, nowMs: number): number {
  return startsAtMs ?? Math.floor(nowMs)
}

/** The first fire time after an instant, within the bounds; null: nothing comes any more. */
export function nextAfter(timing: StoredTiming, afterMs: number): number | null {
  return firstFireAt(compile(timing), timing, afterMs + 1)
}

/**
 * Whether a definition whose times stay what they are goes on from its next one, and needs no other: that one is before its new end, or
 * it has ended and still has.
 */
export function goesOn({ nextFireAtMs, endsAtMs }: NextAndEnd, changed: Pick<StoredTiming, 'endsAtMs'>): boolean {
  if (nextFireAtMs === null) return changed.endsAtMs === endsAtMs
  return changed.endsAtMs === null || nextFireAtMs <= changed.endsAtMs
}

/** The next fire times, `firstMs` among them if it is one. */
export function fireTimesFrom(timing: StoredTiming, firstMs: number, count: number): readonly number[] {
  const schedule = compile(timing)
  const found: number[] = []
  for (let at = firstFireAt(schedule, timing, firstMs); at !== null && found.length < count; ) {
    found.push(at)
    at = firstFireAt(schedule, timing, at + 1)
  }
  return found
}

/** When a node must look for a nominal time: moved by the definition's own share of the jitter. */
export function wakeAt(id: Uuid, jitterMs: number, fireAtMs: number | null): number | null {
  return fireAtMs === null ? null : fireAtMs + jitterOf(id, jitterMs)
}

/**
 * What to fire now. Judged in nominal time: a definition that is moved by its jitter lives that much later, grace and misfires
 * included, and its fire times are what its expression says.
 */
export function judge(definition: Judgeable): FiringPlan {
  const { startsAtMs, endsAtMs, nextFireAtMs, nowMs, misfire, graceMs } = definition
  const schedule: CompiledSchedule = compile(definition)
  return planFirings({
    ...{ schedule, startsAtMs, endsAtMs, nextFireAtMs },
    nowMs: nowMs - jitterOf(definition.id, definition.jitterMs),
    misfire: { policy: misfire, graceMs },
  })
}
