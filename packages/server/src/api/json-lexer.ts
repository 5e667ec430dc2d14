const QUOTE = 34
const MINUS = 45
const DOT = 46
const ZERO = 48
const NINE = 57
const BACKSLASH = 92

/** Numbers shorter than this without an exponent can't leave double range (1.8e308). */
const SAFE_DIGITS = 300
/** A backslash, a control character other than tab and line ends, half of a surrogate pair. */
const SPECIAL = /[^\t\n\r -[\]-\ud7ff\ue000-\uffff]/g
const SIMPLE_ESCAPES = '"\\/bfnrt'

/** Something in a well-formed document that JSON.parse would hide. `position` counts UTF-16 units from 0. */
export interface ScanIssue {
  readonly path: string
  readonly message: string
  readonly position: number
  /** The code it has alone, when the text is well-formed but holds more than a request may. */
  readonly limit?: 'invalid_request' | 'too_large'
}

/** The scan had to stop: the text is not JSON (RFC 8259), or nested too deeply. */
export class JsonTextError extends Error {
  readonly issue: ScanIssue

  constructor(issue: ScanIssue) {
    super(issue.message)
    this.issue = issue
  }
}

/** The tokens of RFC 8259, read at `at`. What stands where is the business of the class that extends it. */
export abstract class JsonLexer {
  protected readonly text: string
  protected at = 0
  /** Whether the string read last holds an escape. */
  protected escaped = false
  #special = -1
  #lineFeed = -1
  #carriageReturn = -1
  #tab = -1

  constructor(text: string) {
    this.text = text
  }

  /** Notes a value that JSON.parse would change or hide; the scan goes on. */
  protected abstract report(message: string, position: number): void
  /** The same for a character of a string, which may stand where texts are cleaned later. */
  protected abstract reportText(message: string, position: number): void
  protected abstract failAt(position: number, message: string): never

  protected fail(message: string): never {
    return this.failAt(this.at, message)
  }

  /** Moves to the next character that is not white space and gives its code; -1 at the end. */
  protected skipSpace(): number {
    const text = this.text
    let at = this.at
    while (at < text.length) {
      const code = text.charCodeAt(at)
      if (code > 32 || !(code === 32 || code === 10 || code === 13 || code === 9)) {
        this.at = at
        return code
      }
      at++
    }
    this.at = at
    return -1
  }

  /**
   * Reads a string from its opening quote; ends behind the closing one. Most of a body is strings, so the usual one,
   * without anything that needs a look, is skipped by native searches (0.1 ns a character against 5 ns in a loop).
   */
  protected string(): void {
    const from = this.at + 1
    const end = this.text.indexOf('"', from)
    this.escaped = false
    if (end >= 0 && end < this.#nextSpecial(from) && end < this.#nextNewline(from)) this.at = end + 1
    else this.slowString(from)
  }

  /** Position of the first character from `from` on that needs a look; each part of the text is searched once. */
  #nextSpecial(from: number): number {
    if (this.#special < from) {
      SPECIAL.lastIndex = from
      this.#special = SPECIAL.test(this.text) ? SPECIAL.lastIndex - 1 : Number.POSITIVE_INFINITY
    }
    return this.#special
  }

  /** Line ends and tabs stand between tokens of indented documents, so they are looked for apart, each on its own. */
  #nextNewline(from: number): number {
    if (this.#lineFeed < from) this.#lineFeed = this.#find('\n', from)
    if (this.#carriageReturn < from) this.#carriageReturn = this.#find('\r', from)
    if (this.#tab < from) this.#tab = this.#find('\t', from)
    return Math.min(this.#lineFeed, this.#carriageReturn, this.#tab)
  }

  #find(character: string, from: number): number {
    const position = this.text.indexOf(character, from)
    return position < 0 ? Number.POSITIVE_INFINITY : position
  }

  private slowString(from: number): void {
    const text = this.text
    for (let i = from; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code > BACKSLASH && code < 0xd800) continue
      if (code === QUOTE) {
        this.at = i + 1
        return
      }
      if (code === BACKSLASH) i = this.escape(i)
      else if (code < 32) this.failAt(i, 'holds a control character that is not escaped')
      else if (code >= 0xd800 && code <= 0xdfff) i = this.rawSurrogate(i, code)
    }
    this.failAt(text.length, 'has a string that is not closed')
  }

  /** Checks the escape at `at`; gives the index of its last character (of the pair's, for a surrogate pair). */
  private escape(at: number): number {
    this.escaped = true
    if (SIMPLE_ESCAPES.includes(this.text.charAt(at + 1)) && at + 1 < this.text.length) return at + 1
    const code = this.hex(at)
    if (code === 0) this.reportText('holds the character U+0000, which is not allowed', at)
    if (code < 0xd800 || code > 0xdfff) return at + 5
    if (code < 0xdc00 && this.text.startsWith('\\u', at + 6)) {
      const low = this.hex(at + 6)
      if (low >= 0xdc00 && low <= 0xdfff) return at + 11
    }
    this.reportText('holds a lone surrogate, half of a character', at)
    return at + 5
  }

  private hex(at: number): number {
    const digits = this.text.slice(at + 2, at + 6)
    if (this.text.charAt(at + 1) !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits)) this.failAt(at, 'has a bad escape')
    return Number.parseInt(digits, 16)
  }

  private rawSurrogate(at: number, code: number): number {
    const next = at + 1 < this.text.length ? this.text.charCodeAt(at + 1) : 0
    if (code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) return at + 1
    this.reportText('holds a lone surrogate, half of a character', at)
    return at
  }

  protected number(first: number): void {
    const text = this.text
    const start = this.at
    let at = first === MINUS ? start + 1 : start
    at = text.charCodeAt(at) === ZERO ? at + 1 : this.digits(at)
    if (text.charCodeAt(at) === DOT) at = this.digits(at + 1)
    const hasExponent = (text.charCodeAt(at) | 32) === 101
    if (hasExponent) {
      const sign = text.charCodeAt(at + 1)
      at = this.digits(sign === 43 || sign === MINUS ? at + 2 : at + 1)
    }
    this.at = at
    if (!hasExponent && at - start < SAFE_DIGITS) return
    if (!Number.isFinite(Number(text.slice(start, at)))) this.report('is a number beyond double range', start)
  }

  private digits(from: number): number {
    const text = this.text
    let at = from
    while (at < text.length && text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= NINE) at++
    if (at === from) this.failAt(at, 'has a number that lacks a digit')
    return at
  }

  protected literal(code: number): void {
    if (code < 0) this.fail(this.text.trim() === '' ? 'is empty' : 'ends too early')
    const word = code === 116 ? 'true' : code === 102 ? 'false' : 'null'
    if (!this.text.startsWith(word, this.at)) this.fail('has an unexpected character')
    this.at += word.length
  }
}
