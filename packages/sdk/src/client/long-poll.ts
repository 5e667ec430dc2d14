import { toMs } from '../duration.js'
import { Patience } from './patience.js'
import type { WaitOptions } from './task-handle.js'

/** Longest single wait, s: safely below the server's limit (60) and the patience of proxies. */
const LONGEST_WAIT_SECONDS = 30

/** One held request. */
export interface LongPoll {
  readonly waitSeconds: number
  readonly signal?: AbortSignal
}

/**
 * Asks again and again, each time for at most 30 s, until the record is done or the time is over; then the record as it stands. An outage of
 * the server is waited out, for a minute without any answer.
 */
export async function longPoll<Record>(
  ask: (poll: LongPoll) => Promise<Record>,
  isDone: (record: Record) => boolean,
  { signal, timeout }: WaitOptions,
): Promise<Record> {
  const end = performance.now() + (timeout === undefined ? Number.POSITIVE_INFINITY : toMs(timeout))
  const patience = new Patience(signal)
  for (;;) {
    const leftSeconds = Math.max(0, end - performance.now()) / 1_000
    const waitSeconds = Math.min(LONGEST_WAIT_SECONDS, leftSeconds)
    try {
      const record = await ask(signal === undefined ? { waitSeconds } : { waitSeconds, signal })
      if (isDone(record) || performance.now() >= end) return record
      patience.heard()
    } catch (error) {
      if (performance.now() >= end) throw error
      await patience.bear(error)
    }
  }
}

/** The query of a held request: whole milliseconds, since the server takes no number with more than nine decimals. */
export function waitQuery(waitSeconds = 0): { readonly query: string; readonly waitMs: number } {
  const waitMs = Math.round(waitSeconds * 1_000)
  return { query: waitMs > 0 ? `?wait_seconds=${waitMs / 1_000}` : '', waitMs }
}
