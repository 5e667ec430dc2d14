import { DulyError, type ErrorCode, encodeLease, type Lease, type Uuid } from '@duly/domain'
import type { Call, CallOutcome, SubmitCall, TaskCall } from '../chaos/checker/client-log.js'
import type { HandlerRecord } from '../chaos/checker/handler-log.js'

/** How a worker says that an attempt ended. */
export type Verb = 'succeed' | 'fail' | 'retry' | 'timeOut' | 'snooze' | 'release' | 'stop'

/** What callers may hear while the store fails. Anything else is a fault of the program. */
const mayBeHeard: ReadonlySet<ErrorCode> = new Set([
  ...(['store_unavailable', 'commit_unknown', 'wrong_state', 'session_lost', 'idempotency_conflict'] as const),
])

export type Answer<T> =
  | { readonly ok: true; readonly value: T; readonly code: null }
  | { readonly ok: false; readonly code: ErrorCode }

/** Attempts by task and number. */
export const attemptKey = (id: Uuid, attempt: number): string => `${id} ${attempt}`

export interface Refused {
  readonly id: Uuid
  readonly attempt: number
  readonly what: string
}

/** What was asked and what was heard, in the words of the checker of the fault tests, and what was wrong at once. */
export class Ledger {
  readonly calls: Call[] = []
  readonly handlers: HandlerRecord[] = []
  /** What was reported of each attempt, whatever was answered, and what of that was accepted. */
  readonly said = new Map<string, Set<Verb>>()
  readonly accepted = new Map<string, Set<Verb>>()
  readonly wrong: string[] = []
  /** Reports that were refused though their workers had done nothing to lose the lease: the store must say why. */
  readonly refused: Refused[] = []
  /** For a person who reads a failed run: what was asked and heard, ms after the beginning. */
  readonly log: string[] = []
  readonly #beganMs = performance.now()

  note(line: string): void {
    this.log.push(`${Math.round(performance.now() - this.#beganMs)} ${line}`)
  }

  /** Makes a call. An error that no caller may see is noted, and counts as an answer that nobody knows. */
  async ask<T>(what: string, call: () => Promise<T>): Promise<Answer<T>> {
    try {
      const value = await call()
      this.note(what)
      return { ok: true, value, code: null }
    } catch (error) {
      const code = error instanceof DulyError ? error.code : 'internal'
      this.note(`${what}: ${code}`)
      if (!mayBeHeard.has(code)) this.wrong.push(`${what} was answered with ${describe(error)}`)
      return { ok: false, code }
    }
  }

  /** Notes a submission. A refusal promises that nothing was stored. */
  submitted(call: Pick<SubmitCall, 'verb' | 'marks' | 'keys'>, answer: Answer<readonly { id: Uuid }[]>): void {
    const outcome = answer.ok
      ? 'ok'
      : answer.code === 'commit_unknown' || answer.code === 'internal'
        ? 'unknown'
        : 'fail'
    this.calls.push({ ...call, ...heard(outcome, answer.code), ids: answer.ok ? answer.value.map(({ id }) => id) : [] })
  }

  /** Notes a call about one task. A refusal promises that it had no effect; without an answer it may have had it. */
  asked(verb: TaskCall['verb'], id: Uuid, answer: Answer<unknown>): void {
    const isRefused = !answer.ok && ['wrong_state', 'store_unavailable'].includes(answer.code)
    const outcome = answer.ok ? 'ok' : isRefused ? 'fail' : 'unknown'
    this.calls.push({ verb, id, ...heard(outcome, answer.code), observed: null, completedAt: null })
  }

  started(id: Uuid, mark: string, lease: Lease): void {
    this.note(`started ${id} ${encodeLease(lease)}`)
    this.handlers.push({ event: 'start', at: this.handlers.length, pid: 0, id, mark, lease })
  }

  says(id: Uuid, mark: string, lease: Lease, verb: Verb): void {
    note(this.said, attemptKey(id, lease.attempt), verb)
    this.note(`says ${verb} of ${id} ${encodeLease(lease)}`)
    if (verb !== 'succeed') return
    this.handlers.push({ event: 'end', at: this.handlers.length, pid: 0, id, mark, lease, left: 'returned' })
  }

  isRefused(id: Uuid, lease: Lease, verb: Verb): void {
    const what = `${verb} of ${id} ${encodeLease(lease)} was refused`
    this.note(what)
    this.refused.push({ id, attempt: lease.attempt, what })
  }

  isAccepted(id: Uuid, lease: Lease, verb: Verb): void {
    this.note(`${verb} of ${id} ${encodeLease(lease)} is accepted`)
    note(this.accepted, attemptKey(id, lease.attempt), verb)
  }
}

function note(verbs: Map<string, Set<Verb>>, key: string, verb: Verb): void {
  verbs.set(key, (verbs.get(key) ?? new Set()).add(verb))
}

function heard(outcome: CallOutcome, code: ErrorCode | null) {
  const at = Date.now()
  return { outcome, code, status: null, startedAt: at, endedAt: at }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error instanceof DulyError ? `${error.code}: ${error.message}` : (error.stack ?? error.message)
}
