import { createHash } from 'node:crypto'

const QUOTE = 34
const BACKSLASH = 92
const COMMA = 44
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/**
 * The one text of a JSON document whatever its white space, the order of its keys and the way its strings are escaped.
 * It works on the text and not on parsed values: numbers stay as written, so 9007199254740993 never equals
 * 9007199254740992. The text must have passed the scanner: valid, no duplicate keys, at most 100 levels (so recursion
 * is bounded).
 * @param dropKey a key of the document that is left out
 */
export function canonicalText(text: string, dropKey?: string): string {
  return new Canonicalizer(text, dropKey).run()
}

/**
 * SHA-256 over the canonical text of the request as the client wrote it, without its idempotency key: defaults are not
 * filled in, so they can change without turning replays into conflicts.
 */
export function hashRequest(text: string): Buffer {
  return createHash('sha256').update(canonicalText(text, 'idempotency_key'), 'utf8').digest()
}

/** A member of an object: its key as read, and its canonical text. */
type Member = readonly [key: string, text: string]

/**
 * Texts are put together with `+`, which copies nothing: joined level by level, the innermost of 100 levels would be copied 100 times.
 */
class Canonicalizer {
  readonly #text: string
  readonly #dropKey: string | undefined
  #at = 0
  #depth = 0

  constructor(text: string, dropKey: string | undefined) {
    this.#text = text
    this.#dropKey = dropKey
  }

  run(): string {
    return this.#value()
  }

  #value(): string {
    const first = this.#next()
    if (first === OPEN_OBJECT) return this.#object()
    if (first === OPEN_ARRAY) return this.#array()
    if (first === QUOTE) return this.#string()
    const start = this.#at
    while (this.#at < this.#text.length && !endsScalar(this.#code())) this.#at++
    return this.#text.slice(start, this.#at)
  }

  #object(): string {
    const members: Member[] = []
    let isSorted = true
    this.#depth++
    this.#at++
    while (this.#next() !== CLOSE_OBJECT) {
      const token = this.#string()
      const key = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1)
      this.#next()
      this.#at++
      const value = this.#value()
      if (this.#depth > 1 || key !== this.#dropKey) {
        const last = members[members.length - 1]
        if (last !== undefined && last[0] > key) isSorted = false
        members.push([key, `${token}:${value}`])
      }
      if (this.#next() === COMMA) this.#at++
    }
    this.#at++
    this.#depth--
    if (!isSorted) members.sort(([a], [b]) => (a < b ? -1 : 1))
    let text = '{'
    for (const [, member] of members) text += text.length === 1 ? member : `,${member}`
    return `${text}}`
  }

  #array(): string {
    let text = '['
    this.#depth++
    this.#at++
    while (this.#next() !== CLOSE_ARRAY) {
      const item = this.#value()
      text += text.length === 1 ? item : `,${item}`
      if (this.#next() === COMMA) this.#at++
    }
    this.#at++
    this.#depth--
    return `${text}]`
  }

  #string(): string {
    const start = this.#at++
    let isEscaped = false
    for (let code = this.#code(); code !== QUOTE; code = this.#code()) {
      if (code === BACKSLASH) isEscaped = true
      this.#at += code === BACKSLASH ? 2 : 1
    }
    this.#at++
    const token = this.#text.slice(start, this.#at)
    return isEscaped ? JSON.stringify(JSON.parse(token)) : token
  }

  #code(): number {
    return this.#text.charCodeAt(this.#at)
  }

  /** The code of the next character that is not white space. */
  #next(): number {
    while (isSpace(this.#code())) this.#at++
    return this.#code()
  }
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9
const endsScalar = (code: number): boolean =>
  code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || isSpace(code)
