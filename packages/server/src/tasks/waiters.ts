import type { Uuid } from '@duly/domain'

/** Callers who wait for tasks to finish, on this node. Bounded by the requests that a node holds open. */
export class Waiters {
  readonly #waiting = new Map<Uuid, Set<() => void>>()

  get ids(): Uuid[] {
    return [...this.#waiting.keys()]
  }

  /** Resolves when the task is said to be finished, when the time is up, or when the signal aborts. */
  wait(id: Uuid, waitMs: number, signal: AbortSignal): { readonly done: Promise<void>; readonly cancel: () => void } {
    let end = (): void => {}
    const done = new Promise<void>((resolve) => {
      const timer = setTimeout(() => end(), waitMs)
      end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        const set = this.#waiting.get(id)
        set?.delete(end)
        if (set?.size === 0) this.#waiting.delete(id)
        resolve()
      }
      signal.addEventListener('abort', end, { once: true })
      const set = this.#waiting.get(id) ?? new Set()
      this.#waiting.set(id, set.add(end))
      if (signal.aborted) end()
    })
    return { done, cancel: () => end() }
  }

  finished(ids: Iterable<Uuid>): void {
    if (this.#waiting.size === 0) return
    for (const id of ids) for (const end of [...(this.#waiting.get(id) ?? [])]) end()
  }

  /** Ends all waits. */
  close(): void {
    this.finished(this.ids)
  }
}
