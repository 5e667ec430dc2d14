/** Milliseconds, or a number with a unit: `'500ms'`, `'30s'`, `'1.5m'`, `'24h'`, `'7d'`. */
export type Duration = number | `${number}${Unit}`

type Unit = 'ms' | 's' | 'm' | 'h' | 'd'

const MS_PER_UNIT: Readonly<Record<Unit, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/**
 * A duration in milliseconds.
 *
 * @throws RangeError when it is negative, not finite or written in no known unit
 */
export function toMs(duration: Duration): number {
  if (typeof duration === 'number') {
    if (Number.isFinite(duration) && duration >= 0) return duration
  } else {
    const [, amount, unit] = FORM.exec(duration) ?? []
    if (amount !== undefined && unit !== undefined) return Number(amount) * MS_PER_UNIT[unit as Unit]
  }
  throw new RangeError(`not a duration: ${String(duration)} (write milliseconds, or e.g. '500ms', '30s', '24h', '7d')`)
}

/** The same duration in seconds, as it stands on the wire. */
export function toSeconds(duration: Duration): number {
  return toMs(duration) / 1_000
}
