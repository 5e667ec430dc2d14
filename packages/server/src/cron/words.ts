import { describeSchedule } from '@duly/domain'
import type { StoredTiming } from './schedule.js'

/** The schedule in words; of one that can't be read any more, as it is written. */
export function describe({ expression, everyMs, timezone, anchorAtMs }: StoredTiming): string {
  try {
    if (expression !== null) return describeSchedule({ kind: 'cron', expression, timezone })
    return describeSchedule({ kind: 'every', everyMs: everyMs ?? 0, anchorMs: anchorAtMs })
  } catch {
    return expression ?? `every ${(everyMs ?? 0) / 1_000} s`
  }
}
