import type { LogLine, LogPage } from './records.js'
import { fromWire } from './wire.js'

/** A record of a followed log in the client's words. */
type LogRecord = { readonly cursor: string } & (
  | ({ readonly type: 'line' } & LogLine)
  | ({ readonly type: 'progress' } & NonNullable<LogPage['progress']>)
  | { readonly type: 'end'; readonly isComplete: boolean; readonly droppedLines: number }
)

/** Makes pages of the records of streams, one after the other, so that a log reads the same however it comes. */
export class StreamPages {
  #progress: LogPage['progress'] = null
  #droppedLines = 0

  /** One page of records that came together. */
  next(records: readonly Record<string, unknown>[]): LogPage {
    const items: LogLine[] = []
    let nextCursor: string | null = null
    let isComplete = false
    for (const record of records.map((each) => fromWire(each) as LogRecord)) {
      nextCursor = record.cursor
      if (record.type === 'line') items.push(lineOf(record))
      if (record.type === 'progress') {
        const { percent, note, updatedAt } = record
        this.#progress = { percent, note, updatedAt }
      }
      if (record.type === 'end') {
        isComplete = record.isComplete
        this.#droppedLines = record.droppedLines
      }
    }
    return {
      ...{ items, nextCursor: isComplete ? null : nextCursor, hasMore: false, isComplete },
      ...{ droppedLines: this.#droppedLines, progress: this.#progress },
    }
  }
}

const lineOf = ({ line, attempt, at, level, message }: LogLine): LogLine => ({ line, attempt, at, level, message })
