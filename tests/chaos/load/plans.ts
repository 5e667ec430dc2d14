import type { FailurePolicy, TaskStatus, TriggerRule } from '@duly/domain'

/** What a task of the load is to do; the test worker's handlers obey it (tests/chaos/worker.mjs). */
export interface Plan {
  /** How such a task may end when nobody cancels it and no worker dies under it. */
  readonly end: TaskStatus
  readonly doc: string
}

export const plans = {
  succeed: { end: 'SUCCEEDED', doc: 'returns at once' },
  work: {
    end: 'SUCCEEDED',
    doc: 'works for `work_ms` (its first attempt: `first_ms`), and stops at once when its signal aborts',
  },
  overrun: { end: 'DEAD', doc: 'works on past its time limit, and stops when its signal aborts' },
  flaky: { end: 'SUCCEEDED', doc: 'throws on its first `fail_times` attempts, then returns' },
  snooze: { end: 'SUCCEEDED', doc: 'asks once to be called again later, then returns' },
  permanent: { end: 'FAILED', doc: 'throws a permanent error' },
  doomed: { end: 'DEAD', doc: 'throws on every attempt' },
  poison: { end: 'DEAD', doc: 'kills its own process by SIGKILL' },
  crash: { end: 'SUCCEEDED', doc: 'kills its own process by SIGKILL on its first attempt, then returns' },
  grow: {
    end: 'SUCCEEDED',
    doc: 'adds `adds` to its workflow on every attempt, throws on its first `fail_times` ones, then returns',
  },
  launch: { end: 'SUCCEEDED', doc: 'submits `graph` as a workflow under the key of its firing, then returns its id' },
} as const satisfies Record<string, Plan>

export type PlanName = keyof typeof plans

export function isPlan(name: string | null): name is PlanName {
  return name !== null && Object.hasOwn(plans, name)
}

/** The payload of a task of the load. */
export interface PlannedPayload {
  /** Unique per submission, so that a task is found again without its id. */
  readonly mark: string
  readonly plan: PlanName
  readonly work_ms?: number
  readonly first_ms?: number
  readonly fail_times?: number
  /** Characters that make its result so large. */
  readonly pad?: number
  readonly adds?: readonly PlannedNode[]
  /** The number of the edit that put it in place of another one. */
  readonly edit?: number
  readonly graph?: LaunchedGraph
}

/** A workflow that a task submits; the marks of its nodes are told apart by the id of that task. */
export interface LaunchedGraph {
  readonly failurePolicy: FailurePolicy
  readonly nodes: readonly PlannedNode[]
}

/** The mark of what a task launches, or of a node of it. */
export const launchMark = (taskId: string, node?: string): string => `launch-${taskId}${node ? `/${node}` : ''}`

/** A task of a workflow of the load. */
export interface PlannedNode {
  readonly name: string
  readonly rule: TriggerRule
  /** The names that it depends on; none, of one that is added: the task that adds it. */
  readonly after: readonly string[]
  readonly payload: PlannedPayload
  /** Epoch ms; what has not started by then ends. */
  readonly expiresAt?: number | undefined
  /** The load's main one by default. */
  readonly queue?: string
}

/** How often a task may fail and go on, and how long it may take. What launches others has to get through, whatever fails around it. */
export function boundsOf(plan: PlanName): { readonly retries: number; readonly timeoutMs: number } {
  const retries = plan === 'launch' ? 100 : plan === 'doomed' || plan === 'overrun' ? 1 : 3
  return { retries, timeoutMs: plan === 'overrun' ? 300 : 60_000 }
}
