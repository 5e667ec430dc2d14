import { Backoff } from '../backoff.js'
import { DulyApiError } from '../errors.js'
import { type CallOptions, isRefusal, isSessionLost, type WorkerApi } from './api.js'
import type { Attempt } from './attempt.js'
import { onceWithin } from './once-within.js'
import type { Report } from './reports.js'
import type { Session } from './session.js'
import type { WireExchangeAnswer, WireGrant } from './wire.js'

/** Most slots that one poll may ask for. */
const MAX_POLL_SLOTS = 500

/** Longest wait for the acknowledging request to leave, ms; after that handlers start without it. */
const ACKNOWLEDGE_WITHIN_MS = 50

/** An open poll is replaced when at least this many times its slots are free: it would hand over a burst too slowly. */
const REPLACE_FACTOR = 4

/** An empty answer that comes sooner than this to a poll that should have been held counts as a failure, ms. */
const HASTY_MS = 50

/** What the loop needs of its worker. */
export interface LoopPorts {
  readonly api: WorkerApi
  readonly pollWaitMs: number
  readonly slots: number
  freeSlots(): number
  /** Takes slots for the grants that are new and can run here; the rest has been given back. */
  accept(grants: readonly WireGrant[]): readonly Attempt[]
  start(attempt: Attempt): void
  /** Tells the server the highest grant number received until it has it; false when the session ended before. */
  confirm(): Promise<boolean>
  /** Whether handlers wrote something that has to leave before their outcomes, and its sending. */
  owes(): boolean
  flush(): Promise<void>
  settled(answer: WireExchangeAnswer): void
  /** Reports that nobody will take. */
  abandoned(load: readonly Report[], error: Error): void
  trouble(error: unknown): void
  lost(): void
}

/**
 * The traffic of one session: polls and reports, as few requests as the latency allows.
 *
 * - All slots busy: no poll is open. The first outcome leaves at once, in an exchange that asks for its slot; what ends
 *   while that is under way leaves together with the next. Under load requests so carry as much as a round trip gathers.
 * - Slots free: a poll is open, held by the server. Outcomes do not wait for it: they leave in a report of their own, one
 *   under way at a time, the rest gathering behind it.
 * - A poll that asks for much less than is free by now is replaced by an exchange that asks for the difference.
 */
export class ExchangeLoop {
  readonly #session: Session
  readonly #ports: LoopPorts
  readonly #backoff = new Backoff({ baseMs: 100, capMs: 3_000, floorMs: 20 })
  /** Cuts the polls under way, and only them: the outcomes still have to leave. */
  readonly #polls = new AbortController()
  #isDraining = false
  #openPolls = 0
  #openSlots = 0
  #isReporting = false
  #isScheduled = false
  #pauseTimer: NodeJS.Timeout | null = null

