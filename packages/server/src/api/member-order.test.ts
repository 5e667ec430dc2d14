import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { orderOf } from './member-order.js'

/** The keys in the order that is found for them. */
function ordered(keys: readonly string[], before: readonly number[] = []): string[] {
  const places = [...before]
  const pieces: Buffer[] = []
  let at = 0
  for (const key of keys) {
    const piece = Buffer.from(`"${key}"`)
    places.push(at, at + piece.length - 1, at + piece.length)
    pieces.push(piece)
    at += piece.length
  }
  const order = orderOf({ bytes: Buffer.concat(pieces), places, base: before.length })
  return Array.from(order, (index) => keys[index] as string)
}

const sorted = (keys: readonly string[]): string[] =>
  [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))

/** Keys that have much in common, of which some end within others. */
const key = fc
  .tuple(
    fc.constantFrom('', 'a', 'aaaa', 'aaaaaaaaaa', 'aaaé', '𐀀𐀀'),
    fc.string({ unit: fc.constantFrom(...'ab!é￿𐀀') }),
  )
  .map(([head, tail]) => head + tail)

describe('members', () => {
  it('come in the order of the bytes of their keys, few or many', () => {
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 200, size: 'max' }), (keys) => {
        expect(ordered(keys)).toEqual(sorted(keys))
      }),
    )
  })

  it('of an inner object are found behind those of the outer ones', () => {
    expect(ordered(['b', 'a'], [0, 0, 0, 0, 0, 0])).toEqual(['a', 'b'])
  })

  it.each([
    ['count down', (n: number) => `k${String(9_999 - n).padStart(4, '0')}`],
    ['grow', (n: number) => 'a'.repeat(((n * 7) % 500) + 1)],
    ['differ at their end only', (n: number) => `${'same'.repeat(20)}${(n * 7_919) % 10_007}`],
  ])('by the hundred that %s', (_, keyOf) => {
    const keys = [...new Set(Array.from({ length: 500 }, (_, n) => keyOf(n)))]
    expect(ordered(keys)).toEqual(sorted(keys))
  })

  it('that are alike, as no document has them, come to an end too', () => {
    expect(ordered(Array(100).fill('same'))).toHaveLength(100)
  })
})
