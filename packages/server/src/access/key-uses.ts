import type { Clock, Uuid } from '@duly/domain'
import type { KeyStore } from '../store/key-store.js'

/** The last use of a key is told to the minute: one write a key, a node and a minute at most, many keys in one statement. */
const everyMs = 60_000

export interface KeyUsesOptions {
  readonly store: Pick<KeyStore, 'used'>
  readonly clock: Clock
  /** Keys of which the last write is remembered. */
  readonly limit: number
}

/** Remembers which keys were used, until it is written. */
export class KeyUses {
  readonly #options: KeyUsesOptions
  readonly #toldAtMs = new Map<Uuid, number>()
  readonly #unsaved = new Set<Uuid>()

  constructor(options: KeyUsesOptions) {
    this.#options = options
  }

  used = (id: Uuid): void => {
    const nowMs = this.#options.clock.monotonicMs()
    const toldAtMs = this.#toldAtMs.get(id)
    if (toldAtMs !== undefined && nowMs - toldAtMs < everyMs) return
    if (this.#toldAtMs.size >= this.#options.limit) this.#toldAtMs.clear()
    this.#toldAtMs.set(id, nowMs)
    this.#unsaved.add(id)
  }

  /** Writes what was not written yet. What could not be written is tried again with the next use after a minute. */
  async save(): Promise<void> {
    if (this.#unsaved.size === 0) return
    const ids = [...this.#unsaved]
    this.#unsaved.clear()
    await this.#options.store.used(ids)
  }
}
