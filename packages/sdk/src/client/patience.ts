import { Backoff, pause } from '../backoff.js'
import { isPassing, LONGEST_OUTAGE_MS } from './passing.js'

/** Waits on through an outage of the server of up to a minute. */
export class Patience {
  readonly #signal: AbortSignal | undefined
  readonly #backoff = new Backoff({ baseMs: 200, capMs: 2_000, floorMs: 20 })
  #heardAt = performance.now()

  constructor(signal?: AbortSignal) {
    this.#signal = signal
  }

  /** The server answered. */
  heard(): void {
    this.#heardAt = performance.now()
    this.#backoff.reset()
  }

  /** A moment before the next try, the longer the more there were since the last answer. */
  rest(): Promise<void> {
    return pause(this.#backoff.next(), this.#signal)
  }

  /** The same after a failure. @throws the error itself, when it does not pass or lasts for too long */
  async bear(error: unknown): Promise<void> {
    if (!isPassing(error) || performance.now() - this.#heardAt > LONGEST_OUTAGE_MS) throw error
    await this.rest()
  }
}
