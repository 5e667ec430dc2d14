/** How a graph is drawn. */
export interface Canvas {
  readonly width: number
  /** Now, for what still runs. */
  readonly now: Date
  readonly hasColours: boolean
  /** Only ASCII can be shown. */
  readonly isPlain: boolean
  /** Lines that there is room for; without it as many as it takes. */
  readonly height?: number
}
