import { setTimeout as delay } from 'node:timers/promises'
import type { Backlog } from './backlog.js'
import { type Random, randomOf } from './random.js'

export interface ActorsOptions {
  /** The names of their generators begin so. */
  readonly name: string
  /** Clients that work at the same time, each one call after the other. */
  readonly clients: number
  /** Calls per second over all clients, at most. */
  readonly perSecond: number
  /** What was asked for and is not done; they wait while it is too much. */
  readonly backlog: Backlog
  /** One call of one client, or what belongs together. */
  readonly step: (random: Random) => Promise<unknown>
}

/**
 * Clients that go on making calls until they are told to stop: a closed loop, so that the load is what the machine can do, and never
 * more than `perSecond`.
 */
export class Actors {
  readonly #options: ActorsOptions
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: ActorsOptions) {
    this.#options = options
  }

  start(): void {
    const { clients, name } = this.#options
    this.#running = Promise.all(Array.from({ length: clients }, (_, index) => this.#act(randomOf(`${name} ${index}`))))
  }

  /** Lets the calls in flight end. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #act(random: Random): Promise<void> {
    const { clients, perSecond, backlog, step } = this.#options
    const pauseMs = (1_000 * clients) / perSecond
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await step(random)
      await delay(random.between(0, 2 * pauseMs), undefined, { signal }).catch(() => {}) // woken early to stop
      await backlog.untilRoom(signal)
    }
  }
}
