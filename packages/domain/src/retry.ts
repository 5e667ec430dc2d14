import { limits } from './limits.js'

/** How the delay grows from failure to failure. */
export const backoffs = ['exponential', 'linear', 'fixed'] as const
export type Backoff = (typeof backoffs)[number]

/** How the delay is drawn, so that tasks which failed together do not return together. */
export const jitters = ['full', 'equal', 'decorrelated', 'none'] as const
export type Jitter = (typeof jitters)[number]

/** `maxRetries: 3` means at most four failures. `delayMs` is that of the first failure, `maxDelayMs` caps every draw. */
export interface RetryPolicy {
  readonly maxRetries: number
  readonly backoff: Backoff
  readonly jitter: Jitter
  readonly delayMs: number
  readonly maxDelayMs: number
}

/** The policy of a task that names none. */
export const defaultRetryPolicy: RetryPolicy = {
  maxRetries: 3,
  backoff: 'exponential',
  jitter: 'full',
  delayMs: 60_000,
  maxDelayMs: 3_600_000,
}

/** Losses after which a task is DEAD, unless set otherwise. */
export const defaultMaxCrashes = 3
/** Losses of a grant that was never acknowledged which are forgiven; each one after them is a crash. */
export const maxUndelivered = 10
/** Snoozes of one run; the next one makes the task DEAD. */
export const maxSnoozes = 1_000

/** 2^1023 is the largest power of two that a double holds. */
const largestExponent = 1_023

/**
 * The delay in whole ms before the n-th failure (n from 1) is tried again: 0 to `maxDelayMs`, finite for every n. Jitter as in "Exponential
 * Backoff and Jitter" (AWS Architecture Blog, 2015). Decorrelated jitter follows the previous draw and not the backoff.
 *
 * @param previousDelayMs the delay drawn for the failure before; null at the first
 * @param random uniform in [0, 1)
 */
export function retryDelayMs(
  policy: RetryPolicy,
  n: number,
  previousDelayMs: number | null,
  random: () => number,
): number {
  const max = Math.floor(policy.maxDelayMs)
  if (policy.jitter === 'decorrelated') {
    const upper = Math.max(policy.delayMs, 3 * (previousDelayMs ?? policy.delayMs))
    return Math.min(max, Math.round(uniform(policy.delayMs, upper, random)))
  }
  const delay = Math.min(max, policy.delayMs * growth(policy.backoff, n))
  if (policy.jitter === 'full') return Math.round(uniform(0, delay, random))
  if (policy.jitter === 'equal') return Math.round(uniform(delay / 2, delay, random))
  return Math.round(delay)
}

function growth(backoff: Backoff, n: number): number {
  if (backoff === 'exponential') return 2 ** Math.min(n - 1, largestExponent)
  return backoff === 'linear' ? n : 1
}

function uniform(from: number, to: number, random: () => number): number {
  return from + (to - from) * random()
}

/** A failed or timed-out attempt. `failures` is the count before it; `retryAfterMs` is the handler's wish. */
export interface Failure {
  readonly policy: RetryPolicy
  readonly failures: number
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  readonly previousDelayMs: number | null
}

/** What becomes of it, named as in the table of transitions, with the count to store. */
export type FailureVerdict =
  | { readonly kind: 'retry'; readonly failures: number; readonly delayMs: number }
  | { readonly kind: 'fail'; readonly failures: number }
  | { readonly kind: 'exhaust'; readonly failures: number }

/** Judges a failure. A permanent one does not raise `failures`; a wish of the handler wins over the draw and over `maxDelayMs`. */
export function judgeFailure(failure: Failure, random: () => number): FailureVerdict {
  const { policy, failures, retryable, retryAfterMs, previousDelayMs } = failure
  if (!retryable) return { kind: 'fail', failures }
  const raised = failures + 1
  if (raised > policy.maxRetries) return { kind: 'exhaust', failures: raised }
  const delayMs =
    retryAfterMs === null ? retryDelayMs(policy, raised, previousDelayMs, random) : wishedDelayMs(retryAfterMs)
  return { kind: 'retry', failures: raised, delayMs }
}

function wishedDelayMs(ms: number): number {
  return Math.round(Math.min(Math.max(ms, 0), limits.delayMaxMs))
}

/** A lease whose session is dead. `undelivered` and `crashes` are the counts before it; `acknowledged`: the worker had its grant. */
export interface Loss {
  readonly crashes: number
  readonly maxCrashes: number
  readonly undelivered: number
  readonly acknowledged: boolean
  readonly draining: boolean
}

/** What becomes of a loss. A suspect is dispatched so that a session holds at most one of them. */
export type LossVerdict =
  | { readonly kind: 'requeue'; readonly crashes: number; readonly undelivered: number; readonly suspect: boolean }
  | { readonly kind: 'exhaust'; readonly crashes: number }

/**
 * Judges a loss. From a draining session it counts as nothing. A grant that was never acknowledged raises `undelivered` instead of
 * `crashes`, up to `maxUndelivered`: a payload that kills its worker on receipt must end as a poison task all the same.
 */
export function judgeLoss({ crashes, maxCrashes, undelivered, acknowledged, draining }: Loss): LossVerdict {
  if (draining) return requeue(crashes, undelivered)
  if (!acknowledged && undelivered < maxUndelivered) return requeue(crashes, undelivered + 1)
  const raised = crashes + 1
  return raised >= maxCrashes ? { kind: 'exhaust', crashes: raised } : requeue(raised, undelivered)
}

function requeue(crashes: number, undelivered: number): LossVerdict {
  return { kind: 'requeue', crashes, undelivered, suspect: crashes > 0 || undelivered > 0 }
}

/** What becomes of a snooze. */
export type SnoozeVerdict = { readonly kind: 'snooze'; readonly snoozes: number } | { readonly kind: 'exhaust' }

/** Judges a snooze; `snoozes` is the count before it. */
export function judgeSnooze({ snoozes }: { readonly snoozes: number }): SnoozeVerdict {
  return snoozes >= maxSnoozes ? { kind: 'exhaust' } : { kind: 'snooze', snoozes: snoozes + 1 }
}
