import type { ProgressFacts } from '@duly/domain'
import type { LogLine } from './workers.js'

/** A line of a task's log as it is kept. */
export interface StoredLine extends Omit<LogLine, 'lease' | 'id' | 'number'> {
  /** From 1, over all attempts and runs. */
  readonly line: number
  readonly attempt: number
}

/** Which lines: behind the number `after`; null: whichever. */
export interface LogRequest {
  readonly after: number
  readonly limit: number
  readonly attempt: number | null
  readonly levels: readonly LogLine['level'][] | null
}

export interface LogPage {
  readonly lines: readonly StoredLine[]
  /** Behind which line the next page begins: that of the last line that was looked at, which need not be one that fits. */
  readonly next: number
  /** There are more that fit already. */
  readonly hasMore: boolean
  /** The task has ended, and there is nothing more. */
  readonly isComplete: boolean
  /** Lines that the log had no room for. */
  readonly dropped: number
  readonly progress: ProgressFacts | null
}
