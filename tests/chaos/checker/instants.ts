/** Clocks are read to the millisecond. */
export const ROUNDING_MS = 2

/**
 * An instant of the store is that at which a transaction began. It can have waited for others since, or for a node that stood still, so
 * that of two such instants this near to each other nobody knows which came first.
 */
export const TURN_MS = 10_000
