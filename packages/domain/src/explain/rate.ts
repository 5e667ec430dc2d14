/** A shorter look than this says nothing. */
const leastMs = 1_000
/** Counts come this late at most: they are written every five seconds. */
const lateMs = 7_000
const minuteMs = 60_000

/** What was counted in one minute. */
export interface MinuteStarts {
  readonly starts: number
  /** When in it the first start came; null: nobody wrote that down. */
  readonly firstMs: number | null
  /** Up to where in it starts were counted; null: nobody wrote that down. */
  readonly untilMs: number | null
}

/** Starts, and the time in which they happened; none, when there is too little to go by. */
export interface StartRate {
  readonly starts: number
  readonly windowMs: number
}

const unknown: StartRate = { starts: 0, windowMs: 0 }

/**
 * At which rate a queue goes now: from its starts of the minute under way, of which `intoMinuteMs` have passed, and of the whole minutes
 * before it, the latest first. What lies before a minute without a start does not count: a queue that was resumed, or got its first
 * worker a moment ago, goes as it has gone since. The time runs from its first start to where the latest were counted, or to now when that
 * is longer ago than counts come late.
 */
export function recentRate(minutes: readonly MinuteStarts[], intoMinuteMs: number): StartRate {
  const newest = minutes.findIndex(({ starts }) => starts > 0)
  if (newest < 0) return unknown
  const after = minutes.findIndex(({ starts }, minute) => minute > newest && starts === 0)
  const oldest = (after < 0 ? minutes.length : after) - 1
  const starts = minutes.slice(newest, oldest + 1).reduce((sum, minute) => sum + minute.starts, 0)
  const windowMs = agoOf(minutes, oldest, intoMinuteMs, 'firstMs') - uncountedMs(minutes, newest, intoMinuteMs)
  return windowMs < leastMs ? unknown : { starts, windowMs }
}

/** How long ago an instant of a minute is; of one that is not known, how long ago the minute began. */
const agoOf = (
  minutes: readonly MinuteStarts[],
  ago: number,
  intoMinuteMs: number,
  at: 'firstMs' | 'untilMs',
): number => ago * minuteMs + intoMinuteMs - (minutes[ago]?.[at] ?? 0)

/** What was started since the latest count is not counted yet, unless that is too long ago: then nothing was. */
function uncountedMs(minutes: readonly MinuteStarts[], newest: number, intoMinuteMs: number): number {
  if (minutes[newest]?.untilMs == null) return 0
  const ago = Math.max(0, agoOf(minutes, newest, intoMinuteMs, 'untilMs'))
  return ago <= lateMs ? ago : 0
}
