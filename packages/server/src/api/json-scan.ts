import { setImmediate } from 'node:timers/promises'
import { limits } from '@duly/domain'
import { type CaptureNode, type CaptureRule, Captures, compileCaptures } from './json-captures.js'
import { JsonFrames, MAX_NESTING } from './json-frames.js'
import { decodeKey, KeyStack } from './json-keys.js'
import { JsonLexer, JsonTextError, type ScanIssue } from './json-lexer.js'
import { formatPath } from './json-path.js'

export { MAX_NESTING } from './json-frames.js'
export type { ScanIssue } from './json-lexer.js'

/** Items that a list with captures may have (a batch's tasks); beyond it the rest is not even read. */
const MAX_ITEMS = limits.batchMaxItems

/** Keys and values of a body: a hostile one of 64 MiB could hold 30 million, and hold up everybody while it is read. */
const MAX_PARTS = limits.jsonMaxParts

/** Keys of one object that is parsed: a hostile one of a million, built up again by JSON.parse and walked by its schema, takes seconds. */
const MAX_KEYS = limits.jsonMaxKeys

/** After this many findings the scan stops: the client has enough to work on, and an attacker gets no long answer. */
const MAX_ISSUES = 50

export interface ScanPlan {
  readonly rules: readonly CaptureRule[]
  readonly root: CaptureNode
  /** Paths whose strings may hold NUL and lone surrogates, because they are cleaned later (error texts of workers). */
  readonly lenient: RegExp | null
}

export interface JsonScan {
  readonly captures: Captures
  /** What JSON.parse would hide, in the order of the text. */
  readonly issues: readonly ScanIssue[]
  /** Why the scan stopped before the end: the text is not JSON, or nested too deeply. Null when it read everything. */
  readonly fatal: ScanIssue | null
}

/** Prepares the captures of a route; done once, at start. */
export function planScan(rules: readonly CaptureRule[] = [], lenient: RegExp | null = null): ScanPlan {
  return { rules, root: compileCaptures(rules), lenient }
}

const EVERYTHING = planScan()

/**
 * Reads a body once, strictly: exactly RFC 8259 is accepted, and duplicate keys, NUL, lone surrogates, numbers beyond
 * double range and nesting over 100 are found, which JSON.parse hides. Linear, no recursion.
 */
export function scanJson(text: string, plan: ScanPlan = EVERYTHING): JsonScan {
  const scanner = new Scanner(text, plan, shared)
  scanner.advance(Number.POSITIVE_INFINITY)
  return scanner.result
}

/** The same in stretches of about so many characters, between which others get their turn. */
export async function scanInTurns(text: string, plan: ScanPlan, stretch: number): Promise<JsonScan> {
  const scanner = new Scanner(text, plan, new JsonFrames())
  while (!scanner.advance(stretch)) await setImmediate()
  return scanner.result
}

const OBJECT = 1
const ARRAY = 2

const STATES = { value: 0, key: 1, after: 2, done: 3 } as const
type State = (typeof STATES)[keyof typeof STATES]
const { value: VALUE, key: KEY, after: AFTER, done: DONE } = STATES

const QUOTE = 34
const COMMA = 44
const MINUS = 45
const ZERO = 48
const NINE = 57
const COLON = 58
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** Shared by all scans in one stretch: allocating them anew costs more than reading a small body. */
const shared = new JsonFrames()

class Scanner extends JsonLexer {
  readonly #plan: ScanPlan
  readonly #frames: JsonFrames
  readonly #keys: KeyStack
  readonly #captures: Captures
  readonly #issues: ScanIssue[] = []
  #fatal: ScanIssue | null = null
  #state: State = VALUE
  #depth = 0
  #parts = 0
  /** Depth of the container that nothing parses; 0: none is open. */
  #opaqueDepth = 0
  /** Where that container is too long, however it goes on. */
  #opaqueLimit = Number.POSITIVE_INFINITY
  readonly #node: (CaptureNode | null)[] = [null]
  /** Capture node and start of the value that is being read. */
  #valueNode: CaptureNode | null
  #start = 0

  constructor(text: string, plan: ScanPlan, frames: JsonFrames) {
    super(text)
    this.#plan = plan
    this.#frames = frames
    this.#keys = new KeyStack(text)
    this.#captures = new Captures(text, plan.rules)
    this.#valueNode = plan.root
  }

