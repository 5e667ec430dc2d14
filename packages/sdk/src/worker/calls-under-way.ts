/** Calls of a handler that have not come back. They carry the lease of its attempt, which ends behind them. */
export class CallsUnderWay {
  readonly #calls = new Set<Promise<unknown>>()

  get isNone(): boolean {
    return this.#calls.size === 0
  }

  /** The call, which counts until it has come back. */
  track<T>(call: Promise<T>): Promise<T> {
    const tracked: Promise<T> = call.finally(() => this.#calls.delete(tracked))
    this.#calls.add(tracked)
    return tracked
  }

  /**
   * Resolves when all have come back. Nobody awaits them any more, so what one of them fails with is told here, and is no unhandled rejection,
   * which would end the process with all that it works at.
   *
   * @throws what the first of them failed with
   */
  async settled(): Promise<void> {
    const ends = await Promise.allSettled(this.#calls)
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }
}
