import { systemClock } from '@duly/domain'
import type { Database } from '../store/database.js'
import { StoreClock } from '../store/store-clock.js'

/** The store's time as a node knows it, told by whoever moves it: exact, and never asked for. */
export class ToldClock extends StoreClock {
  #atMs: number

  constructor(database: Database, atMs: number) {
    super(database, systemClock)
    this.#atMs = atMs
  }

  tell(atMs: number): void {
    this.#atMs = atMs
  }

  override async sync(): Promise<void> {}

  override nowMs(): number {
    return this.#atMs
  }

  override knownMs(): number {
    return this.#atMs
  }
}
