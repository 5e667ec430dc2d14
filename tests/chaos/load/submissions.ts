import type { Submission } from './client.js'
import { boundsOf, type PlanName, type PlannedPayload } from './plans.js'
import type { Random } from './random.js'

/** How often each plan is drawn. */
export type Mix = Readonly<Partial<Record<PlanName, number>>>

const defaultMix = {
  succeed: 50,
  work: 12,
  flaky: 15,
  snooze: 5,
  permanent: 8,
  doomed: 6,
} as const satisfies Mix

export const QUEUE = 'chaos'
/** A second one for nodes of workflows; it is paused at times. */
export const SIDE_QUEUE = 'chaos-side'
export const TENANTS = ['acme', 'bolt', 'crane']

/** Draws a submission: its plan, and all that may vary in how it is asked for. */
export function drawSubmission(
  random: Random,
  mark: string,
  { mix = defaultMix, delayed = 0.2 }: { readonly mix?: Mix | undefined; readonly delayed?: number | undefined } = {},
): Submission {
  const plan = random.weighted<PlanName>(mix as Record<PlanName, number>)
  const isKeyed = random.next() < 0.5
  const isDelayed = random.next() < delayed
  return {
    ...submissionOf(plan, mark),
    payload: {
      mark,
      plan,
      ...(plan === 'work' ? { work_ms: random.integer(50, 1_500) } : {}),
      ...(plan === 'flaky' ? { fail_times: random.integer(1, 3) } : {}),
    },
    priority: random.pick(['high', 'medium', 'low']),
    metadata: { tenant_id: random.pick(TENANTS) },
    retry_backoff: random.pick(['exponential', 'linear', 'fixed']),
    retry_jitter: random.pick(['full', 'equal', 'decorrelated', 'none']),
    ...(isKeyed ? { idempotency_key: `key-${mark}` } : {}),
    ...(isDelayed ? { delay_seconds: random.between(0.05, 2) } : {}),
  }
}

/** The plain submission of a plan; `payload` says how long it works, or how often it fails. */
export function submissionOf(plan: PlanName, mark: string, payload: Partial<PlannedPayload> = {}): Submission {
  const { retries, timeoutMs } = boundsOf(plan)
  return {
    task_type: `chaos.${plan}`,
    queue: QUEUE,
    payload: { mark, plan, ...payload },
    max_retries: retries,
    retry_delay_seconds: 0.1,
    retry_max_delay_seconds: 0.5,
    timeout_seconds: timeoutMs / 1_000,
  }
}
