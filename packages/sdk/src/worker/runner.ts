import { InvalidPayloadError, InvalidResultError } from '../errors.js'
import { type SchemaResult, validate } from '../standard-schema.js'
import { Alarm } from './alarm.js'
import type { AbortCause, Attempt } from './attempt.js'
import { HandlerContext } from './handler-context.js'
import {
  LeaseLostError,
  RetryAfter,
  Snooze,
  TaskCancelledError,
  TimeoutError,
  WorkerStoppingError,
} from './handler-errors.js'
import type { Outcome } from './outcome.js'
import type { Session } from './session.js'
import { outcomeOfAbort, outcomeOfReturn, outcomeOfThrow, type SettleRules } from './settle.js'
import type { ContextServices } from './task-context.js'

export interface RunnerOptions extends SettleRules {
  readonly slots: number
  /** How long a handler may take to obey its signal, ms; below the server's own grace of 5 s. */
  readonly abortGraceMs: number
}

/** What the runner tells its worker. */
export interface RunnerEvents {
  /** An attempt has an outcome to report. */
  outcome(attempt: Attempt, outcome: Outcome): void
  /** An attempt ended by an error of its handler. */
  failed(attempt: Attempt, error: unknown): void
  /** A handler ignored its signal past the grace: reported without it, its slot stays taken until its code ends. */
  stuck(attempt: Attempt): void
  /** A slot is free again. */
  freed(): void
}

/** Runs handlers in this process, each attempt in a slot of its own, and ends them in time. */
export class Runner {
  readonly #options: RunnerOptions
  readonly #events: RunnerEvents
  readonly #services: ContextServices
  /** By lease: everything that takes a slot. */
  readonly #attempts = new Map<string, Attempt>()
  readonly #alarm = new Alarm((now) => this.#sweep(now))
  readonly #emptied = new Set<() => void>()
  #detached = 0

  constructor(options: RunnerOptions, services: ContextServices, events: RunnerEvents) {
    this.#options = options
    this.#services = services
    this.#events = events
  }

  get freeSlots(): number {
    return this.#options.slots - this.#attempts.size
  }

  /** Slots taken by code that ignores its signal. */
  get stuckSlots(): number {
    return this.#detached
  }

  /** Leases whose handler runs for at least `ageMs`: the ones worth asking the server about. */
  leasesOlderThan(ageMs: number, session: Session): readonly string[] {
    const limit = performance.now() - ageMs
    const leases: string[] = []
    for (const [lease, attempt] of this.#attempts) {
      if (attempt.session === session && attempt.state !== 'detached' && attempt.arrivedAt < limit) leases.push(lease)
    }
    return leases
  }

  /** Takes a slot for an attempt whose handler starts later. */
  hold(attempt: Attempt): void {
    this.#attempts.set(attempt.grant.lease, attempt)
    this.#alarm.setAt(attempt.actsAt)
  }

  /** Starts the handler of a held attempt; does nothing if it was ended meanwhile. */
  start(attempt: Attempt): void {
    if (attempt.state !== 'held') return
    attempt.start()
    const { registered, grant } = attempt
    try {
      const decoded = validate(registered.definition.payload, grant.payload)
      if (isThenable(decoded)) this.#follow(attempt, this.#decodeThenRun(attempt, decoded))
      else this.#run(attempt, decoded)
    } catch (error) {
      this.#threw(attempt, error)
    }
  }

  abort(lease: string, cause: AbortCause): void {
    const attempt = this.#attempts.get(lease)
    if (attempt !== undefined) this.#abort(attempt, cause)
  }

