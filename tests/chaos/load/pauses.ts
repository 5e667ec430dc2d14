import { setTimeout as delay } from 'node:timers/promises'
import { LoggingClient } from './client.js'
import { randomOf } from './random.js'

/** How long a queue goes on and is paused in turn. */
const GOES_ON_MS = [500, 4_000] as const
const PAUSED_MS = [200, 2_500] as const
const AGAIN_MS = 200

/** Somebody who pauses a queue now and then, and sees to it that it goes on. */
export class QueuePauses {
  readonly client: LoggingClient
  readonly #queue: string
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()

  /** @param url where the api is; asked before each call */
  constructor(url: () => string, queue: string) {
    this.client = new LoggingClient(url)
    this.#queue = queue
  }

  start(): this {
    this.#running = this.#act()
    return this
  }

  /** The queue goes on then. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #act(): Promise<void> {
    const random = randomOf('pauses')
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await delay(random.between(...GOES_ON_MS), undefined, { signal }).catch(() => {}) // woken early to stop
      await this.client.turn('pause', this.#queue)
      await delay(random.between(...PAUSED_MS))
      while ((await this.client.turn('resume', this.#queue)).outcome !== 'ok') await delay(AGAIN_MS)
    }
  }
}
