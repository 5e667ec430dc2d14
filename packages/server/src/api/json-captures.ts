/**
 * A value of a body that is kept as the text the client wrote.
 * `path` is a key of the document (`payload`) or of each item of one of its lists (`tasks[*].payload`).
 */
export interface CaptureRule {
  readonly path: string
  /** True: the skeleton has `null` in its place, so that nothing parses it. False: it is parsed as well. */
  readonly opaque: boolean
  /** Of an opaque list or object: one that is more than twice as long is not read to its end, but refused at once. */
  readonly maxBytes?: number
}

/** The rules as a tree that the scanner walks along with the document; null wherever nothing below is captured. */
export interface CaptureNode {
  readonly keys: Map<string, CaptureNode>
  items: CaptureNode | null
  /** Index of the rule that captures this value, or -1. */
  rule: number
}

const newNode = (): CaptureNode => ({ keys: new Map(), items: null, rule: -1 })

/** Compiles the rules once for a route. */
export function compileCaptures(rules: readonly CaptureRule[]): CaptureNode {
  const root = newNode()
  rules.forEach((rule, index) => {
    let node = root
    for (const step of rule.path.split('.')) node = descend(node, step)
    node.rule = index
  })
  return root
}

function descend(node: CaptureNode, step: string): CaptureNode {
  const isList = step.endsWith('[*]')
  const key = isList ? step.slice(0, -3) : step
  const child = node.keys.get(key) ?? newNode()
  node.keys.set(key, child)
  if (!isList) return child
  child.items ??= newNode()
  return child.items
}

/** The captured texts of one document: by rule, then by item of its list (0 for a key of the document). */
export class Captures {
  readonly #text: string
  readonly #rules: readonly CaptureRule[]
  readonly #spans: Map<number, readonly [number, number]>[]

  constructor(text: string, rules: readonly CaptureRule[]) {
    this.#text = text
    this.#rules = rules
    this.#spans = rules.map(() => new Map())
  }

  add(rule: number, item: number, span: readonly [number, number]): void {
    this.#spans[rule]?.set(item, span)
  }

  /** The text at `path` (as in the rule) of the given item; undefined when the document has no such value. */
  text(path: string, item = 0): string | undefined {
    const rule = this.#rules.findIndex((candidate) => candidate.path === path)
    const span = this.#spans[rule]?.get(item)
    return span === undefined ? undefined : this.#text.slice(span[0], span[1])
  }

  /** The document with `null` in place of every opaque value: what JSON.parse and the schema see. */
  skeleton(): string {
    const opaque = this.#spans.flatMap((spans, rule) => (this.#rules[rule]?.opaque ? [...spans.values()] : []))
    if (opaque.length === 0) return this.#text
    opaque.sort((a, b) => a[0] - b[0])
    const pieces: string[] = []
    let from = 0
    for (const [start, end] of opaque) {
      pieces.push(this.#text.slice(from, start))
      from = end
    }
    pieces.push(this.#text.slice(from))
    return pieces.join('null')
  }
}
