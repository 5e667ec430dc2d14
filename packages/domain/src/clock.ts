/** Time, passed in wherever it is needed. */
export interface Clock {
  /** Milliseconds since 1970 by the wall clock, which can jump. For display and ids, never for measuring. */
  nowMs(): number
  /** Milliseconds since some fixed instant; never goes back. For durations and deadlines. */
  monotonicMs(): number
  /** Resolves after `ms` (also beyond 2^31) or, without an error, as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** setTimeout takes a longer delay for 1 ms. */
const longestTimerMs = 2 ** 31 - 1

/** The clock of the process. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(ms, signal) {
    let leftMs = ms
    do {
      if (signal?.aborted) return
      const partMs = Math.min(Math.max(leftMs, 0), longestTimerMs)
      await pause(partMs, signal)
      leftMs -= partMs
    } while (leftMs > 0)
  },
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal?.addEventListener('abort', finish, { once: true })
  })
}

interface Sleeper {
  readonly dueMs: number
  readonly wake: () => void
}

/** A clock for tests that moves only when told. Sleepers wake in the order of their instants. */
export class ManualClock implements Clock {
  #monotonicMs = 0
  #wallOffsetMs: number
  readonly #sleepers = new Set<Sleeper>()

  /** @param startMs the wall clock's first reading. */
  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#wallOffsetMs = startMs
  }

  /** How many sleeps have not ended. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  nowMs(): number {
    return this.#monotonicMs + this.#wallOffsetMs
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || !(ms > 0)) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const sleeper: Sleeper = { dueMs: this.#monotonicMs + ms, wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', wake, { once: true })
    })
  }

  /** Moves both clocks by `ms`, stopping at each sleeper that falls due so that what it does next sees its own instant. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`time does not go back: ${ms}`)
    await settle()
    const targetMs = this.#monotonicMs + ms
    for (let next = this.#nextDue(targetMs); next !== null; next = this.#nextDue(targetMs)) {
      this.#monotonicMs = next.dueMs
      next.wake()
      await settle()
    }
    this.#monotonicMs = targetMs
  }

  /** Moves the wall clock alone, as an operator or NTP may. */
  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms
  }

  #nextDue(targetMs: number): Sleeper | null {
    let earliest: Sleeper | null = null
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueMs <= targetMs && (earliest === null || sleeper.dueMs < earliest.dueMs)) earliest = sleeper
    }
    return earliest
  }
}

/** Lets everything that is ready run: promises first, then one turn of the event loop. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
