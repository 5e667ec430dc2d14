/** Distinct values that one label may take on a node. What comes later counts as `other`. */
export const maxLabelValues = 200

/** The value that stands for all beyond the bound. */
export const otherLabel = 'other'

/**
 * Keeps a label bounded, since each value is a time series for ever: a million tenants must not become a million of them.
 * First come, first served; the values in use at a node's start are the ones that matter.
 */
export class LabelBound {
  readonly #known = new Set<string>()
  readonly #max: number

  constructor(max = maxLabelValues) {
    this.#max = max
  }

  of(value: string): string {
    if (this.#known.has(value)) return value
    if (this.#known.size >= this.#max) return otherLabel
    this.#known.add(value)
    return value
  }
}
