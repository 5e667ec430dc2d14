/**
 * One JSON value as text. Where a payload may stand, it is sent as it is written: numbers beyond the reach of a double, `1.0`,
 * `-0` and the order of keys, all of which JSON.parse and JSON.stringify change.
 */
export class RawJson {
  readonly text: string

  /** @throws SyntaxError when the text is not one JSON value */
  constructor(text: string) {
    JSON.parse(text)
    this.text = text.trim()
  }

  /** The value, as near as JavaScript comes to it. */
  get value(): unknown {
    return JSON.parse(this.text)
  }

  /** The members of an object in their order, a repeated key repeatedly; none of any other value. */
  members(): readonly (readonly [key: string, value: RawJson])[] {
    return memberTexts(this.text).map(([key, text]) => [key, new RawJson(text)])
  }

  /** The value of a key; of a repeated one the last, as JSON.parse has it. */
  member(key: string): RawJson | undefined {
    const found = memberTexts(this.text).findLast(([name]) => name === key)
    return found && new RawJson(found[1])
  }

  /** The elements of an array in their order; none of any other value. */
  elements(): readonly RawJson[] {
    return elementTexts(this.text).map((text) => new RawJson(text))
  }

  /** The same tokens laid out anew, as JSON.stringify does it: `indent` blanks a level, or all on one line. */
  format(indent = 0): string {
    return layOut(this.text, indent)
  }

  /** Within another value the text would not survive, so it is refused: it stands for a whole payload, or for all metadata. */
  toJSON(): never {
    throw new TypeError('rawJson() stands for a whole payload, not for a part of one')
  }
}

/**
 * JSON text that is sent as it is: `duly.submit('sum', rawJson('[12345678901234567890, 1.0]'))`. Only its form is checked here;
 * what a payload may hold is the server's to judge.
 *
 * @throws SyntaxError when the text is not one JSON value
 */
export function rawJson(text: string): RawJson {
  return new RawJson(text)
}

/** Of valid JSON: a string, a mark, or another scalar. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** The text laid out as JSON.stringify would, token by token: `indent` blanks a level, or none on one line. */
function layOut(text: string, indent: number): string {
  const tokens = text.match(TOKEN) ?? []
  if (indent === 0) return tokens.join('')
  let out = ''
  let depth = 0
  const line = () => `\n${' '.repeat(indent * depth)}`
  for (const [index, token] of tokens.entries()) {
    const isEmpty = /^[{[]$/.test(tokens[index - 1] ?? '')
    if (token === '}' || token === ']') {
      depth -= 1
      out += isEmpty ? token : line() + token
      continue
    }
    if (isEmpty) out += line()
    out += token
    if (token === '{' || token === '[') depth += 1
    else if (token === ',') out += line()
    else if (token === ':') out += ' '
  }
  return out
}

/** Keys and texts of the members of the outermost object. */
function memberTexts(text: string): readonly (readonly [key: string, text: string])[] {
  if (!text.startsWith('{')) return []
  const found: [string, string][] = []
  let depth = 0
  let key: string | undefined
  let begin = 0
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (depth === 1 && (token === ',' || token === '}') && key !== undefined) {
      found.push([key, text.slice(begin, index).trim()])
      key = undefined
    } else if (depth === 1 && token === ':') begin = index + 1
    else if (depth === 1 && key === undefined && token.startsWith('"')) key = String(JSON.parse(token))
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
  }
  return found
}

/** Texts of the elements of the outermost array. */
function elementTexts(text: string): readonly string[] {
  if (!text.startsWith('[')) return []
  const found: string[] = []
  let depth = 0
  let begin = 1
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === ']' || token === '}') depth -= 1
    if ((depth === 1 && token === ',') || depth === 0) {
      const element = text.slice(begin, index).trim()
      if (element !== '') found.push(element)
      begin = index + 1
    }
    if (token === '[' || token === '{') depth += 1
  }
  return found
}

const origins = new WeakMap<object, () => RawJson | undefined>()

/** Remembers, as long as the record lives, what it was read from. */
export function keepRaw<T>(record: T, source: () => RawJson | undefined): T {
  if (typeof record === 'object' && record !== null) origins.set(record, source)
  return record
}

/** The same for the items of a list, each by itself; the text is taken apart when the first of them is asked for. */
export function keepRawItems<T>(items: readonly T[], source: () => RawJson | undefined): void {
  let texts: readonly RawJson[] | undefined
  const textOf = (index: number): RawJson | undefined => {
    texts ??= source()?.elements() ?? []
    return texts[index]
  }
  for (const [index, item] of items.entries()) keepRaw(item, () => textOf(index))
}

/**
 * The server's JSON of a record that `duly.tasks` answered (a task, a receipt of a cancellation; a list, a page, each of its
 * items): exact where the record's numbers are rounded. Undefined for any other object.
 */
export function rawOf(record: object): RawJson | undefined {
  return origins.get(record)?.()
}
