import type { BackoffKind, JitterKind, Priority } from '../define-task.js'
import type { Metadata } from './records.js'

export type OverlapPolicy = 'skip' | 'queue' | 'cancel_running'
export type MisfirePolicy = 'fire_once' | 'skip' | 'fire_all'
export type CronStatus = 'ACTIVE' | 'PAUSED' | 'ENDED'

/** A recurring task as a list tells it: all but its payload. */
export interface CronSummary {
  readonly id: string
  readonly name: string
  readonly tenantId: string
  readonly status: CronStatus
  readonly enabled: boolean
  readonly cronExpression: string | null
  readonly everySeconds: number | null
  readonly timezone: string
  /** The schedule in words. */
  readonly description: string
  /** Without jitter; null unless ACTIVE. */
  readonly nextFireTime: Date | null
  /** The nominal time of the last firing that made a task. */
  readonly lastFireTime: Date | null
  /** When that task was made. */
  readonly lastFiredAt: Date | null
  readonly lastTaskId: string | null
  /** Tasks made so far. */
  readonly fired: number
  /** Firings that made none, by overlap or misfire policy; what was missed at a time counts as one. */
  readonly skipped: number
  /** Why it could not be evaluated; null: it could. */
  readonly error: string | null
  readonly overlapPolicy: OverlapPolicy
  readonly misfirePolicy: MisfirePolicy
  readonly misfireGraceSeconds: number
  readonly startsAt: Date | null
  readonly endsAt: Date | null
  readonly jitterSeconds: number
  /** How long after each fire time it fires: its own share of the jitter. */
  readonly jitterOffsetSeconds: number
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly taskType: string
  readonly queue: string
  readonly priority: Priority
  readonly metadata: Metadata | null
  readonly tags: readonly string[]
  readonly expiresAt: Date | null
  readonly maxRetries: number
  readonly retryBackoff: BackoffKind
  readonly retryJitter: JitterKind
  readonly retryDelaySeconds: number
  readonly retryMaxDelaySeconds: number
  readonly timeoutSeconds: number
  readonly resultTtlSeconds: number | null
  readonly concurrencyKey: string | null
}

/** Everything the server tells of a recurring task. */
export interface CronRecord<Payload = unknown> extends CronSummary {
  readonly payload: Payload
}

/** What became of one fire time. */
export interface FiringRecord {
  readonly fireTime: Date
  readonly firedAt: Date
  readonly outcome: 'fired' | 'triggered' | 'skipped_overlap' | 'skipped_misfire'
  readonly taskId: string | null
}

export interface SchedulePreview {
  readonly fireTimes: readonly Date[]
  readonly description: string
}

/** What became of one line of a crontab. */
export interface ImportedLine {
  readonly line: number
  readonly text: string
  readonly result: 'created' | 'replaced' | 'unchanged' | 'would_import' | 'ignored' | 'refused'
  readonly cronId: string | null
  readonly name: string | null
  readonly message: string | null
}

export interface ImportedCrontab {
  readonly lines: readonly ImportedLine[]
  readonly imported: number
  readonly refused: number
}
