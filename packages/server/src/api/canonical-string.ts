const QUOTE = 34
const BACKSLASH = 92

/** Letters behind a backslash, and what they stand for; those of a shorter spelling are written with it. */
const meaningOf = new Map(
  [...'bfnrt'].map((letter, index) => [letter.charCodeAt(0), [8, 12, 10, 13, 9][index] as number]),
)
const letterOf = new Map([...meaningOf].map(([letter, code]) => [code, letter]))

/**
 * Writes the one spelling of a JSON string with escapes, as `JSON.stringify` has it: what need not be escaped is not. No spelling
 * is shorter, so the target may be the buffer of a copy.
 * @param source bytes of a valid text; `at` is where its string begins, behind the opening quote
 * @returns where the string ends in both, before the closing quote
 */
export function writeString(source: Buffer, at: number, target: Buffer, to: number): readonly [at: number, to: number] {
  let [from, end] = [at, to]
  for (let byte = source[from]; byte !== QUOTE; byte = source[from]) {
    if (byte !== BACKSLASH) {
      target[end++] = byte as number
      from++
      continue
    }
    const kind = source[from + 1] as number
    from += 2
    if (kind !== 117) {
      end = writeCode(meaningOf.get(kind) ?? kind, target, end)
      continue
    }
    let code = hexAt(source, from)
    from += 4
    if (code >= 0xd800 && code < 0xdc00 && source[from] === BACKSLASH && source[from + 1] === 117) {
      const low = hexAt(source, from + 2)
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
        from += 6
      }
    }
    end = writeCode(code, target, end)
  }
  return [from, end]
}

const hexAt = (source: Buffer, at: number): number => Number.parseInt(source.toString('latin1', at, at + 4), 16)

function writeCode(code: number, target: Buffer, to: number): number {
  const letter = code === QUOTE || code === BACKSLASH ? code : letterOf.get(code)
  if (letter !== undefined) {
    target[to] = BACKSLASH
    target[to + 1] = letter
    return to + 2
  }
  const isSurrogate = code >= 0xd800 && code < 0xe000
  if (code < 32 || isSurrogate) return to + target.write(`\\u${code.toString(16).padStart(4, '0')}`, to)
  if (code > 127) return to + target.write(String.fromCodePoint(code), to)
  target[to] = code
  return to + 1
}
