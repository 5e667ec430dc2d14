/**
 * An instant on the clocks of a time zone: `Tue 2026-12-01 09:00:00 -05:00`. Undefined for a zone that this Node does not know: the
 * server's may.
 */
export function zoned(at: Date, timezone: string): string | undefined {
  const format = formatOf(timezone)
  if (format === undefined) return undefined
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  const offset = part.timeZoneName?.replace('GMT', '') || '+00:00'
  const day = `${part.weekday} ${part.year}-${part.month}-${part.day}`
  return `${day} ${part.hour}:${part.minute}:${part.second} ${offset}`
}

function formatOf(timezone: string): Intl.DateTimeFormat | undefined {
  const two = '2-digit'
  try {
    return new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: timezone, timeZoneName: 'longOffset', hourCycle: 'h23', weekday: 'short' },
      ...{ year: 'numeric', month: two, day: two, hour: two, minute: two, second: two },
    })
  } catch {
    return undefined
  }
}

/** Units of a span, and from where on the next one is used, ms: a span is told by two of them at least, or by seconds. */
const UNITS = [
  ['s', 1_000, 90_000],
  ['min', 60_000, 5_400_000],
  ['h', 3_600_000, 129_600_000],
  ['d', 86_400_000, Number.POSITIVE_INFINITY],
] as const

/** How far an instant is from now, to the nearest unit: `in 3 h`, `2 d ago`, `now`. */
export function fromNow(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime()
  const span = Math.abs(ms)
  if (span < 1_000) return 'now'
  const [unit, size] = UNITS.find(([, , below]) => span < below) ?? UNITS[3]
  const amount = `${Math.round(span / size)} ${unit}`
  return ms < 0 ? `${amount} ago` : `in ${amount}`
}
