import type { Uuid } from '@duly/domain'

/** Heartbeats that are held until there is something to say to their worker. */
export class Sleepers {
  readonly #wakes = new Map<Uuid, Set<() => void>>()

  /** The sessions of which a beat is held. */
  get ids(): readonly Uuid[] {
    return [...this.#wakes.keys()]
  }

  /** True when woken, false when `waitMs` are over or the client is gone. */
  sleep(id: Uuid, waitMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const wakes = this.#wakes.get(id) ?? new Set()
      this.#wakes.set(id, wakes)
      const end = (woken: boolean): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        wakes.delete(wake)
        if (wakes.size === 0) this.#wakes.delete(id)
        resolve(woken)
      }
      const wake = (): void => end(true)
      const giveUp = (): void => end(false)
      const timer = setTimeout(giveUp, waitMs)
      wakes.add(wake)
      signal.addEventListener('abort', giveUp, { once: true })
      if (signal.aborted) giveUp()
    })
  }

  /** There is something to tell this session's worker. */
  wake(id: Uuid): void {
    for (const wake of this.#wakes.get(id) ?? []) wake()
  }

  wakeAll(): void {
    for (const id of this.#wakes.keys()) this.wake(id)
  }
}
