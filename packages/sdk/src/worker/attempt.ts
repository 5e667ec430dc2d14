import type { TaskDefinition } from '../define-task.js'
import { CallsUnderWay } from './calls-under-way.js'
import type { Session } from './session.js'
import type { TaskContext } from './task-context.js'
import type { WireGrant } from './wire.js'

/** What the application registered for a task type. */
export interface Registered {
  readonly definition: TaskDefinition<unknown, unknown, unknown, unknown>
  readonly handler: (payload: unknown, context: TaskContext) => unknown
}

/** Where an attempt stands in this process. */
const ATTEMPT_STATES = [
  /** Granted; its handler has not started. */
  'held',
  /** Its handler runs. */
  'running',
  /** Its handler runs, and its signal has aborted. */
  'aborting',
  /** Its outcome is decided without the handler (reported, or dropped with the lease), whose code still runs. */
  'detached',
  /** No code of it runs any more; its slot is free. */
  'ended',
] as const

export type AttemptState = (typeof ATTEMPT_STATES)[number]

const NEXT: Readonly<Record<AttemptState, readonly AttemptState[]>> = {
  held: ['running', 'ended'],
  running: ['aborting', 'ended'],
  aborting: ['detached', 'ended'],
  detached: ['ended'],
  ended: [],
}

/** Why a signal aborted; decides what a handler's end then means. */
export type AbortCause = 'timeout' | 'cancel' | 'lost' | 'stop'

/** One attempt of a task, from its grant to the end of its code. */
export class Attempt {
  readonly grant: WireGrant
  readonly session: Session
  readonly registered: Registered
  /** When it arrived, by the monotonic clock (ms): its time limit counts from here. */
  readonly arrivedAt: number
  #state: AttemptState = 'held'
  #cause: AbortCause | null = null
  #abortReason: Error | null = null
  /** Made when the handler first asks for the signal: most never do, and a controller costs more than the rest of an attempt. */
  #controller: AbortController | null = null
  #calls: CallsUnderWay | null = null
  #actsAt: number

  constructor(source: {
    readonly grant: WireGrant
    readonly session: Session
    readonly registered: Registered
    readonly arrivedAt: number
  }) {
    this.grant = source.grant
    this.session = source.session
    this.registered = source.registered
    this.arrivedAt = source.arrivedAt
    this.#actsAt = source.arrivedAt + source.grant.timeout_ms
  }

  get state(): AttemptState {
    return this.#state
  }

  get cause(): AbortCause | null {
    return this.#cause
  }

  /** The monotonic instant (ms) at which the sweep has to act on it: its time limit, then the end of its grace. */
  get actsAt(): number {
    return this.#actsAt
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason)
    }
    return this.#controller.signal
  }

  /** Calls of its handler that have not come back; null: it has made none. */
  get calls(): CallsUnderWay | null {
    return this.#calls
  }

  /** A call of its handler that carries the lease: the attempt ends behind it, whether the handler awaits it or not. */
  track<T>(call: Promise<T>): Promise<T> {
    this.#calls ??= new CallsUnderWay()
    return this.#calls.track(call)
  }

  start(): void {
    this.#move('running')
  }

  /** Tells the handler to stop; `graceEndsAt` is when it stops being waited for. */
  abort(cause: AbortCause, reason: Error, graceEndsAt: number): void {
    this.#move('aborting')
    this.#cause = cause
    this.#abortReason = reason
    this.#actsAt = graceEndsAt
    this.#controller?.abort(reason)
  }

  /** A stronger cause overrides while the handler is still being waited for: a lost lease makes any outcome void. */
  escalate(cause: AbortCause): void {
    if (this.#state === 'aborting') this.#cause = cause
  }

  detach(): void {
    this.#move('detached')
    this.#actsAt = Number.POSITIVE_INFINITY
  }

  end(): void {
    this.#move('ended')
  }

  #move(to: AttemptState): void {
    if (!NEXT[this.#state].includes(to)) throw new Error(`an attempt cannot go from ${this.#state} to ${to}`)
    this.#state = to
  }
}
