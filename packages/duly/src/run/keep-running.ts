import { setTimeout as delay } from 'node:timers/promises'

/** A part of the tree that runs in a process of its own. */
export interface Part {
  readonly exited: Promise<unknown>
  stop(): Promise<void>
}

export interface KeepOptions<T extends Part> {
  readonly name: string
  /** Starts it; gets the one that ran before, for what must stay the same (a port). */
  readonly start: (before: T | undefined) => Promise<T>
  readonly log: (line: string) => void
  /** How it ended, in words, by what `exited` gave; absent: "ended unexpectedly". */
  readonly howEnded?: (exit: unknown) => string
  /** First delay before it is started again; doubles up to 40 times that. */
  readonly delayMs?: number
}

/** A part that had run this long was sound: the next restart is quick again. */
const SOUND_MS = 30_000

/**
 * Keeps a part running: one that ends without being asked is started again, sooner the longer it had run. Made by
 * {@link keepRunning}.
 */
export class KeptPart<T extends Part> {
  #isStopping = false
  readonly #interrupt = new AbortController()
  /** Stopping a part need not end it: a database that another process owns is only let go. */
  readonly #interrupted = new Promise<void>((resolve) =>
    this.#interrupt.signal.addEventListener('abort', () => resolve()),
  )
  readonly #watching: Promise<void>

  constructor(
    private part: T,
    private readonly options: KeepOptions<T>,
  ) {
    this.#watching = this.#watch()
  }

  /** The one that runs now, or ran last. */
  get current(): T {
    return this.part
  }

  /** Stops it for good. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#interrupt.abort()
    await this.part.stop()
    await this.#watching
  }

  async #watch(): Promise<void> {
    const firstMs = this.options.delayMs ?? 250
    let delayMs = firstMs
    while (!this.#isStopping) {
      const began = performance.now()
      const exit = await Promise.race([this.part.exited, this.#interrupted])
      if (this.#isStopping) return
      if (performance.now() - began > SOUND_MS) delayMs = firstMs
      this.options.log(
        `${this.options.name} ${this.options.howEnded?.(exit) ?? 'ended unexpectedly'}: starting it again`,
      )
      delayMs = await this.#restart(delayMs)
    }
  }

  /** Tries until it runs; returns the delay for the next time. */
  async #restart(firstDelayMs: number): Promise<number> {
    const longestMs = (this.options.delayMs ?? 250) * 40
    let delayMs = firstDelayMs
    while (!this.#isStopping) {
      await delay(delayMs, undefined, { signal: this.#interrupt.signal }).catch(() => {})
      delayMs = Math.min(delayMs * 2, longestMs)
      if (this.#isStopping) break
      try {
        this.part = await this.options.start(this.part)
        // Asked to stop while it was starting: it would be left behind.
        if (this.#isStopping) await this.part.stop()
        break
      } catch (error) {
        this.options.log(
          `${this.options.name} could not be started: ${error instanceof Error ? error.message : String(error)}`,
        )
      }
    }
    return delayMs
  }
}

/** Starts a part and keeps it running. A first start that fails is the caller's to handle. */
export async function keepRunning<T extends Part>(options: KeepOptions<T>): Promise<KeptPart<T>> {
  return new KeptPart(await options.start(undefined), options)
}
