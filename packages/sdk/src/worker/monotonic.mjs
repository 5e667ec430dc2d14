/**
 * The monotonic clock, ms. Unlike `performance.now()` it has one origin for all threads of the process, so that instants can
 * travel between them.
 */
export function monotonicMs() {
  return Number(process.hrtime.bigint()) / 1_000_000
}
