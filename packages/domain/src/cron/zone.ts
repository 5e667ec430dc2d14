import { DulyError } from '../errors.js'
import { civilFromDays, dayMs, daysFromCivil } from './calendar.js'

/** A stretch of real time in which a zone's clocks keep one distance from UTC. `endMs` is exclusive. */
export interface Stretch {
  readonly startMs: number
  readonly endMs: number
  /** Wall clock minus UTC. */
  readonly offsetMs: number
}

/**
 * How often a year is probed for changes of the clock: the shortest time between two of them since 1970 is just under 7 days (Brazil's
 * north-east in October 2000).
 */
const probeEveryMs = 3 * dayMs

/** Years that a zone keeps, about 300 bytes each; a search that goes further drops the one that came first. */
const yearsKept = 128

/** The clock changes of one time zone, read from the runtime's own data (`Intl`), a UTC year at a time, when asked for. */
export class Zone {
  readonly name: string
  readonly #years = new Map<number, readonly Stretch[]>()
  /** Almost every question is about the stretch of the question before. */
  #recent: Stretch = { startMs: 0, endMs: 0, offsetMs: 0 }

  constructor(name: string) {
    this.name = name
  }

  /** The stretch that the instant lies in. A stretch never spans the turn of a UTC year, so neighbours may have one offset. */
  at(instantMs: number): Stretch {
    const recent = this.#recent
    if (instantMs >= recent.startMs && instantMs < recent.endMs) return recent
    const found = this.#yearOf(instantMs).find(({ endMs }) => instantMs < endMs)
    if (found === undefined) throw new RangeError(`no instant: ${instantMs}`)
    this.#recent = found
    return found
  }

  #yearOf(instantMs: number): readonly Stretch[] {
    const { year } = civilFromDays(Math.floor(instantMs / dayMs))
    const known = this.#years.get(year)
    if (known !== undefined) return known
    const stretches = readYear(this.name, year)
    if (this.#years.size >= yearsKept) {
      for (const first of this.#years.keys()) {
        this.#years.delete(first)
        break
      }
    }
    this.#years.set(year, stretches)
    return stretches
  }
}

function readYear(zone: string, year: number): readonly Stretch[] {
  const start = daysFromCivil(year, 1, 1) * dayMs
  const end = daysFromCivil(year + 1, 1, 1) * dayMs
  const offsetAt = offsetReader(zone)
  const stretches: Stretch[] = []
  let startMs = start
  let offsetMs = offsetAt(start)
  for (let probe = start; probe < end; ) {
    const next = Math.min(probe + probeEveryMs, end)
    // The last millisecond of the year stands for its end, which is the next year's.
    const found = offsetAt(next === end ? end - 1 : next)
    if (found !== offsetMs) {
      const change = changeBetween({ offsetAt, offsetMs, fromMs: probe, toMs: next })
      stretches.push({ startMs, endMs: change, offsetMs })
      startMs = change
      offsetMs = found
    }
    probe = next
  }
  stretches.push({ startMs, endMs: end, offsetMs })
  return stretches
}

/** The whole second at which the offset stops being `offsetMs`. */
function changeBetween(search: {
  readonly offsetAt: (ms: number) => number
  readonly offsetMs: number
  readonly fromMs: number
  readonly toMs: number
}): number {
  let before = search.fromMs
  let after = search.toMs
  while (after - before > 1_000) {
    const middle = before + Math.floor((after - before) / 2_000) * 1_000
    if (search.offsetAt(middle) === search.offsetMs) before = middle
    else after = middle
  }
  return after
}

/** A formatter takes some 100 KB and is only needed to read a year, so none is kept. */
function offsetReader(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  return (ms) => {
    const text = format.format(ms)
    const sign = text.charAt(text.indexOf('GMT') + 3)
    const [hours, minutes, seconds] = text.slice(text.indexOf('GMT') + 4).split(':')
    const size = Number(hours) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0)
    return (sign === '-' ? -size : size) * 1_000
  }
}

/** Read as a zone by some systems and as another by the next one; `EST` and `MST` never change their clocks. */
const clearAbbreviations = ['UTC', 'GMT', 'CET', 'EET', 'MET', 'WET']

/**
 * Checks the name of a time zone. It is kept as it was given: the runtime's own canonical names are often the old ones (Asia/Calcutta).
 * @returns what is wrong with it and how to write it; null if it is the name of a zone
 */
export function timeZoneFault(name: string): string | null {
  const shown = JSON.stringify(name.slice(0, 60))
  if (!/^[A-Za-z][A-Za-z0-9+_/-]{1,63}$/.test(name)) {
    return `${shown} is not a time zone; write an IANA name such as "Europe/Amsterdam", or "UTC"`
  }
  const canonical = canonicalName(name)
  if (isAbbreviation(name, canonical)) {
    return `${shown} is ambiguous; write the IANA name of a place, such as "America/New_York", or "UTC"`
  }
  if (canonical === null)
    return `${shown} is not a time zone that is known here; write an IANA name such as "America/New_York"`
  if (canonical !== name && canonical.toLowerCase() === name.toLowerCase()) return `${shown} is written "${canonical}"`
  if (name.split('/').some((part) => !/^[A-Z]/.test(part)))
    return `${shown} is not written as IANA has it; try "${canonical}"`
  return null
}

/** `EST` and `est`, also `PST`, which the runtime does not know; `Foo` is just no zone. */
function isAbbreviation(name: string, canonical: string | null): boolean {
  const upper = name.toUpperCase()
  return /^[A-Z]{3}$/.test(upper) && !clearAbbreviations.includes(upper) && (canonical !== null || upper === name)
}

function canonicalName(name: string): string | null {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return null
  }
}

/** @throws DulyError `invalid_request` if it is no time zone, with a way to write it */
export function checkTimeZone(name: string): void {
  const message = timeZoneFault(name)
  if (message !== null) throw new DulyError('invalid_request', message, { errors: [{ path: 'timezone', message }] })
}
