import { createHash } from 'node:crypto'
import { writeString } from './canonical-string.js'
import { compareKeys, orderOf, PER_MEMBER } from './member-order.js'

const QUOTE = 34
const BACKSLASH = 92
const COMMA = 44
const COLON = 58
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** From this length on a copy is left to the system. */
const LONG_COPY = 64

/**
 * The one text of a JSON document whatever its white space, the order of its keys and the way its strings are escaped, in UTF-8.
 * It works on the text and not on parsed values: numbers stay as written, so 9007199254740993 never equals
 * 9007199254740992. The text must have passed the scanner: valid, no duplicate keys, at most 100 levels (so recursion
 * is bounded).
 * @param dropKey a key of the document that is left out
 */
export function canonicalText(text: string, dropKey?: string): Buffer {
  return new Canonicalizer(Buffer.from(text), dropKey).run()
}

/**
 * SHA-256 over the canonical text of the request as the client wrote it, without its idempotency key: defaults are not
 * filled in, so they can change without turning replays into conflicts. 1 MiB of random keys takes 44 ms at worst.
 */
export function hashRequest(text: string): Buffer {
  return createHash('sha256').update(canonicalText(text, 'idempotency_key')).digest()
}

/**
 * Works on bytes, and puts the members of an object in order where they stand: joined as strings, they took three to ten times as
 * long. No canonical text is longer than what it is made of.
 */
class Canonicalizer {
  readonly #source: Buffer
  readonly #target: Buffer
  readonly #dropped: Buffer | null
  /** Members of the open objects, as {@link Members} has them. */
  readonly #places: number[] = []
  #scratch: Buffer | null = null
  #at = 0
  #to = 0
  #depth = 0

  constructor(source: Buffer, dropKey: string | undefined) {
    this.#source = source
    this.#target = Buffer.allocUnsafe(source.length)
    this.#dropped = dropKey === undefined ? null : Buffer.from(JSON.stringify(dropKey))
  }

  run(): Buffer {
    this.#value()
    return this.#target.subarray(0, this.#to)
  }

  #value(): void {
    const first = this.#next()
    if (first === OPEN_OBJECT) this.#object()
    else if (first === OPEN_ARRAY) this.#array()
    else if (first === QUOTE) this.#string()
    else this.#scalar()
  }

  #scalar(): void {
    const [source, target] = [this.#source, this.#target]
    let [at, to] = [this.#at, this.#to]
    for (let byte = source[at]; byte !== undefined && !endsScalar(byte); byte = source[++at]) target[to++] = byte
    this.#at = at
    this.#to = to
  }

  #array(): void {
    this.#depth++
    this.#put(OPEN_ARRAY)
    for (let next = this.#next(); next !== CLOSE_ARRAY; next = this.#next()) {
      if (next === COMMA) this.#put(COMMA)
      this.#value()
    }
    this.#put(CLOSE_ARRAY)
    this.#depth--
  }

  #object(): void {
    const base = this.#places.length
    let isSorted = true
    this.#depth++
    this.#put(OPEN_OBJECT)
    const first = this.#to
    while (this.#next() !== CLOSE_OBJECT) {
      if (this.#source[this.#at] === COMMA) {
        this.#at++
        this.#next()
      }
      if (this.#places.length > base) this.#target[this.#to++] = COMMA
      isSorted = this.#member(base) && isSorted
    }
    if (!isSorted) this.#sort(base, first)
    this.#places.length = base
    this.#put(CLOSE_OBJECT)
    this.#depth--
  }

  /** False when it comes before the member before it. */
  #member(base: number): boolean {
    const start = this.#to
    this.#string()
    const keyEnd = this.#to - 1
    this.#next()
    this.#put(COLON)
    this.#value()
    if (this.#depth === 1 && this.#isDropped(start, keyEnd)) {
      this.#to = this.#places.length > base ? start - 1 : start
      return true
    }
    this.#places.push(start, keyEnd, this.#to)
    const index = (this.#places.length - base) / PER_MEMBER - 1
    return index === 0 || compareKeys(this.#members(base), index - 1, index) < 0
  }

  #isDropped(start: number, keyEnd: number): boolean {
    return this.#dropped?.equals(this.#target.subarray(start, keyEnd + 1)) === true
  }

  #members(base: number) {
    return { bytes: this.#target, places: this.#places, base }
  }

  /** Puts the members that begin at `first` in the order of their keys. */
  #sort(base: number, first: number): void {
    this.#scratch ??= Buffer.allocUnsafe(this.#target.length)
    let to = first
    for (const member of orderOf(this.#members(base))) {
      if (to > first) this.#scratch[to++] = COMMA
      const place = base + member * PER_MEMBER
      to = copy(this.#target, this.#places[place] as number, this.#places[place + 2] as number, this.#scratch, to)
    }
    copy(this.#scratch, first, to, this.#target, first)
  }

  #string(): void {
    const [source, target] = [this.#source, this.#target]
    let [at, to] = [this.#at, this.#to]
    let byte = QUOTE
    do {
      target[to++] = byte
      byte = source[++at] as number
    } while (byte !== QUOTE && byte !== BACKSLASH)
    if (byte === BACKSLASH) [at, to] = writeString(source, at, target, to)
    target[to] = QUOTE
    this.#at = at + 1
    this.#to = to + 1
  }

  /** Writes a byte that stands in the source. */
  #put(byte: number): void {
    this.#target[this.#to++] = byte
    this.#at++
  }

  /** The next byte that is not white space. */
  #next(): number {
    while (isSpace(this.#source[this.#at] as number)) this.#at++
    return this.#source[this.#at] as number
  }
}

/** Copies a part; answers where it ends in the target. */
function copy(source: Buffer, from: number, end: number, target: Buffer, to: number): number {
  if (end - from > LONG_COPY) return to + source.copy(target, to, from, end)
  let at = to
  for (let i = from; i < end; i++) target[at++] = source[i] as number
  return at
}

const isSpace = (byte: number): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9
const endsScalar = (byte: number): boolean =>
  byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || isSpace(byte)
