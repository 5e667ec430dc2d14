import type { DulyError } from '@duly/domain'

export interface TurnsOptions {
  /** How many run at a time. */
  readonly width: number
  /** How many may wait for their turn. */
  readonly mostWaiting: number
  /** What whoever finds no place is told. */
  readonly refusal: () => DulyError
}

/** Work that takes turns, in the order in which it came: however much of it there is, it leaves room for other work. */
export class Turns {
  readonly #options: TurnsOptions
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  /** @throws DulyError the refusal, when too many wait already */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { width, mostWaiting, refusal } = this.#options
    if (this.#running < width) this.#running++
    else {
      if (this.#waiting.length >= mostWaiting) throw refusal()
      // whoever ends hands its turn on
      await new Promise<void>((go) => this.#waiting.push(go))
    }
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}
