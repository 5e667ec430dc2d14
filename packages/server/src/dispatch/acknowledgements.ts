import type { Uuid } from '@duly/domain'
import type { SessionStore } from '../store/session-store.js'

/** The highest grant that each worker acknowledged, until the store has it. */
export class Acknowledgements {
  readonly #store: SessionStore
  readonly #unsaved = new Map<Uuid, number>()

  constructor(store: SessionStore) {
    this.#store = store
  }

  note(session: Uuid, received: number): void {
    this.#unsaved.set(session, received)
  }

  forget(session: Uuid): void {
    this.#unsaved.delete(session)
  }

  /** Writes those of these sessions; all by default. One that could not be written stays, and the call rejects. */
  async save(sessions: Iterable<Uuid> = this.#unsaved.keys()): Promise<void> {
    const received: [Uuid, number][] = []
    for (const session of [...sessions]) {
      const grant = this.#unsaved.get(session)
      if (grant === undefined) continue
      received.push([session, grant])
      this.#unsaved.delete(session)
    }
    if (received.length === 0) return
    await this.#store.acknowledge(received).catch((error: unknown) => {
      for (const [session, grant] of received) if (!this.#unsaved.has(session)) this.#unsaved.set(session, grant)
      throw error
    })
  }
}
