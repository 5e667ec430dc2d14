export interface StatsRequest {
  readonly windowMs: number
  readonly by: 'queue' | 'task_type' | 'tenant' | null
}

export interface Quantiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/** What tasks did in a window, and what waits and runs now. */
export interface FigureRecord {
  readonly submitted: number
  readonly started: number
  readonly succeeded: number
  readonly failed: number
  readonly dead: number
  readonly cancelled: number
  readonly retried: number
  readonly lost: number
  readonly timedOut: number
  readonly submittedPerSecond: number
  readonly startedPerSecond: number
  readonly finishedPerSecond: number
  readonly errorRate: number | null
  readonly waitMs: Quantiles | null
  readonly runMs: Quantiles | null
  /** Null: not kept. */
  readonly depth: number | null
  readonly running: number
}

export interface StatsRecord {
  readonly fromMs: number
  readonly toMs: number
  readonly totals: FigureRecord
  readonly by: StatsRequest['by']
  readonly items: readonly (FigureRecord & { readonly name: string })[]
}
