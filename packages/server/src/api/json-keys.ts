import { randomInt } from 'node:crypto'

/** Up to this many keys of one object are compared pairwise by their hashes; beyond it a table takes over. */
const PAIRWISE_KEYS = 32
const FIRST_TABLE_SIZE = 256
/** A chain this long means keys made to collide: the object goes on with a Set, whose hash nobody can foresee. */
const MAX_PROBES = 64

const NO_SLOTS = new Int32Array(0)
const SEED = randomInt(1, 2 ** 31)
const FACTOR = randomInt(2 ** 20, 2 ** 30) * 2 + 1

/** The text of a key between its quotes, escapes resolved: `"a"` and `"\u0061"` are the same key. */
export function decodeKey(text: string, start: number, end: number): string {
  const raw = text.slice(start, end)
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
}

function hashOf(text: string, start: number, end: number): number {
  let hash = SEED
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FACTOR)
  return hash ^ (hash >>> 15)
}

/** How a large object finds its keys: slots with an index of the stack plus one (0: free), or a Set after an attack. */
interface KeyTable {
  slots: Int32Array
  set: Set<string> | null
}

/**
 * Finds duplicate keys while objects open and close like brackets. Keys of all open objects share one stack of spans
 * and hashes; no key is copied out of the text unless two hashes agree. Linear in the text, also under attack.
 */
export class KeyStack {
  readonly #text: string
  readonly #hash: (text: string, start: number, end: number) => number
  readonly #starts: number[] = []
  readonly #ends: number[] = []
  readonly #hashes: number[] = []
  readonly #bases: number[] = []
  readonly #tables: (KeyTable | null)[] = []
  #top = 0
  #base = 0
  #table: KeyTable | null = null

  /** @param hash only a test gives one: a bad one, to see that nothing depends on its quality but the speed. */
  constructor(text: string, hash: (text: string, start: number, end: number) => number = hashOf) {
    this.#text = text
    this.#hash = hash
  }

  open(): void {
    this.#bases.push(this.#base)
    this.#tables.push(this.#table)
    this.#base = this.#top
    this.#table = null
  }

  close(): void {
    this.#top = this.#base
    this.#base = this.#bases.pop() ?? 0
    this.#table = this.#tables.pop() ?? null
  }

  /** Adds the key between `start` and `end` to the innermost object; false when that object has it already. */
  add(start: number, end: number, escaped: boolean): boolean {
    const decoded = escaped ? decodeKey(this.#text, start, end) : null
    this.#starts[this.#top] = start
    this.#ends[this.#top] = end
    this.#hashes[this.#top] =
      decoded === null ? this.#hash(this.#text, start, end) : this.#hash(decoded, 0, decoded.length)
    const isNew = this.#table === null ? this.#isNewPairwise() : this.#isNewInTable(this.#table)
    if (!isNew) return false
    this.#top++
    if (this.#top - this.#base === PAIRWISE_KEYS) {
      this.#table = { slots: NO_SLOTS, set: null }
      this.#fill(this.#table, FIRST_TABLE_SIZE)
    }
    return true
  }

  #isNewPairwise(): boolean {
    const hash = this.#hashes[this.#top]
    for (let i = this.#base; i < this.#top; i++) {
      if (this.#hashes[i] === hash && this.#key(i) === this.#key(this.#top)) return false
    }
    return true
  }

  #isNewInTable(table: KeyTable): boolean {
    if (table.set === null && (this.#top - this.#base) * 2 > table.slots.length)
      this.#fill(table, table.slots.length * 4)
    if (table.set === null) {
      const found = this.#probe(table.slots, this.#top)
      if (found !== 'crowded') return found === 'new'
      table.set = this.#keySet()
    }
    const before = table.set.size
    return table.set.add(this.#key(this.#top)).size > before
  }

  #fill(table: KeyTable, size: number): void {
    table.slots = new Int32Array(size)
    for (let i = this.#base; i < this.#top && table.set === null; i++) {
      if (this.#probe(table.slots, i) === 'crowded') table.set = this.#keySet()
    }
  }

  /** Puts a key of the stack into the slots, unless an equal one is there. */
  #probe(slots: Int32Array, index: number): 'new' | 'known' | 'crowded' {
    const hash = this.#hashes[index] ?? 0
    const mask = slots.length - 1
    for (let probes = 0; probes < MAX_PROBES; probes++) {
      const slot = (hash + probes) & mask
      const other = (slots[slot] ?? 0) - 1
      if (other < 0) {
        slots[slot] = index + 1
        return 'new'
      }
      if (this.#hashes[other] === hash && this.#key(other) === this.#key(index)) return 'known'
    }
    return 'crowded'
  }

  #keySet(): Set<string> {
    const set = new Set<string>()
    for (let i = this.#base; i < this.#top; i++) set.add(this.#key(i))
    return set
  }

  #key(index: number): string {
    return decodeKey(this.#text, this.#starts[index] ?? 0, this.#ends[index] ?? 0)
  }
}
