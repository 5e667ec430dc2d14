import { limits } from '../limits.js'
import type { CronFields } from './fields.js'
import type { CompiledSchedule } from './schedule.js'
import { nextReading, previousReading } from './wall-search.js'
import type { Zone } from './zone.js'

const secondMs = 1_000

/** Clocks of two zones are at most 26 h apart, so what a clock change repeats lies within this of it. */
const reachMs = 27 * 3_600_000

/**
 * Steps from one clock change to another before a search gives up, at most four for each match: a schedule whose matches fall into gaps
 * year after year (`* 2 * 3 SUN#2` in New York) is taken as one that never fires.
 */
const stepsMax = 100

/** Fire times of a cron expression in a time zone. Its answers depend on the instant that is asked and on nothing else. */
export class CronEvaluator implements CompiledSchedule {
  readonly #fields: CronFields
  readonly #zone: Zone

  constructor(fields: CronFields, zone: Zone) {
    this.#fields = fields
    this.#zone = zone
  }

  next(afterMs: number): number | null {
    const from = Math.max(floorSecond(afterMs) + secondMs, limits.instantMinMs)
    if (from > limits.instantMaxMs) return null
    const found = this.#fields.fixed ? this.#nextFixed(from) : this.#nextReal(from)
    return found === null || found > limits.instantMaxMs ? null : found
  }

  previous(beforeOrAtMs: number): number | null {
    const to = floorSecond(Math.min(beforeOrAtMs, limits.instantMaxMs))
    if (to < limits.instantMinMs) return null
    const found = this.#fields.fixed ? this.#previousFixed(to) : this.#previousReal(to)
    return found === null || found < limits.instantMinMs ? null : found
  }

  /**
   * A local time fires when the zone's clocks first reach it or jump over it. So the next one is the first that they have not reached.
   */
  #nextFixed(from: number): number | null {
    const reading = nextReading(this.#fields, this.#frontier(from - secondMs) + secondMs)
    return reading === null ? null : this.#reached(reading)
  }

  #previousFixed(to: number): number | null {
    const reading = previousReading(this.#fields, this.#frontier(to))
    return reading === null ? null : this.#reached(reading)
  }

  /**
   * The furthest whole second that the zone's clocks have shown up to the instant: in the second pass of an hour it is the end of the
   * first.
   */
  #frontier(instantMs: number): number {
    const stretch = this.#zone.at(instantMs)
    let furthest = instantMs + stretch.offsetMs
    for (let startMs = stretch.startMs; startMs > instantMs - reachMs; ) {
      const before = this.#zone.at(startMs - 1)
      furthest = Math.max(furthest, startMs - secondMs + before.offsetMs)
      startMs = before.startMs
    }
    return furthest
  }

  /** The first instant at which the zone's clocks show this reading or a later one. */
  #reached(readingMs: number): number {
    let stretch = this.#zone.at(readingMs - reachMs)
    while (stretch.endMs + stretch.offsetMs <= readingMs) stretch = this.#zone.at(stretch.endMs)
    return Math.max(readingMs - stretch.offsetMs, stretch.startMs)
  }

  /** Each real second whose local reading matches: both passes of a repeated hour, and nothing in a gap. */
  #nextReal(from: number): number | null {
    let at = from
    for (let steps = 0; steps < stepsMax; steps++) {
      const stretch = this.#zone.at(at)
      const reading = nextReading(this.#fields, at + stretch.offsetMs)
      if (reading === null) return null
      const found = reading - stretch.offsetMs
      if (found < stretch.endMs) return found
      // A clock change nearby may repeat readings that match; none lies between it and the reading otherwise.
      at = stretch.endMs < at + reachMs ? stretch.endMs : Math.max(stretch.endMs, reading - reachMs)
    }
    return null
  }

  #previousReal(to: number): number | null {
    let at = to
    for (let steps = 0; steps < stepsMax; steps++) {
      const stretch = this.#zone.at(at)
      const reading = previousReading(this.#fields, at + stretch.offsetMs)
      if (reading === null) return null
      const found = reading - stretch.offsetMs
      if (found >= stretch.startMs) return found
      const before = stretch.startMs - secondMs
      at = before > at - reachMs ? before : Math.min(before, reading + reachMs)
    }
    return null
  }
}

function floorSecond(ms: number): number {
  return Math.floor(ms / secondMs) * secondMs
}

/** Fire times that are a fixed real time apart, from an anchor on: no time zone moves them and no late firing does. */
export class EveryEvaluator implements CompiledSchedule {
  readonly #everyMs: number
  readonly #anchorMs: number

  constructor(everyMs: number, anchorMs: number) {
    this.#everyMs = everyMs
    this.#anchorMs = anchorMs
  }

  next(afterMs: number): number | null {
    const steps = Math.max(Math.floor((afterMs - this.#anchorMs) / this.#everyMs) + 1, 0)
    const found = this.#anchorMs + steps * this.#everyMs
    return found > limits.instantMaxMs ? null : found
  }

  previous(beforeOrAtMs: number): number | null {
    const steps = Math.floor((Math.min(beforeOrAtMs, limits.instantMaxMs) - this.#anchorMs) / this.#everyMs)
    return steps < 0 ? null : this.#anchorMs + steps * this.#everyMs
  }
}