  get result(): JsonScan {
    return { captures: this.#captures, issues: this.#issues, fatal: this.#fatal }
  }

  /** Reads about so many characters; true when there is nothing more to read. */
  advance(stretch: number): boolean {
    const until = this.at + stretch
    try {
      while (this.#state !== DONE) {
        if (this.at >= until) return false
        if (this.#state === VALUE) this.#state = this.#value()
        else if (this.#state === KEY) this.#state = this.#key()
        else this.#state = this.#after()
      }
    } catch (error) {
      if (!(error instanceof JsonTextError)) throw error
      this.#fatal = error.issue
    }
    return true
  }

  #value(): State {
    const code = this.skipSpace()
    this.#start = this.at
    if (++this.#parts > MAX_PARTS) this.#tooLarge()
    if (this.#start > this.#opaqueLimit) this.#tooLong()
    if (code === QUOTE) this.string()
    else if (code === OPEN_BRACE) return this.#open(OBJECT)
    else if (code === OPEN_BRACKET) return this.#open(ARRAY)
    else if (code === MINUS || (code >= ZERO && code <= NINE)) this.number(code)
    else this.literal(code)
    this.#captured(this.#start)
    return AFTER
  }

  #open(kind: number): State {
    if (this.#depth === MAX_NESTING) this.fail(`is nested deeper than ${MAX_NESTING} levels`)
    const depth = ++this.#depth
    const frames = this.#frames
    frames.kind[depth] = kind
    frames.index[depth] = 0
    frames.keyStart[depth] = -1
    this.#node[depth] = this.#valueNode
    frames.start[depth] = this.#start
    if (this.#opaqueDepth === 0) this.#openOpaque(depth)
    if (kind === OBJECT) this.#keys.open()
    else this.#valueNode = this.#valueNode?.items ?? null
    this.at++
    const close = kind === OBJECT ? CLOSE_BRACE : CLOSE_BRACKET
    if (this.skipSpace() === close) return this.#close()
    return kind === OBJECT ? KEY : VALUE
  }

  #close(): State {
    this.at++
    if (this.#frames.kind[this.#depth] === OBJECT) this.#keys.close()
    const start = this.#frames.start[this.#depth] ?? 0
    this.#valueNode = this.#node[this.#depth] ?? null
    if (this.#opaqueDepth === this.#depth) {
      this.#opaqueDepth = 0
      this.#opaqueLimit = Number.POSITIVE_INFINITY
    }
    this.#depth--
    this.#captured(start)
    return AFTER
  }

  #key(): State {
    const depth = this.#depth
    this.#frames.keyStart[depth] = -1
    this.#parts++
    const index = this.#frames.index[depth] ?? 0
    this.#frames.index[depth] = index + 1
    if (index === MAX_KEYS && this.#opaqueDepth === 0) this.#tooManyKeys()
    if (this.skipSpace() !== QUOTE) this.fail('lacks a key in double quotes')
    const start = this.at + 1
    this.string()
    const end = this.at - 1
    this.#frames.keyStart[depth] = start
    this.#frames.keyEnd[depth] = end
    if (!this.#keys.add(start, end, this.escaped)) this.report('is a duplicate key', start - 1)
    const node = this.#node[depth]
    this.#valueNode = node ? (node.keys.get(decodeKey(this.text, start, end)) ?? null) : null
    if (this.skipSpace() !== COLON) this.fail('lacks ":" after the key')
    this.at++
    return VALUE
  }

  #after(): State {
    const code = this.skipSpace()
    const depth = this.#depth
    if (depth === 0) {
      if (this.at < this.text.length) this.fail('has more text after its end')
      return DONE
    }
    const isObject = this.#frames.kind[depth] === OBJECT
    if (code === COMMA) {
      this.at++
      if (isObject) return KEY
      const index = (this.#frames.index[depth] ?? 0) + 1
      this.#frames.index[depth] = index
      if (index === MAX_ITEMS && this.#node[depth]?.items) this.#tooMany()
      this.#valueNode = this.#node[depth]?.items ?? null
      return VALUE
    }
    if (code === (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) return this.#close()
    return this.fail(isObject ? 'must be followed by "," or "}"' : 'must be followed by "," or "]"')
  }

  #tooMany(): never {
    const path = this.#path().replace(/\[\d+\]$/, '')
    const message = `has more than ${MAX_ITEMS} items`
    throw new JsonTextError({ path, message, position: this.at, limit: 'invalid_request' })
  }

  #openOpaque(depth: number): void {
    const rule = this.#plan.rules[this.#valueNode?.rule ?? -1]
    if (rule?.opaque !== true) return
    this.#opaqueDepth = depth
    if (rule.maxBytes !== undefined) this.#opaqueLimit = this.#start + 2 * rule.maxBytes
  }

  /** Each character is a byte at least. */
  #tooLong(): never {
    const rule = this.#plan.rules[this.#node[this.#opaqueDepth]?.rule ?? -1]
    const message = `has more than ${rule?.maxBytes} bytes, which is the most that is taken`
    throw new JsonTextError({ path: this.#path(this.#opaqueDepth - 1), message, position: this.at, limit: 'too_large' })
  }

  #tooManyKeys(): never {
    const message = `has more than ${MAX_KEYS} keys`
    throw new JsonTextError({ path: this.#path(), message, position: this.at, limit: 'too_large' })
  }

  #tooLarge(): never {
    const message = `holds more than ${MAX_PARTS} keys and values; send it in parts`
    throw new JsonTextError({ path: '', message, position: this.at, limit: 'too_large' })
  }

  #captured(start: number): void {
    const rule = this.#valueNode === null ? -1 : this.#valueNode.rule
    if (rule < 0) return
    const item = this.#depth >= 2 ? (this.#frames.index[2] ?? 0) : 0
    this.#captures.add(rule, item, [start, this.at])
  }

  #path(deepest = this.#depth): string {
    const steps: (string | number)[] = []
    for (let depth = 1; depth <= deepest; depth++) {
      const keyStart = this.#frames.keyStart[depth] ?? -1
      if (this.#frames.kind[depth] === ARRAY) steps.push(this.#frames.index[depth] ?? 0)
      else if (keyStart >= 0) steps.push(decodeKey(this.text, keyStart, this.#frames.keyEnd[depth] ?? keyStart))
    }
    return formatPath(steps)
  }

  protected reportText(message: string, position: number): void {
    if (this.#plan.lenient?.test(this.#path())) return
    this.report(message, position)
  }

  protected report(message: string, position: number): void {
    this.#issues.push({ path: this.#path(), message, position })
    if (this.#issues.length === MAX_ISSUES)
      this.failAt(position, 'is the last place that was looked at: too much is wrong')
  }

  protected failAt(position: number, message: string): never {
    throw new JsonTextError({ path: this.#path(), message, position })
  }
}
