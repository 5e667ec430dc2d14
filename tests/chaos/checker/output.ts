import type { CallBase } from './client-log.js'
import type { Finding } from './finding.js'

/** A process of the run, and what it printed. */
export interface ProcessOutput {
  readonly name: string
  readonly pid: number
  /** It was frozen at least once. */
  readonly wasPaused: boolean
  readonly output: readonly string[]
}

/** A call, as far as this looks at it. */
type Answered = Pick<CallBase, 'status' | 'code'> & { readonly verb: string }

/** Lines that no healthy process prints, whatever was done to its neighbours. */
const UGLY: readonly (readonly [RegExp, string])[] = [
  [/unhandled ?(promise ?)?rejection/i, 'an unhandled rejection'],
  [/uncaught ?exception/i, 'an uncaught exception'],
  [/TimeoutOverflowWarning/, 'a timer longer than Node can count'],
  [/MaxListenersExceededWarning/, 'a leak of listeners'],
  [/\b40P01\b|deadlock detected/, 'a deadlock in the database'],
  [/\b23505\b|duplicate key value/, 'a unique violation that nobody caught'],
  [/\b23514\b|violates check constraint/, 'a check constraint that had to catch a fault'],
]

/** Point 8: nothing ugly in what processes print, and no raw fault in what clients are answered. */
export function checkOutput(processes: readonly ProcessOutput[], calls: readonly Answered[]): Finding[] {
  const printed = processes.flatMap(({ name, output }) =>
    UGLY.flatMap(([pattern, rule]) => {
      const line = output.find((each) => pattern.test(each))
      return line === undefined ? [] : [finding(rule, name, line.slice(0, 500))]
    }),
  )
  const answered = calls.filter(
    ({ status, code }) => (status !== null && status >= 500 && status !== 503) || code === 'internal',
  )
  return [
    ...printed,
    ...answered.map(({ verb, status, code }) => finding('a raw fault reached a client', verb, `${status} ${code}`)),
  ]
}

function finding(rule: string, subject: string, detail: string): Finding {
  return { point: 8, rule, subject, detail }
}
