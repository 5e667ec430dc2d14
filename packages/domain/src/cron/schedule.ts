import { DulyError } from '../errors.js'
import { limits } from '../limits.js'
import { compileCron } from './compile-cron.js'
import { EveryEvaluator } from './evaluator.js'

/** When a recurring task fires: by the clocks of a time zone, or at a fixed real distance from an anchor. */
export type Schedule =
  | { readonly kind: 'cron'; readonly expression: string; readonly timezone: string }
  | { readonly kind: 'every'; readonly everyMs: number; readonly anchorMs: number }

/** Fire times as instants in ms since 1970, from 1970 to 9999; each answer depends on the question and the definition alone. */
export interface CompiledSchedule {
  /** The first fire time strictly after the instant; null if there is none. */
  next(afterMs: number): number | null
  /** The last fire time at or before the instant; null if there is none. */
  previous(beforeOrAtMs: number): number | null
}

/**
 * Checks a schedule and makes it ready to be asked. Cheap to call again: evaluators are shared by expression and zone.
 * @throws DulyError `invalid_request` with the field and a way to write it; `unprocessable` if it can never fire
 */
export function parseSchedule(schedule: Schedule): CompiledSchedule {
  if (schedule.kind === 'cron') return compileCron(schedule.expression, schedule.timezone)
  const { everyMs, anchorMs } = schedule
  const isWhole = Number.isSafeInteger(everyMs) && Number.isSafeInteger(anchorMs)
  if (!isWhole || everyMs < limits.cronEveryMinMs || everyMs > limits.delayMaxMs) {
    const message = `must be ${limits.cronEveryMinMs / 1_000} to ${limits.delayMaxMs / 1_000} seconds, in whole milliseconds`
    throw new DulyError('invalid_request', `every_seconds ${message}.`, {
      errors: [{ path: 'every_seconds', message }],
    })
  }
  return new EveryEvaluator(everyMs, anchorMs)
}
