import type { Priority } from '../lane.js'
import type { Backoff, Jitter } from '../retry.js'
import type { Uuid } from '../uuid.js'
import type { TriggerRule } from '../workflow/index.js'
import type { CauseCode } from './codes.js'
import type { Blocker, BlockerFacts, ErrorFacts, NearWorker } from './facts.js'

/** How long the tasks ahead may take, and what that was reckoned from. */
export interface WaitEstimate {
  readonly waitMs: number
  readonly startsPerSecond: number
  readonly startsOf: 'queue' | 'tenant'
  readonly windowMs: number
  /** The part of those starts that its lane gets, 0 to 1. */
  readonly share: number
}

/** The numbers of a cause: each has those that belong to it. Instants are epoch ms. */
export interface CauseDetails {
  readonly queue?: string
  readonly taskType?: string
  readonly tenant?: string
  readonly priority?: Priority
  readonly gate?: string
  readonly pausedAtMs?: number | null
  readonly dueAtMs?: number | null
  readonly expiresAtMs?: number
  readonly startedAtMs?: number | null
  readonly deadlineAtMs?: number
  readonly endsAtMs?: number
  readonly endedAtMs?: number
  readonly completedAtMs?: number
  readonly cancelRequestedAtMs?: number
  readonly lastHeartbeatAtMs?: number | null
  readonly lastSeenAtMs?: number | null
  readonly updatedAtMs?: number
  /** Until the instant of the cause. */
  readonly inMs?: number
  /** Since the instant of the cause. */
  readonly forMs?: number
  readonly workers?: number
  readonly slots?: number
  readonly running?: number
  readonly nearWorkers?: readonly NearWorker[]
  readonly ahead?: number
  readonly isAheadExact?: boolean
  readonly depth?: number
  readonly estimate?: WaitEstimate | null
  readonly priorities?: readonly { readonly priority: Priority; readonly share: number }[]
  readonly tenants?: number | null
  readonly gates?: number
  readonly share?: number
  readonly attempt?: number
  readonly failures?: number
  readonly maxRetries?: number
  readonly crashes?: number
  readonly maxCrashes?: number
  readonly undelivered?: number
  readonly snoozes?: number
  readonly delayMs?: number | null
  readonly delayFrom?: 'backoff' | 'handler' | null
  readonly backoff?: Backoff
  readonly jitter?: Jitter
  readonly error?: ErrorFacts | null
  readonly workerId?: Uuid | null
  readonly workerName?: string | null
  readonly isLeaseLive?: boolean
  readonly percent?: number
  readonly note?: string | null
  readonly reason?: string | null
  readonly actor?: string | null
  readonly blockers?: readonly Blocker[]
  readonly blockerCount?: number
  readonly triggerRule?: TriggerRule
}

/** One cause of how a task stands, in a sentence and in numbers. */
export interface Cause extends CauseDetails {
  readonly code: CauseCode
  /** One sentence for a person. */
  readonly message: string
}

export const cause = (code: CauseCode, message: string, details: CauseDetails = {}): Cause => ({
  code,
  message,
  ...details,
})

/** The numbers of what a task waits for, or was not run for. */
export const blockerDetails = ({ tasks, count, rule }: BlockerFacts): CauseDetails => ({
  blockers: tasks,
  blockerCount: count,
  ...(rule === null ? {} : { triggerRule: rule }),
})
