import type { Clock } from '@duly/domain'
import type { Logger } from 'pino'

export interface DutyOptions {
  readonly name: string
  readonly clock: Clock
  readonly log: Logger
  /** One pass. Answers in how many ms the next one is wanted. An error is logged and the pass tried again. */
  readonly runOnce: (signal: AbortSignal) => Promise<number>
  /** Pause after a failed pass, ms. */
  readonly retryMs: number
}

/** One background duty: passes one after the other, asleep in between, woken early by `wake`. Never ends by an error. */
export class Duty {
  readonly #options: DutyOptions
  #stopping = new AbortController()
  #sleeping: AbortController | null = null
  #woken = false
  #running: Promise<void> | null = null
  #failing = false
  #awaited: (() => void)[] = []

  constructor(options: DutyOptions) {
    this.#options = options
  }

  get name(): string {
    return this.#options.name
  }

  start(): void {
    if (this.#running) return
    this.#stopping = new AbortController()
    this.#running = this.#run(this.#stopping.signal)
  }

  /** Asks for a pass at once (after the one that is under way, if any). */
  wake(): void {
    this.#woken = true
    this.#sleeping?.abort()
  }

  /** As `wake`; resolves when a pass that began after the call has ended, whatever came of it. One that is stopped makes it alone. */
  async pass(): Promise<void> {
    if (this.#running === null) {
      await this.#pass(this.#stopping.signal)
      return
    }
    const ended = new Promise<void>((resolve) => this.#awaited.push(resolve))
    this.wake()
    await ended
  }

  /** Resolves when the pass under way has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#sleeping?.abort()
    await this.#running
    this.#running = null
    for (const resolve of this.#awaited.splice(0)) resolve()
  }

  async #run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      this.#woken = false
      const awaited = this.#awaited.splice(0)
      const pauseMs = await this.#pass(stop)
      for (const resolve of awaited) resolve()
      if (this.#woken || stop.aborted) continue
      this.#sleeping = new AbortController()
      await this.#options.clock.sleep(pauseMs, this.#sleeping.signal)
      this.#sleeping = null
    }
  }

  async #pass(stop: AbortSignal): Promise<number> {
    const { name, log, retryMs, runOnce } = this.#options
    try {
      const pauseMs = await runOnce(stop)
      if (this.#failing) log.info({ duty: name }, 'duty works again')
      this.#failing = false
      return pauseMs
    } catch (error) {
      if (stop.aborted) {
        log.debug({ duty: name, err: error }, 'duty was cut off by the stop')
        return retryMs
      }
      // one line per outage, not one per pass
      if (!this.#failing) log.warn({ duty: name, err: error }, 'duty failed; trying again')
      this.#failing = true
      this.#woken = false
      return retryMs
    }
  }
}
