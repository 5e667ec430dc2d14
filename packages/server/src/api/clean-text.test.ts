import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanText, cutBytes, cutChars } from './clean-text.js'

const anyText = fc.string({ unit: 'binary' })

describe('cleaning', () => {
  it('replaces NUL and halves of characters, and nothing else', () => {
    expect(cleanText('a\0b\ud83dc\ude00d😀')).toBe('a\ufffdb\ufffdc\ufffdd😀')
    expect(cleanText('\ud83d\ud83d\ude00')).toBe('\ufffd😀')
    expect(cleanText('C:\\u0000dir \\ud83d')).toBe('C:\\u0000dir \\ud83d')
  })

  it('gives text that UTF-8 carries unchanged', () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff })).map((codes) => String.fromCharCode(...codes))
    fc.assert(
      fc.property(units, (text) => {
        const clean = cleanText(text)
        expect(Buffer.from(clean).toString()).toBe(clean)
        expect(clean).not.toContain('\0')
        expect(cleanText(clean)).toBe(clean)
      }),
    )
  })
})

describe('cutting', () => {
  it('keeps whole characters and never more than the limit', () => {
    fc.assert(
      fc.property(anyText, fc.nat(40), (text, max) => {
        const bytes = cutBytes(text, max)
        expect(text.startsWith(bytes)).toBe(true)
        expect(Buffer.byteLength(bytes)).toBeLessThanOrEqual(max)
        expect(max - Buffer.byteLength(bytes) < 4 || bytes === text).toBe(true)
        expect(cleanText(bytes)).toBe(cleanText(text).slice(0, bytes.length))
        const chars = cutChars(text, max)
        expect(chars.length).toBeLessThanOrEqual(max)
        expect(max - chars.length < 2 || chars === text).toBe(true)
      }),
    )
  })

  it('does not cut through a pair', () => {
    expect(cutChars('ab😀', 3)).toBe('ab')
    expect(cutBytes('ab😀', 5)).toBe('ab')
    expect(cutBytes('ab😀', 6)).toBe('ab😀')
  })
})
