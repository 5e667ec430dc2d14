export interface BatcherOptions<I, O> {
  /** Most items of one batch. */
  readonly maxItems: number
  /** Most bytes of one batch, as `sizeOf` counts them; a larger item stands alone. */
  readonly maxBytes: number
  readonly sizeOf?: (item: I) => number
  /** So much may wait; beyond it the batcher says that it is full. Whoever adds asks first (I10). */
  readonly full: { readonly items: number; readonly bytes: number }
  /** Batches that may be under way at once; each has a lane number from 0. */
  readonly lanes: number
  /** Handles one batch; answers one result an item, in order. An `Error` as a result rejects that item alone. */
  readonly run: (items: readonly I[], lane: number) => Promise<readonly (O | Error)[]>
}

interface Waiting<I, O> {
  readonly item: I
  readonly bytes: number
  readonly resolve: (value: O) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers concurrent calls into batches: while a batch is under way the next one gathers. No timer and no added wait when
 * idle: a lone item leaves in the same turn of the event loop.
 */
export class Batcher<I, O> {
  readonly #options: BatcherOptions<I, O>
  readonly #queue: Waiting<I, O>[] = []
  #waitingBytes = 0
  readonly #freeLanes: number[]
  #scheduled = false
  #idle: (() => void)[] = []

  constructor(options: BatcherOptions<I, O>) {
    this.#options = options
    this.#freeLanes = Array.from({ length: options.lanes }, (_, lane) => options.lanes - 1 - lane)
  }

  /** Items that wait for a batch. */
  get waiting(): number {
    return this.#queue.length
  }

  get isFull(): boolean {
    const { items, bytes } = this.#options.full
    return this.#queue.length >= items || this.#waitingBytes >= bytes
  }

  add(item: I): Promise<O> {
    return new Promise<O>((resolve, reject) => {
      const bytes = this.#options.sizeOf?.(item) ?? 0
      this.#waitingBytes += bytes
      this.#queue.push({ item, bytes, resolve, reject })
      this.#schedule()
    })
  }

  /** Resolves when nothing waits and nothing is under way. */
  drained(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #isIdle(): boolean {
    return this.#queue.length === 0 && this.#freeLanes.length === this.#options.lanes
  }

  #schedule(): void {
    if (this.#scheduled || this.#freeLanes.length === 0 || this.#queue.length === 0) return
    this.#scheduled = true
    // the turn's other requests join this batch
    setImmediate(() => {
      this.#scheduled = false
      const lane = this.#freeLanes.pop()
      if (lane !== undefined) void this.#run(this.#cut(), lane)
      this.#schedule()
    })
  }

  #cut(): Waiting<I, O>[] {
    const { maxItems, maxBytes } = this.#options
    let count = 0
    let bytes = 0
    while (count < this.#queue.length && count < maxItems) {
      bytes += this.#queue[count]?.bytes ?? 0
      if (count > 0 && bytes > maxBytes) break
      count++
    }
    const batch = this.#queue.splice(0, count)
    for (const waiting of batch) this.#waitingBytes -= waiting.bytes
    return batch
  }

  async #run(batch: Waiting<I, O>[], lane: number): Promise<void> {
    try {
      const results = await this.#options.run(
        batch.map((waiting) => waiting.item),
        lane,
      )
      for (const [index, waiting] of batch.entries()) {
        const result = results[index]
        if (result instanceof Error) waiting.reject(result)
        else waiting.resolve(result as O)
      }
    } catch (error) {
      for (const waiting of batch) waiting.reject(error)
    }
    this.#freeLanes.push(lane)
    if (this.#isIdle()) for (const resolve of this.#idle.splice(0)) resolve()
    this.#schedule()
  }
}
