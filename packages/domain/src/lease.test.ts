import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeLease, encodeLease } from './lease.js'

const leases = fc.record({ attempt: fc.integer({ min: 1, max: 2 ** 31 - 1 }), token: fc.bigInt(1n, 2n ** 63n - 1n) })

describe('a lease', () => {
  it('comes back as it was, in at most 27 characters', () => {
    fc.assert(
      fc.property(leases, (lease) => {
        const text = encodeLease(lease)
        expect(text.length).toBeLessThanOrEqual(27)
        expect(decodeLease(text)).toEqual(lease)
      }),
    )
    expect(encodeLease({ attempt: 3, token: 255n })).toBe('3-00000000000000ff')
  })

  it('has one text: nothing else decodes', () => {
    const strangers = [
      '',
      '3',
      '3-',
      '-00000000000000ff',
      '0-00000000000000ff',
      '03-00000000000000ff',
      '3-ff',
      '3-00000000000000FF',
      '3-0000000000000000',
      '3-8000000000000000',
      '3-00000000000000ff ',
      '3-00000000000000ff\n',
      '2147483648-00000000000000ff',
      '3.5-00000000000000ff',
      '３-00000000000000ff',
    ]
    for (const text of strangers) expect(decodeLease(text), text).toBeNull()
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), (text) => {
        const lease = decodeLease(text)
        expect(lease === null || encodeLease(lease) === text).toBe(true)
      }),
    )
  })

  it('is not written with values that PostgreSQL cannot hold', () => {
    for (const attempt of [0, -1, 1.5, 2 ** 31]) expect(() => encodeLease({ attempt, token: 1n })).toThrow(RangeError)
    for (const token of [0n, -1n, 2n ** 63n]) expect(() => encodeLease({ attempt: 1, token })).toThrow(RangeError)
  })
})
