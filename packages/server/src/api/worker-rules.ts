import { limits } from '@duly/domain'
import type { Captures } from './json-captures.js'
import { type RuleError, sizeError } from './submission-rules.js'

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Which outcome a field of a report belongs to. */
const owners = {
  result: 'succeeded',
  error: 'failed',
  retry_after_seconds: 'failed',
  delay_seconds: 'snoozed',
} as const

function reportErrors(value: unknown, path: string): RuleError[] {
  const report = fieldsOf(value)
  const errors: RuleError[] = []
  for (const [field, outcome] of Object.entries(owners)) {
    if (report[field] !== undefined && report.outcome !== outcome) {
      errors.push({ path: `${path}.${field}`, message: `belongs to the outcome ${outcome} only` })
    }
  }
  if (report.outcome === 'snoozed' && report.delay_seconds === undefined) {
    errors.push({ path: `${path}.delay_seconds`, message: 'is required with the outcome snoozed' })
  }
  return errors
}

/** Rules of `reports`: sizes of results, and which fields go with which outcome. */
export function reportsErrors(body: unknown, captures: Captures, resultMaxBytes: number): RuleError[] {
  return listOf(fieldsOf(body).reports).flatMap((report, item) => [
    ...sizeError(`reports[${item}].result`, captures.text('reports[*].result', item), resultMaxBytes),
    ...reportErrors(report, `reports[${item}]`),
  ])
}

/** Rules of a heartbeat: sizes of checkpoints. */
export function checkpointErrors(body: unknown, captures: Captures): RuleError[] {
  return listOf(fieldsOf(body).checkpoints).flatMap((_, item) =>
    sizeError(`checkpoints[${item}].value`, captures.text('checkpoints[*].value', item), limits.checkpointMaxBytes),
  )
}
