import type { Outcome } from './outcome.js'
import { permanentFailure } from './outcome.js'

/** Most reports a request carries, and about how many characters of them: well below the server's body limit. */
const MAX_REPORTS = 500
const MAX_CHARS = 1_000_000

/** An outcome on its way to the server. */
export interface Report {
  readonly taskId: string
  readonly lease: string
  /** The JSON text that travels. */
  readonly text: string
  /** Travels by itself: the request it was part of was refused as a whole, and one bad report must not take others along. */
  readonly isAlone: boolean
  /** Stands in for a report that the server refused. */
  readonly isSubstitute: boolean
}

export function reportOf(taskId: string, lease: string, outcome: Outcome): Report {
  return { taskId, lease, text: reportText(taskId, lease, outcome), isAlone: false, isSubstitute: false }
}

/**
 * Outcomes that the server has not yet taken. Kept until it accepts or refuses each; lost only with the session. Never
 * more than the slots, plus those that ride in a held exchange.
 */
export class Reports {
  #waiting: Report[] = []
  #travelling = 0
  readonly #emptied = new Set<() => void>()

  get unsettled(): number {
    return this.#waiting.length + this.#travelling
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Whether the next report has to travel by itself. */
  get isNextAlone(): boolean {
    return this.#waiting[0]?.isAlone === true
  }

  add(report: Report): void {
    this.#waiting.push(report)
  }

  /** The next load for one request; it must come back through `settle` or `putBack`. */
  take(): readonly Report[] {
    let count = 0
    let chars = 0
    for (const report of this.#waiting) {
      if (count === MAX_REPORTS || (count > 0 && (report.isAlone || chars + report.text.length > MAX_CHARS))) break
      count += 1
      chars += report.text.length
      if (report.isAlone) break
    }
    this.#travelling += count
    if (count < this.#waiting.length) return this.#waiting.splice(0, count)
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  /** The server decided on all of the load. */
  settle(load: readonly Report[]): void {
    this.#travelling -= load.length
    if (this.unsettled > 0) return
    for (const wake of this.#emptied) wake()
    this.#emptied.clear()
  }

  /** The load may not have arrived: it travels again, before what came later. Repeating is safe by the protocol. */
  putBack(load: readonly Report[]): void {
    if (load.length === 0) return
    this.#travelling -= load.length
    this.#waiting = [...load, ...this.#waiting]
  }

  /**
   * The server refused the request itself. A load of several goes back one by one; a single one is replaced by a failure
   * that says so; a refused substitute is given up (the server's deadline ends the attempt).
   */
  refuse(load: readonly Report[], reason: Error): readonly Report[] {
    const [only] = load
    if (load.length > 1) this.putBack(load.map((report) => ({ ...report, isAlone: true })))
    else if (only !== undefined && !only.isSubstitute) this.putBack([substitute(only, reason)])
    else {
      this.settle(load)
      return load
    }
    return []
  }

  /** Resolves when nothing is unsettled. */
  whenEmpty(): Promise<void> {
    return this.unsettled === 0 ? Promise.resolve() : new Promise((resolve) => this.#emptied.add(resolve))
  }
}

function substitute({ taskId, lease }: Report, reason: Error): Report {
  const error = new Error(`the server refused the report of this attempt: ${reason.message}`)
  const outcome = permanentFailure(Object.assign(error, { name: 'ReportRefusedError' }))
  return { taskId, lease, text: reportText(taskId, lease, outcome), isAlone: true, isSubstitute: true }
}

/** Written by hand around the result, which is JSON text already. */
function reportText(taskId: string, lease: string, outcome: Outcome): string {
  const head = `{"task_id":${JSON.stringify(taskId)},"lease":${JSON.stringify(lease)},"outcome":"${outcome.kind}"`
  if (outcome.kind === 'succeeded') return `${head},"result":${outcome.result}}`
  if (outcome.kind === 'snoozed') return `${head},"delay_seconds":${outcome.delayMs / 1_000}}`
  if (outcome.kind !== 'failed') return `${head}}`
  const { stack, ...rest } = outcome.error
  const flags = { retryable: outcome.isRetryable, ...(outcome.isTimedOut ? { timed_out: true } : {}) }
  const error = { ...rest, ...(stack === null ? {} : { stack }), ...flags }
  const retryAfter = outcome.retryAfterMs === null ? '' : `,"retry_after_seconds":${outcome.retryAfterMs / 1_000}`
  return `${head},"error":${JSON.stringify(error)}${retryAfter}}`
}
