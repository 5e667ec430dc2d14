import type { Terminal } from './terminal.js'

/** A text of several lines that changes: on a screen drawn anew in its place, elsewhere written again when it tells something new. */
export class Redrawing {
  readonly #terminal: Pick<Terminal, 'out' | 'height'>
  #lines = 0
  #told: string | null = null

  constructor(terminal: Pick<Terminal, 'out' | 'height'>) {
    this.#terminal = terminal
  }

  /** Lines that fit; undefined: as many as there are. One is left for the cursor. */
  get room(): number | undefined {
    const { height } = this.#terminal
    return height === null ? undefined : Math.max(1, height - 1)
  }

  /** @param news what it tells, without what changes by itself (how long something has run) */
  show(text: string, news: string): void {
    if (this.room === undefined) this.#append(text, news)
    else this.#replace(text, this.room)
    this.#told = news
  }

  /** The last of them, in all its length: it may scroll, since nothing is drawn over it. */
  end(text: string, news: string): void {
    if (this.room === undefined) this.#append(text, news)
    else this.#replace(text, Number.POSITIVE_INFINITY)
  }

  #append(text: string, news: string): void {
    if (news === this.#told) return
    this.#terminal.out(this.#told === null ? text : `\n${text}`)
  }

  /** What does not fit is left out: the cursor can't go up to what has scrolled away. */
  #replace(text: string, room: number): void {
    const lines = text.trimEnd().split('\n')
    const shown =
      lines.length <= room ? lines : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines`]
    const back = this.#lines === 0 ? '' : `\u001b[${this.#lines}A\u001b[J`
    this.#terminal.out(`${back}${shown.join('\n')}\n`)
    this.#lines = shown.length
  }
}
