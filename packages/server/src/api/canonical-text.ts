import { createHash } from 'node:crypto'

const QUOTE = 34
const BACKSLASH = 92

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
    if (first === '{') return this.#object()
    if (first === '[') return this.#array()
    if (first === '"') return this.#string()
    const start = this.#at
    while (this.#at < this.#text.length && !' \t\n\r,]}'.includes(this.#text.charAt(this.#at))) this.#at++
    return this.#text.slice(start, this.#at)
  }

  #object(): string {
    const members: [string, string][] = []
    this.#depth++
    this.#at++
    while (this.#next() !== '}') {
      const key = JSON.parse(this.#string()) as string
      this.#next()
      this.#at++
      const value = this.#value()
      if (this.#depth > 1 || key !== this.#dropKey) members.push([key, value])
      if (this.#next() === ',') this.#at++
    }
    this.#at++
    this.#depth--
    members.sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`
  }

  #array(): string {
    const items: string[] = []
    this.#depth++
    this.#at++
    while (this.#next() !== ']') {
      items.push(this.#value())
      if (this.#next() === ',') this.#at++
    }
    this.#at++
    this.#depth--
    return `[${items.join(',')}]`
  }

  #string(): string {
    const start = this.#at++
    for (let code = this.#code(); code !== QUOTE; code = this.#code()) this.#at += code === BACKSLASH ? 2 : 1
    this.#at++
    const token = this.#text.slice(start, this.#at)
    return token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token
  }

  #code(): number {
    return this.#text.charCodeAt(this.#at)
  }

  /** The next character that is not white space. */
  #next(): string {
    while (' \t\n\r'.includes(this.#text.charAt(this.#at)) && this.#at < this.#text.length) this.#at++
    return this.#text.charAt(this.#at)
  }
}
