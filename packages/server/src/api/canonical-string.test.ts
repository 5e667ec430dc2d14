import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { writeString } from './canonical-string.js'

/** The string of a JSON token in its one spelling. */
function rewritten(token: string): string {
  const source = Buffer.from(token)
  const target = Buffer.alloc(source.length)
  const [at, to] = writeString(source, 1, target, 0)
  expect(source[at]).toBe(34)
  expect(at).toBe(source.length - 1)
  return `"${target.toString('utf8', 0, to)}"`
}

/** The same string with each of its units escaped or not, as the draw says. */
function spelled(text: string, draws: readonly boolean[]): string {
  const units = Array.from({ length: text.length }, (_, index) => {
    const code = text.charCodeAt(index)
    const mustEscape = code < 32 || code === 34 || code === 92 || (code >= 0xd800 && code < 0xe000)
    if (!mustEscape && draws[index % draws.length] !== true) return text[index]
    const hex = code.toString(16).padStart(4, '0')
    return `\\u${index % 2 === 0 ? hex : hex.toUpperCase()}`
  })
  return `"${units.join('')}"`
}

describe('the one spelling of a string', () => {
  it('is that of JSON.stringify, however it was spelled', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.boolean(), { minLength: 1 }), (text, draws) => {
        expect(rewritten(spelled(text, draws))).toBe(JSON.stringify(text))
      }),
    )
  })

  it.each([
    ['"\\/"', '"/"'],
    ['"\\u002f\\u0022\\u005c"', '"/\\"\\\\"'],
    ['"\\b\\f\\n\\r\\t"', '"\\b\\f\\n\\r\\t"'],
    ['"\\u0008\\u000A\\u001F"', '"\\b\\n\\u001f"'],
    ['"\\ud83d\\ude00"', '"😀"'],
    ['"\\uD83D"', '"\\ud83d"'],
    ['"\\ude00\\ud83d"', '"\\ude00\\ud83d"'],
    ['"\\ud83d\\ud83d\\ude00"', '"\\ud83d😀"'],
    ['"\\u007f\\u0080\\u07ff\\uffff"', '"\u007f\u0080\u07ff\uffff"'],
  ])('of %s is %s', (token, one) => {
    expect(rewritten(token)).toBe(one)
    expect(JSON.parse(one)).toBe(JSON.parse(token))
  })
})
