/** Buckets of one histogram. The last one takes everything from 41 days on. */
const histogramBuckets = 128
const bucketsPerDoubling = 4

/**
 * How far a quantile can be off, as a share of it: buckets grow by a factor of 2^(1/4), and the geometric middle stands for
 * everything in one. What is below a millisecond counts as one.
 */
export const histogramRelativeError = 2 ** (1 / (2 * bucketsPerDoubling)) - 1

/**
 * Durations in logarithmic buckets: some hundred bytes for any number of them, and sums of histograms are exact, so that those of
 * many writers and minutes can be added up. (The idea of DDSketch, Masson, Rim and Lee, VLDB 2019.)
 */
export class LogHistogram {
  readonly #counts = new Float64Array(histogramBuckets)
  #total = 0

  get total(): number {
    return this.#total
  }

  add(ms: number): void {
    const bucket = bucketOf(ms)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#total++
  }

  /** Adds what `encode` made; also several of them, one behind the other. */
  addEncoded(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const bucket = bytes[at++] ?? 0
      let count = 0
      let unit = 1
      for (; at < bytes.length; unit *= 128) {
        const byte = bytes[at++] ?? 0
        count += (byte & 127) * unit
        if (byte < 128) break
      }
      this.#counts[bucket & 127] = (this.#counts[bucket & 127] ?? 0) + count
      this.#total += count
    }
  }

  /** Its filled buckets, each as its number and its count in groups of 7 bits, the lowest first. */
  encode(): Uint8Array {
    const bytes: number[] = []
    for (const [bucket, count] of this.#counts.entries()) {
      if (count === 0) continue
      bytes.push(bucket)
      let rest = count
      for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
      bytes.push(rest)
    }
    return Uint8Array.from(bytes)
  }

  /** The duration in ms below which a share of `q` (0 to 1) of them is, by nearest rank; null when there are none. */
  quantile(q: number): number | null {
    if (this.#total === 0) return null
    const rank = Math.max(1, Math.ceil(q * this.#total))
    let seen = 0
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count
      if (seen >= rank) return middleOf(bucket)
    }
    return middleOf(histogramBuckets - 1)
  }
}

/** Bucket b holds what is above 2^((b-1)/4) ms and at most 2^(b/4) ms; bucket 0 everything up to 1 ms. */
function bucketOf(ms: number): number {
  if (!(ms > 1)) return 0
  return Math.min(histogramBuckets - 1, Math.ceil(Math.log2(ms) * bucketsPerDoubling))
}

const middleOf = (bucket: number): number => (bucket === 0 ? 1 : 2 ** ((bucket - 0.5) / bucketsPerDoubling))
