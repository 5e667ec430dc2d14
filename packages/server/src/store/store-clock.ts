import { type Clock, DulyError } from '@duly/domain'
import type { Database, Statement } from './database.js'

const readClock: Statement = {
  name: 'read_clock',
  text: `select date_part('epoch', clock_timestamp()) * 1000 as "atMs"`,
}

/** A node whose last look at the store's clock is older than this mints no ids. */
const staleMs = 3_600_000

/**
 * The store's time, learned over a connection and carried on by the monotonic clock (I8): a node's own wall clock plays no
 * part in it. Good to half a round trip; ids and hints need no more, every decision is made by the store itself.
 */
export class StoreClock {
  readonly #database: Database
  readonly #clock: Clock
  #offsetMs = Number.NaN
  #syncedAtMs = Number.NEGATIVE_INFINITY

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** Learns the offset anew. A look that took long is worth less than the one before it. */
  async sync(): Promise<void> {
    const beforeMs = this.#clock.monotonicMs()
    const [row] = await this.#database.query<{ atMs: number }>(readClock)
    const afterMs = this.#clock.monotonicMs()
    if (!row) return
    if (afterMs - beforeMs > 500 && afterMs - this.#syncedAtMs < 60_000) return
    this.#offsetMs = row.atMs - (beforeMs + afterMs) / 2
    this.#syncedAtMs = afterMs
  }

  /** Epoch ms by the store's clock. Rejects with `store_unavailable` while it was never or not for an hour learned. */
  nowMs(): number {
    const nowMs = this.knownMs()
    if (nowMs !== null) return nowMs
    throw new DulyError('store_unavailable', "The store's clock is not known yet; try again.", { retryAfterSeconds: 1 })
  }

  /** As `nowMs`, and null where that rejects: for figures, which fail nothing. */
  knownMs(): number | null {
    const monotonicMs = this.#clock.monotonicMs()
    return monotonicMs - this.#syncedAtMs < staleMs ? monotonicMs + this.#offsetMs : null
  }
}
