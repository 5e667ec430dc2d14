import type { Clock, Uuid } from '@duly/domain'
import type { RecordStore } from '../../store/retention/record-store.js'
import type { Rewrite, RewriteStore } from '../../store/retention/rewrite-store.js'
import type { Pace } from './pace.js'

export interface RewriterOptions {
  readonly rewrites: RewriteStore
  readonly records: RecordStore
  readonly pace: Pace
  readonly clock: Clock
  /** One try to swap: whether it was made, and how long others may have waited for it. */
  readonly onSwap: (landed: boolean, ms: number) => void
  /** Tasks in one step of the copy. */
  readonly batch: number
  /** How often each short lock is tried for, with growing pauses. */
  readonly tries?: number | undefined
}

/** As few changes as this are applied while all work waits. */
const fewChanges = 200
const longestBackoffMs = 5_000
const defaultTries = 100
const mostRounds = 100

/** Some work of others held the locks all the time: the old partitions stay until the next pass. */
export class NoChance extends Error {
  constructor(what: string, tries: number) {
    super(`${what} found no moment within ${tries} tries in which the tables were free for it; it is tried again later`)
  }
}

/**
 * Replaces partitions by one with their survivors, while work goes on: note changes, copy, catch up with the changes, swap.
 * Until the swap nothing reads the copies, and nothing after it reads the old partitions: wherever it ends, the store is right.
 */
export class Rewriter {
  readonly #options: RewriterOptions

  constructor(options: RewriterOptions) {
    this.#options = options
  }

  async rewrite(job: Rewrite): Promise<void> {
    const { rewrites } = this.#options
    await rewrites.clear()
    await rewrites.begin(job)
    await this.#until('noting changes', () => rewrites.watch())
    await this.#copy(job)
    await this.#catchUp()
    await rewrites.settle()
    await this.#until('the swap', async () => {
      await this.#catchUp()
      return this.#swap()
    })
    await rewrites.dropLoose()
  }

  async #copy({ lower, upper, cutoff }: Rewrite): Promise<void> {
    const { records, rewrites, pace, batch } = this.#options
    for (let after: Uuid | undefined = lower; after !== undefined; ) {
      const from: Uuid = after
      const ids = await pace.step(async () => {
        const ids = await records.stepOpen(from, upper, batch)
        await rewrites.carry(ids)
        return ids
      })
      after = ids.at(-1)
    }
    for (let after: Uuid | null = lower; after !== null; ) {
      const from: Uuid = after
      after = await pace.step(async () => {
        const { staying, last } = await records.stepFinished(from, upper, { cutoff, limit: batch })
        await rewrites.carry(staying)
        return last
      })
    }
  }

  /** Follows the changes until few are left; where more come than can be followed, the swap will say so. */
  async #catchUp(): Promise<void> {
    const { rewrites, batch } = this.#options
    for (let left = batch, round = 0; left > fewChanges / 2 && round < mostRounds; round++) {
      const changed = await rewrites.takeChanges(batch)
      await rewrites.carry(changed)
      left = changed.length
    }
  }

  async #swap(): Promise<boolean> {
    const { rewrites, clock, onSwap } = this.#options
    const beganMs = clock.monotonicMs()
    const landed = await rewrites.swap(fewChanges)
    onSwap(landed, clock.monotonicMs() - beganMs)
    return landed
  }

  async #until(what: string, attempt: () => Promise<boolean>): Promise<void> {
    const { tries = defaultTries } = this.#options
    let backoffMs = 50
    for (let n = 0; n < tries; n++) {
      if (await attempt()) return
      await this.#options.pace.pause(backoffMs)
      backoffMs = Math.min(backoffMs * 1.5, longestBackoffMs)
    }
    throw new NoChance(what, tries)
  }
}
