import { partitionOfKey } from '../ids.js'
import { limits } from '../limits.js'
import type { Uuid } from '../uuid.js'
import type { CompiledSchedule } from './schedule.js'

/**
 * What becomes of fire times that were missed; missed is more than the grace late, because the fleet was down or the definition paused.
 */
export const misfirePolicies = ['fire_once', 'skip', 'fire_all'] as const
/** fire_once: one task, for the latest one. skip: none. fire_all: the latest 100, oldest first. */
export type MisfirePolicy = (typeof misfirePolicies)[number]

export interface Misfire {
  readonly policy: MisfirePolicy
  readonly graceMs: number
}

/** The instants between which a definition fires, both included; null is open. */
export interface FiringWindow {
  readonly startsAtMs: number | null
  readonly endsAtMs: number | null
}

export interface FiringQuestion extends FiringWindow {
  /** With the jitter of the definition in it, see `jittered`. */
  readonly schedule: CompiledSchedule
  /** The fire time that stands in the definition, the first one that was not judged; null if the definition has ended. */
  readonly nextFireAtMs: number | null
  /** By the store's clock. */
  readonly nowMs: number
  readonly misfire: Misfire
}

export interface FiringPlan {
  /** Fire times to make tasks for, oldest first, at most 100. */
  readonly fire: readonly number[]
  /** The first and the last fire time that are passed over by the misfire policy; null if none is. There may be millions between them. */
  readonly skipped: { readonly fromMs: number; readonly toMs: number } | null
  /**
   * The next one to judge. Usually after `nowMs`; not so if more were due than one look fires: look again at once. Null: the definition
   * has ended.
   */
  readonly nextFireAtMs: number | null
}

/**
 * The first fire time at or after an instant, within the window; null if there is none. For a new or changed definition: a null says
 * that it can never fire.
 */
export function firstFireAt(schedule: CompiledSchedule, window: FiringWindow, fromMs: number): number | null {
  return within(window, schedule.next(Math.max(fromMs, window.startsAtMs ?? fromMs) - 1))
}

/**
 * Judges a definition at an instant: which fire times become tasks now and which one is next. Each is judged by its own lateness, so a
 * short pause loses nothing, and the latest missed ones are found by searching back from now, not by stepping through a year of
 * seconds.
 */
export function planFirings(question: FiringQuestion): FiringPlan {
  const { schedule, nextFireAtMs: firstMs, nowMs, misfire } = question
  if (firstMs === null || firstMs > nowMs) return { fire: [], skipped: null, nextFireAtMs: within(question, firstMs) }
  // What is due at or after this is on time.
  const onTimeFromMs = nowMs - misfire.graceMs
  const missed = missedOf(question, onTimeFromMs)
  const fire = [...missed.fire]
  let nextMs = firstMs >= onTimeFromMs ? within(question, firstMs) : after(question, onTimeFromMs - 1)
  while (nextMs !== null && nextMs <= nowMs && fire.length < limits.cronFiringsMaxPerLook) {
    fire.push(nextMs)
    nextMs = within(question, schedule.next(nextMs))
  }
  return { fire, skipped: missed.skipped, nextFireAtMs: nextMs }
}

function after(question: FiringQuestion, instantMs: number): number | null {
  return within(question, question.schedule.next(instantMs))
}

function within({ endsAtMs }: FiringWindow, fireMs: number | null): number | null {
  return fireMs === null || (endsAtMs !== null && fireMs > endsAtMs) ? null : fireMs
}

function missedOf(question: FiringQuestion, onTimeFromMs: number): Pick<FiringPlan, 'fire' | 'skipped'> {
  const { schedule, nextFireAtMs: firstMs, endsAtMs, misfire } = question
  const lastMs = Math.min(onTimeFromMs - 1, endsAtMs ?? Number.POSITIVE_INFINITY)
  if (firstMs === null || firstMs > lastMs) return { fire: [], skipped: null }
  const fire: number[] = []
  let at: number | null = schedule.previous(lastMs)
  while (at !== null && at >= firstMs && fire.length < most(misfire.policy)) {
    fire.push(at)
    at = schedule.previous(at - 1)
  }
  // `at` is now the latest one that is passed over.
  return { fire: fire.reverse(), skipped: at === null || at < firstMs ? null : { fromMs: firstMs, toMs: at } }
}

function most(policy: MisfirePolicy): number {
  if (policy === 'skip') return 0
  return policy === 'fire_once' ? 1 : limits.cronFiringsMaxPerLook
}

/**
 * By how much a definition's fire times are moved: a constant from 0 to `jitterMs`, drawn from its id, so that those of one minute
 * spread and each keeps its distances.
 */
export function jitterOf(cronId: Uuid, jitterMs: number): number {
  return partitionOfKey('jitter', cronId, jitterMs + 1)
}

/** The schedule with all fire times moved later by the jitter. */
export function jittered(schedule: CompiledSchedule, jitterMs: number): CompiledSchedule {
  if (jitterMs === 0) return schedule
  const moved = (ms: number | null) => (ms === null ? null : ms + jitterMs)
  return {
    next: (afterMs) => moved(schedule.next(afterMs - jitterMs)),
    previous: (beforeOrAtMs) => moved(schedule.previous(beforeOrAtMs - jitterMs)),
  }
}