  constructor(session: Session, ports: LoopPorts) {
    this.#session = session
    this.#ports = ports
    session.ended.addEventListener('abort', () => this.#cut(), { once: true })
  }

  /** Something changed (an outcome, a free slot). Coalesced: all that changes in one tick makes one request. */
  wake(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#pump()
    })
  }

  /**
   * Stops taking tasks; reports go on. A last poll, for no slot, replaces the open one and fetches what the server granted
   * in that instant, so that it is given back now and not at the end of the session; then whatever poll is left is cut.
   */
  async drain(signal: AbortSignal): Promise<void> {
    if (this.#isDraining) return
    this.#isDraining = true
    if (this.#openPolls > 0) await this.#touch({ signal })
    this.#cut()
    this.wake()
  }

  /** A poll for no slot: acknowledges, and fetches what was granted but is not here yet. */
  async #touch(options: CallOptions): Promise<void> {
    const body = `{"slots":0,"wait_seconds":0,"received":${this.#session.received}}`
    try {
      const answer = (await this.#ports.api.call(this.#session, 'poll', body, options)) as WireExchangeAnswer
      this.#receive(answer)
    } catch (error) {
      if (isSessionLost(error)) this.#ports.lost()
      else if (options.signal?.aborted !== true) this.#ports.trouble(error)
    }
  }

  /** Sends what there is to send. True when a poll left, whose departure `onSent` is told. */
  #pump(onSent?: () => void): boolean {
    if (this.#session.ended.aborted || this.#pauseTimer !== null) return false
    const slots = this.#slotsToAsk()
    if (slots > 0) void this.#poll(slots, onSent)
    // What the poll could not carry along.
    if (this.#session.reports.hasWaiting && !this.#isReporting) void this.#report()
    return slots > 0
  }

  /**
   * Slots to ask for now; 0 when no poll is due. Slots of an open poll are never asked for twice, so the leases held can
   * not exceed the slots. Running attempts and unsettled outcomes together are at most twice the slots (I10).
   */
  #slotsToAsk(): number {
    if (this.#isDraining || this.#openPolls > 1) return 0
    const free = this.#ports.freeSlots()
    const room = free + this.#ports.slots - this.#session.reports.unsettled
    const slots = Math.min(MAX_POLL_SLOTS, free - this.#openSlots, room - this.#openSlots)
    if (this.#openPolls === 0) return Math.max(0, slots)
    return this.#openSlots * REPLACE_FACTOR <= Math.min(MAX_POLL_SLOTS, free) ? Math.max(0, slots) : 0
  }

  async #poll(slots: number, onSent?: () => void): Promise<void> {
    const { reports, received } = this.#session
    const load = reports.isNextAlone ? [] : reports.take()
    const ask = `"slots":${slots},"wait_seconds":${this.#ports.pollWaitMs / 1_000},"received":${received}`
    this.#openPolls += 1
    this.#openSlots += slots
    const leftAt = performance.now()
    const answer = await this.#send(load, ask, onSent)
    this.#openPolls -= 1
    this.#openSlots -= slots
    if (answer === null) return this.wake()
    const isHasty = performance.now() - leftAt < Math.min(HASTY_MS, this.#ports.pollWaitMs / 2)
    const isEmpty = (answer.tasks ?? []).length === 0
    // Replaced polls come back at once and empty; a server that never holds a poll must not turn this into a hot loop.
    if (isEmpty && load.length === 0 && isHasty && this.#openPolls === 0) this.#pause(null)
    this.#receive(answer)
  }

  #receive(answer: WireExchangeAnswer): void {
    try {
      this.#begin(this.#ports.accept(answer.tasks ?? []))
    } catch (error) {
      // An answer against the protocol must not take the process down.
      this.#ports.trouble(error)
      this.#pause(null)
    }
  }

  /**
   * Starts handlers only when the request that acknowledges their grants has left (the next poll; with no slot free, a poll
   * for none): should a handler take the process down, the server knows that the task was here. A suspect, whose earlier
   * worker died with it, waits until the server has written that down.
   */
  #begin(attempts: readonly Attempt[]): void {
    if (attempts.length === 0) {
      this.wake()
      return
    }
    const plain = attempts.filter(({ grant }) => grant.suspect !== true)
    for (const attempt of attempts) if (attempt.grant.suspect === true) void this.#beginSuspect(attempt)
    if (plain.length === 0) {
      this.wake()
      return
    }
    const start = onceWithin(ACKNOWLEDGE_WITHIN_MS, () => {
      for (const attempt of plain) this.#ports.start(attempt)
    })
    if (!this.#pump(start)) void this.#touch({ signal: this.#session.ended, onSent: start })
  }

  async #beginSuspect(attempt: Attempt): Promise<void> {
    if (await this.#ports.confirm()) this.#ports.start(attempt)
  }

  async #report(): Promise<void> {
    this.#isReporting = true
    await this.#send(this.#session.reports.take(), null)
    this.#isReporting = false
    this.#pump()
  }

  /** One request: a poll (`ask`), a report, or both. Null when it failed, which has been dealt with. */
  async #send(load: readonly Report[], ask: string | null, onSent?: () => void): Promise<WireExchangeAnswer | null> {
    const reports = load.length === 0 ? '' : `"reports":[${load.map(({ text }) => text).join(',')}]`
    const body = `{${[reports, ask ?? ''].filter((part) => part !== '').join(',')}}`
    const name = ask === null ? 'report' : load.length === 0 ? 'poll' : 'exchange'
    const waitMs = ask === null ? 0 : this.#ports.pollWaitMs
    const signal = ask === null ? this.#session.ended : this.#polls.signal
    try {
      if (load.length > 0 && this.#ports.owes()) await this.#ports.flush()
      const options = { waitMs, signal, onSent }
      const answer = ((await this.#ports.api.call(this.#session, name, body, options)) ?? {}) as WireExchangeAnswer
      this.#backoff.reset()
      this.#session.reports.settle(load)
      if (load.length > 0) this.#ports.settled(answer)
      return answer
    } catch (error) {
      this.#failed(load, error, ask !== null)
      return null
    }
  }

  #failed(load: readonly Report[], error: unknown, isPoll: boolean): void {
    const { reports, ended } = this.#session
    if (isRefusal(error) && load.length > 0) {
      const abandoned = reports.refuse(load, error)
      if (abandoned.length > 0) this.#ports.abandoned(abandoned, error)
    } else reports.putBack(load)
    if (ended.aborted) return
    if (isSessionLost(error)) {
      this.#ports.lost()
      return
    }
    // A poll that the drain cut is no trouble.
    if (isPoll && this.#isDraining) return
    this.#ports.trouble(error)
    this.#pause(error instanceof DulyApiError ? error.retryAfterMs : null)
  }

  #pause(retryAfterMs: number | null): void {
    if (this.#pauseTimer !== null) return
    this.#pauseTimer = setTimeout(() => {
      this.#pauseTimer = null
      this.wake()
    }, this.#backoff.next(retryAfterMs))
  }

  #cut(): void {
    this.#polls.abort()
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer)
    this.#pauseTimer = null
  }
}
