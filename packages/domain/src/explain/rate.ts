/** A shorter look than this says little: counts come with a second's delay. */
const leastMs = 10_000

/** Starts, and the time in which they happened. */
export interface StartRate {
  readonly starts: number
  readonly windowMs: number
}

/**
 * At which rate a queue goes now: from its starts of the minute under way, of which `intoMinuteMs` have passed, and of the whole minutes
 * before it, the latest first. What lies before a minute without a start does not count: a queue that was resumed, or got its first
 * worker a moment ago, goes as it has gone since. In which second of its first minute it began is not known; so that minute is left
 * out where the others show a higher rate.
 */
export function recentRate(startsByMinute: readonly number[], intoMinuteMs: number): StartRate {
  const newest = startsByMinute.findIndex((starts) => starts > 0)
  if (newest < 0) return { starts: 0, windowMs: 0 }
  const after = startsByMinute.findIndex((starts, minute) => minute > newest && starts === 0)
  const oldest = (after < 0 ? startsByMinute.length : after) - 1
  const whole = rateOver(startsByMinute, oldest, intoMinuteMs)
  if (after < 0 || oldest === newest) return whole
  const later = rateOver(startsByMinute, oldest - 1, intoMinuteMs)
  const isHigher = later.starts / later.windowMs > whole.starts / whole.windowMs
  return later.windowMs >= leastMs && isHigher ? later : whole
}

function rateOver(startsByMinute: readonly number[], oldest: number, intoMinuteMs: number): StartRate {
  const starts = startsByMinute.slice(0, oldest + 1).reduce((sum, each) => sum + each, 0)
  return { starts, windowMs: intoMinuteMs + oldest * 60_000 }
}