  /** Ends all attempts of a session: it is lost, or the worker's grace is over. */
  abortAll(session: Session, cause: AbortCause): void {
    for (const attempt of [...this.#attempts.values()]) if (attempt.session === session) this.#abort(attempt, cause)
  }

  /** Decides all that still runs, without waiting for the handlers. */
  detachAll(): void {
    for (const attempt of [...this.#attempts.values()]) if (attempt.state === 'aborting') this.#detach(attempt)
  }

  /** Resolves when no handler is waited for any more. */
  whenIdle(): Promise<void> {
    if (this.#attempts.size === this.#detached) return Promise.resolve()
    return new Promise((resolve) => this.#emptied.add(resolve))
  }

  close(): void {
    this.#alarm.clear()
  }

  #run(attempt: Attempt, decoded: SchemaResult<unknown>): void {
    const value = this.#invoke(attempt, decoded)
    if (isThenable(value)) this.#follow(attempt, value)
    else this.#returned(attempt, value)
  }

  async #decodeThenRun(attempt: Attempt, decoding: PromiseLike<SchemaResult<unknown>>): Promise<unknown> {
    return this.#invoke(attempt, await decoding)
  }

  #invoke(attempt: Attempt, decoded: SchemaResult<unknown>): unknown {
    const { registered, grant } = attempt
    if (decoded.issues !== undefined) throw new InvalidPayloadError(grant.task_type, decoded.issues)
    return registered.handler(decoded.value, new HandlerContext(attempt, this.#services))
  }

  #follow(attempt: Attempt, value: PromiseLike<unknown>): void {
    value.then(
      (result) => this.#returned(attempt, result),
      (error: unknown) => this.#threw(attempt, error),
    )
  }

  #returned(attempt: Attempt, value: unknown): void {
    const { calls } = attempt
    if (calls !== null && !calls.isNone) {
      this.#follow(
        attempt,
        calls.settled().then(() => value),
      )
      return
    }
    const schema = attempt.registered.definition.result
    try {
      if (schema === undefined || value instanceof Snooze || value instanceof RetryAfter) {
        this.#ended(attempt, value)
        return
      }
      const checked = validate(schema, value)
      if (isThenable(checked)) {
        checked.then(
          (result) => this.#checked(attempt, value, result),
          (error: unknown) => this.#threw(attempt, error),
        )
      } else this.#checked(attempt, value, checked)
    } catch (error) {
      this.#threw(attempt, error)
    }
  }

  /** The value itself travels, not the schema's output: the client decodes it with the same schema. */
  #checked(attempt: Attempt, value: unknown, checked: SchemaResult<unknown>): void {
    if (checked.issues === undefined) this.#ended(attempt, value)
    else this.#threw(attempt, new InvalidResultError(attempt.grant.task_type, checked.issues))
  }

  #ended(attempt: Attempt, value: unknown): void {
    this.#finish(attempt, () => outcomeOfReturn(attempt, value, this.#options))
  }

  #threw(attempt: Attempt, error: unknown): void {
    const { calls } = attempt
    if (calls !== null && !calls.isNone) {
      const again = () => this.#threw(attempt, error)
      calls.settled().then(again, again)
      return
    }
    this.#finish(attempt, () => {
      const outcome = outcomeOfThrow(attempt, error, this.#options)
      if (outcome.kind === 'failed') this.#events.failed(attempt, error)
      return outcome
    })
  }

  #finish(attempt: Attempt, decide: () => Outcome): void {
    const wasDetached = attempt.state === 'detached'
    const counts = !wasDetached && attempt.cause !== 'lost'
    const outcome = counts ? decide() : null
    if (wasDetached) this.#detached -= 1
    this.#leave(attempt)
    if (outcome !== null) this.#events.outcome(attempt, outcome)
    this.#events.freed()
  }

  #leave(attempt: Attempt): void {
    attempt.end()
    this.#attempts.delete(attempt.grant.lease)
    this.#tellIdle()
  }

  #tellIdle(): void {
    if (this.#emptied.size === 0 || this.#attempts.size !== this.#detached) return
    for (const wake of this.#emptied) wake()
    this.#emptied.clear()
  }

  #abort(attempt: Attempt, cause: AbortCause): void {
    if (attempt.state === 'held') {
      this.#leave(attempt)
      if (cause !== 'lost') this.#events.outcome(attempt, outcomeOfAbort(attempt, cause))
      this.#events.freed()
    } else if (attempt.state === 'running') {
      attempt.abort(cause, abortReason(attempt, cause), performance.now() + this.#options.abortGraceMs)
      this.#alarm.setAt(attempt.actsAt)
    } else if (cause === 'lost') attempt.escalate(cause)
  }

  #detach(attempt: Attempt): void {
    attempt.detach()
    this.#detached += 1
    if (attempt.cause !== null && attempt.cause !== 'lost') {
      this.#events.outcome(attempt, outcomeOfAbort(attempt, attempt.cause))
    }
    this.#events.stuck(attempt)
    this.#tellIdle()
  }

  /** Ends what is past its limit or its grace; the next instant at which something is. */
  #sweep(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const attempt of [...this.#attempts.values()]) {
      if (attempt.actsAt <= now) {
        if (attempt.state === 'aborting') this.#detach(attempt)
        else this.#abort(attempt, 'timeout')
      }
      if (attempt.state !== 'ended') next = Math.min(next, attempt.actsAt)
    }
    return next
  }
}

function abortReason({ grant }: Attempt, cause: AbortCause): Error {
  switch (cause) {
    case 'timeout':
      return new TimeoutError(`the attempt passed its time limit of ${grant.timeout_ms} ms`)
    case 'cancel':
      return new TaskCancelledError('the task was cancelled')
    case 'lost':
      return new LeaseLostError('the attempt no longer holds its lease')
    case 'stop':
      return new WorkerStoppingError('the worker stops; the task is given back')
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
