import { CronEvaluator } from './evaluator.js'
import { parseCron } from './parse-cron.js'
import { RecentMap } from './recent-map.js'
import type { CompiledSchedule } from './schedule.js'
import { checkTimeZone, Zone } from './zone.js'

/**
 * A compiled definition takes some 300 bytes with its key: what a million different ones would take is bounded, at the price of
 * compiling anew, some 13 µs.
 */
const evaluators = new RecentMap<CompiledSchedule>(10_000)

/** There are some 600 names of zones, each with the years that were asked for: 350 bytes and 0.2 ms a year. */
const zones = new RecentMap<Zone>(1_000)

/**
 * The evaluator of an expression in a zone; shared by all who ask for the same.
 * @throws DulyError `invalid_request` for what can't be read, with how to write it; `unprocessable` for dates that never come
 */
export function compileCron(expression: string, timezone: string): CompiledSchedule {
  const key = `${timezone} ${expression}`
  const known = evaluators.get(key)
  if (known !== undefined) return known
  const fields = parseCron(expression)
  const compiled = new CronEvaluator(fields, zoneOf(timezone))
  evaluators.set(key, compiled)
  return compiled
}

function zoneOf(name: string): Zone {
  const known = zones.get(name)
  if (known !== undefined) return known
  checkTimeZone(name)
  const zone = new Zone(name)
  zones.set(name, zone)
  return zone
}
