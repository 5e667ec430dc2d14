const TICK_MS = 50

/**
 * A clock that stands still while this process does not get to run, paused or on a machine that is short of time: it counts the turns of
 * a timer. For what must end within a time of its own.
 *
 * @returns stops it and tells the ms that have passed
 */
export function startRunningClock(): () => number {
  let ticks = 0
  const timer = setInterval(() => {
    ticks += 1
  }, TICK_MS)
  return () => {
    clearInterval(timer)
    return ticks * TICK_MS
  }
}
