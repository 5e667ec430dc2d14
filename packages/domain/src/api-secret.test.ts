import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeSecret, isSecret, secretBytes } from './api-secret.js'

const bytes = fc.uint8Array({ minLength: secretBytes, maxLength: secretBytes })

describe('a secret', () => {
  test('has one form, and carries every bit', () => {
    fc.assert(
      fc.property(bytes, fc.nat(secretBytes * 8 - 1), (random, bit) => {
        const secret = encodeSecret(random)
        expect(isSecret(secret)).toBe(true)
        expect(secret).toHaveLength(57)
        const changed = random.slice()
        const at = bit >>> 3
        changed[at] = (changed[at] ?? 0) ^ (1 << (bit & 7))
        expect(encodeSecret(changed)).not.toBe(secret)
      }),
    )
    expect(encodeSecret(new Uint8Array(secretBytes))).toBe(`duly_${'0'.repeat(52)}`)
    expect(encodeSecret(new Uint8Array(secretBytes).fill(255))).toBe(`duly_${'z'.repeat(51)}1`)
  })

  test.each([0, 16, 31, 33])('is not made of %i bytes', (count) => {
    expect(() => encodeSecret(new Uint8Array(count))).toThrow(RangeError)
  })

  test('nothing else passes for one', () => {
    const secret = encodeSecret(randomBytes(secretBytes))
    const body = secret.slice(5)
    for (const text of [
      ...['', 'duly_', body, `DULY_${body}`, `${secret}0`, ` ${secret}`, `${secret}\n`, secret.slice(0, -1)],
      ...[secret.toUpperCase(), `duly_${body.slice(0, -1)}2`, `duly_${'u'.repeat(51)}0`, `duly_${'é'.repeat(51)}0`],
    ]) {
      expect(isSecret(text), JSON.stringify(text)).toBe(false)
    }
  })
})
