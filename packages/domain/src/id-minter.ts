import { maxTimestampMs } from './ids.js'
import { type Uuid, uuidOfWords } from './uuid.js'

/** The partitions that 12 bits can number. */
const maxPartitions = 4_096

/** Random bytes are drawn in pools: one call of the source for 512 ids. */
const poolBytes = 4_096

/** What a minter needs. `nowMs` is the store's time as this node knows it; `random` fills a buffer with unpredictable bytes. */
export interface IdMinterOptions {
  readonly nowMs: () => number
  readonly random: (bytes: Buffer) => void
  readonly partitions: number
}

/**
 * Mints UUIDv7 (RFC 9562): 48 bits of ms, version, the partition in the 12 bits of `rand_a`, variant, 62 random bits.
 */
export class IdMinter {
  readonly #nowMs: () => number
  readonly #random: (bytes: Buffer) => void
  readonly #partitions: number
  readonly #pool = Buffer.alloc(poolBytes)
  #used = poolBytes

  constructor({ nowMs, random, partitions }: IdMinterOptions) {
    if (!Number.isInteger(partitions) || partitions < 1 || partitions > maxPartitions) {
      throw new RangeError(`partitions must be 1 to ${maxPartitions}, not ${partitions}`)
    }
    this.#nowMs = nowMs
    this.#random = random
    this.#partitions = partitions
  }

  /** One id, in the given partition or in one that is drawn. Ids of the same ms are in no order. */
  mint(partition: number = this.drawPartition()): Uuid {
    const [a, b] = this.#head(partition)
    return uuidOfWords(a, b, (0x8000_0000 | (this.#word() >>> 2)) >>> 0, this.#word())
  }

  /**
   * `n` ids of one instant, strictly increasing, so that a batch keeps its order. The first draws 61 bits, each next one adds 1 to 2^32:
   * the 62 bits can't run over for any n below 2^29.
   */
  mintMany(partition: number, n: number): Uuid[] {
    const [a, b] = this.#head(partition)
    let high = this.#word() >>> 3
    let low = this.#word()
    const ids: Uuid[] = []
    for (let index = 0; index < n; index++) {
      ids.push(uuidOfWords(a, b, (0x8000_0000 | high) >>> 0, low))
      const sum = low + this.#word() + 1
      high += Math.floor(sum / 2 ** 32)
      low = sum % 2 ** 32
    }
    return ids
  }

  /** A partition drawn evenly. */
  drawPartition(): number {
    return Math.floor((this.#word() / 2 ** 32) * this.#partitions)
  }

  /** The upper two words: timestamp, version 7, partition. */
  #head(partition: number): [number, number] {
    if (!Number.isInteger(partition) || partition < 0 || partition >= this.#partitions) {
      throw new RangeError(`no such partition: ${partition}`)
    }
    const ms = Math.floor(this.#nowMs())
    if (!(ms >= 0 && ms <= maxTimestampMs)) throw new RangeError(`time out of range: ${ms}`)
    return [Math.floor(ms / 0x1_0000), (((ms % 0x1_0000) << 16) | 0x7000 | partition) >>> 0]
  }

  /** 32 random bits. */
  #word(): number {
    if (this.#used === poolBytes) {
      this.#random(this.#pool)
      this.#used = 0
    }
    const word = this.#pool.readUInt32LE(this.#used)
    this.#used += 4
    return word
  }
}
