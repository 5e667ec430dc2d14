import type { NodeParts } from '../node/assemble.js'
import { lookAtRest, type Rest } from './rest.js'
import { RestlessError } from './restless-error.js'
import type { StoreTime } from './store-time.js'
import type { ToldClock } from './told-clock.js'

export interface TimeLapseParts {
  readonly storeTime: StoreTime
  readonly storeClock: ToldClock
  readonly parts: NodeParts
  readonly hasRetention: boolean
}

export interface PassOptions {
  /** How long, in real ms, tasks may take to come to rest at one instant without one of them getting on. */
  readonly patienceMs: number
}

const dayMs = 86_400_000
/** Pauses between two looks, real ms, unless a task ends meanwhile. */
const firstPauseMs = 10
const longestPauseMs = 50
/** So many times the patience at one instant, even if tasks get on: one that comes back at once for ever is told. */
const patienceFactor = 10

/** Lets time pass: from one instant at which something is due to the next, each to its rest. One call at a time. */
export class TimeLapse {
  readonly #parts: TimeLapseParts
  #line: Promise<unknown> = Promise.resolve()
  readonly #closing = new AbortController()

  constructor(parts: TimeLapseParts) {
    this.#parts = parts
  }

  /** The present instant, epoch ms. */
  get nowMs(): number {
    return this.#parts.storeClock.nowMs()
  }

  /** Runs what is due now. Rejects with `RestlessError` when it does not come to rest. */
  settle(options: PassOptions): Promise<void> {
    return this.#inLine(async () => {
      await this.#promote()
      await this.#rest(options)
      await this.#sumUp()
    })
  }

  /** Lets time pass up to an instant, given the present one (epoch ms); one that has passed only settles. Rejects with `RestlessError`. */
  passTo(targetOf: (nowMs: number) => number, options: PassOptions): Promise<void> {
    return this.#inLine(async () => {
      const target = targetOf(this.nowMs)
      await this.#promote()
      for (let rest = await this.#rest(options); rest.atMs < target; rest = await this.#rest(options)) {
        await this.#step(this.#nextOf(rest, target))
      }
      await this.#sumUp()
    })
  }

  /** Ends what is under way; nothing passes any more. */
  close(): void {
    this.#closing.abort()
  }

  #inLine(work: () => Promise<void>): Promise<void> {
    const done = this.#line.then(work)
    this.#line = done.catch(() => {})
    return done
  }

  /** What comes first: something due, a midnight at which there is something to remove, the end. */
  #nextOf({ atMs, next }: Rest, targetMs: number): string {
    const midnightMs = this.#parts.hasRetention ? (Math.floor(atMs / dayMs) + 1) * dayMs : Number.POSITIVE_INFINITY
    const endMs = Math.min(targetMs, midnightMs)
    return next !== null && Date.parse(next) <= endMs ? next : new Date(endMs).toISOString()
  }

  async #step(instant: string): Promise<void> {
    const { storeTime, storeClock, hasRetention } = this.#parts
    const day = Math.floor(this.nowMs / dayMs)
    storeClock.tell(await storeTime.moveTo(instant, { byMonths: !hasRetention }))
    if (hasRetention && Math.floor(this.nowMs / dayMs) !== day) await this.#pass('retention')
    await this.#promote()
  }

  async #promote(): Promise<void> {
    const { promoter, duties } = this.#parts.parts
    await this.#endLost()
    // until its first pulse the node leads nothing
    if (!promoter.leads(0)) await duties.membership.pass()
    promoter.lookFor()
    await duties.cron?.pass()
    await duties.timers?.pass()
  }

  /** What lost workers hold is taken back when their leases are over. */
  async #endLost(): Promise<void> {
    const { storeTime, parts } = this.#parts
    if (!(await storeTime.endLeases())) return
    // three real seconds after a pulse, the watchdog would take it for an outage, in which nobody dies
    await parts.duties.membership.pass()
    await storeTime.endLeases()
    await parts.duties.watchdog?.pass()
  }

  /**
   * Figures of the last ten busy minutes, which are in memory. Those before them are given up: to write down and sum up each
   * minute of a year of sparse traffic costs three times the traffic itself.
   */
  async #sumUp(): Promise<void> {
    await this.#pass('stats')
    await this.#pass('sums of stats')
  }

  async #pass(name: string): Promise<void> {
    for (const duty of this.#parts.parts.duties.all) if (duty.name === name) await duty.pass()
  }

  /** Looks until nothing is left to do at this instant. */
  async #rest({ patienceMs }: PassOptions): Promise<Rest> {
    const beganMs = performance.now()
    let lastMs = beganMs
    let last = ''
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      if (this.#closing.signal.aborted) throw new Error('The test server was stopped while time passed.')
      const rest = await lookAtRest(this.#parts.storeTime)
      const [first] = rest.restless
      if (first === undefined) return rest
      const nowMs = performance.now()
      const state = JSON.stringify(rest.restless)
      if (state !== last) {
        last = state
        lastMs = nowMs
      } else if (nowMs - lastMs > patienceMs) throw new RestlessError(rest, nowMs - lastMs)
      if (nowMs - beganMs > patienceMs * patienceFactor) throw new RestlessError(rest, nowMs - beganMs)
      // most tasks end: whoever waits for one is told
      await this.#parts.parts.waiters.wait(first.id, pauseMs, this.#closing.signal).done
    }
  }
}
